"""Sends a server requests that no client means, and counts what it answers.

    python -m tests.trials.fuzz --requests 100000

Ends with 1 when the server called anything its own fault, took longer than a request may, did not
answer, or wrote a traceback. The same seed sends the same requests.
"""

import argparse
import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import track
from rich.table import Table

from schema.build import build_schema
from tests.server.serving import bearer, served
from tests.trials.fuzz.requests import Requests, Sent

DEADLINE = 11.0
"""Seconds: what a request may take, and one more."""

UNFINISHED = 0.5
"""Seconds to wait for an answer to a request whose end cannot be seen."""

CLIENTS = 16
SHOWN = 5
NONE = "closed without an answer"


@dataclass
class Seen:
    """What the server did, by kind of request."""

    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def note(self, number: int, sent: Sent, answer: bytes, seconds: float) -> None:
        """Count one answer, and keep what is a fault of the server's."""
        status = _status(answer)
        codes = _codes(answer)
        self.answers[sent.kind, status] += 1
        self.codes.update(codes)
        self.slowest = max(self.slowest, seconds)
        wrong = (
            "INTERNAL" in codes
            or status.startswith("5")
            or seconds > DEADLINE
            or (sent.whole and status == NONE)
        )
        if wrong:
            self.faults.append(
                f"request {number}: {status} {codes} {seconds:.1f} s {sent.data[:2000]!r}"
            )


def _status(answer: bytes) -> str:
    parts = answer.split(b" ", 2)
    return parts[1].decode() if len(parts) == 3 else "closed without an answer"


def _codes(answer: bytes) -> list[str]:
    try:
        told = json.loads(answer.partition(b"\r\n\r\n")[2])
        return [error["extensions"]["code"] for error in told.get("errors", ())]
    except (ValueError, AttributeError, KeyError, TypeError):
        return []


async def exchange(host: str, port: int, sent: Sent) -> bytes:
    """Send one request on a connection of its own; return all that is answered in time."""
    reader, writer = await asyncio.open_connection(host, port)
    answer = bytearray()
    try:
        writer.write(sent.data)
        async with asyncio.timeout(2 * DEADLINE if sent.whole else UNFINISHED):
            while part := await reader.read(65_536):
                answer += part
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
    return bytes(answer)


async def send_all(url: str, requests: Requests, numbers: Iterator[int]) -> Seen:
    """Send the requests of ``numbers`` from several clients at once."""
    seen = Seen()
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None

    async def client(host: str, port: int) -> None:
        for number in numbers:
            sent = requests.drawn(number)
            began = time.monotonic()
            answer = await exchange(host, port, sent)
            seen.note(number, sent, answer, time.monotonic() - began)

    async with asyncio.TaskGroup() as group:
        for _ in range(CLIENTS):
            group.create_task(client(address.hostname, address.port))
    return seen


def report(seen: Seen, log: str) -> bool:
    """Print what was seen; return whether all of it is as it must be."""
    console = Console()
    statuses = sorted({status for _, status in seen.answers})
    table = Table("requests", *statuses)
    for kind, answers in itertools.groupby(sorted(seen.answers), key=lambda one: one[0]):
        by_status = {status: seen.answers[kind, status] for _, status in answers}
        table.add_row(kind, *(f"{by_status.get(status, 0):,}" for status in statuses))
    console.print(table)
    console.print("codes:", ", ".join(f"{code} {n:,}" for code, n in seen.codes.most_common()))
    tracebacks = log.count("Traceback")
    console.print(
        f"{seen.answers.total():,} requests, slowest {seen.slowest:.2f} s, "
        f"{seen.codes['INTERNAL']} INTERNAL, {len(seen.faults)} faults, {tracebacks} tracebacks"
    )
    for fault in seen.faults[:SHOWN]:
        console.print(fault, markup=False)
    return not seen.faults and not tracebacks


def main() -> int:
    """Run the trial; 0 when nothing was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    schema = build_schema()._schema
    requests = Requests(schema, bearer("ana")["Authorization"], given.seed)
    with TemporaryDirectory() as folder, served(Path(folder), "--demo", "--explain") as server:
        numbers = iter(track(range(given.requests), "Sending", disable=not sys.stderr.isatty()))
        seen = asyncio.run(send_all(server.url, requests, numbers))
        alive = server.process.poll() is None
        _, log = server.end()
    return 0 if report(seen, log) and alive else 1


if __name__ == "__main__":
    sys.exit(main())
