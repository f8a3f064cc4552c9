"""Asks for pages beside somebody whose requests would hurt, and compares with a quiet time.

    python -m tests.trials.neighbour

Each attack is sent one request after the other for some seconds, between quiet ones. Ends with 1
when the neighbour's 99th percentile is beyond three times the quiet one, when the server keeps more
than 64 MB, or when anybody is answered with 5xx or INTERNAL.
"""

import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psutil
from rich.console import Console
from rich.table import Table

from tests.schema.test_limits import HURTFUL, doubling
from tests.server.serving import bearer, served

SLICES = 3
SECONDS = 2.0
"""A figure is the median of so many times: a machine that others use stalls now and then."""

PAUSE = 0.01
TIMES = 3.0
KEPT_MB = 64

Bodies = Iterable[bytes]


def _body(query: str, **variables: object) -> bytes:
    return json.dumps({"query": query, "variables": variables}).encode()


_ADD = "mutation($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }"
_FILTERED = (
    'query($tags: [String!]) { product(productId: "1") { comments(language: $tags) {'
    " nodes { id } } } }"
)
_PAGE = (
    '{ product(productId: "1") { comments(rating: [4, 5], language: "en") {'
    " nodes { id rating title } pageInfo { endCursor hasNextPage } } } }"
)
_UNKNOWN = {
    "productId": "1",
    "rating": "x" * 100_000,
    "language": ["y"] * 100_000,
    **{f"unknown{number}": number for number in range(10_000)},
}
_TWO = 'mutation a{deleteComment(input:{id:"x"}){deletedId}} query b{__typename}'
_PAGES = "comments(first: 100) { nodes { product { comments(first: 100) { nodes { id } } } } }"
_OF_IDS = (
    "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Product { comments(first: 100) {"
    " nodes { product { statistics { total } } } } } } }"
)


_TAGS = [
    _body(_FILTERED, tags=[f"x{number:07x}" for number in range(start, start + 30_000)])
    for start in range(0, 300_000, 30_000)
]


ATTACKS: Mapping[str, Bodies] = {
    "1 fragments that double": [_body(doubling("__typename"))],
    "1 documents that are none": [_body(text) for text in HURTFUL.values()],
    "2 several operations": [_body(_TWO)],
    "3 0.9 MB of faults": [_body(_ADD, input=_UNKNOWN)],
    "3 4 kB of unknown fields": [_body("{" + " ".join(f"u{n}" for n in range(900)) + "}")],
    "4 the same field 210 times": [_body(HURTFUL["many identical fields"])],
    "4 lists in fragments": [_body(HURTFUL["many lists in fragments"])],
    "4 integers of 4,200 digits": [_body(HURTFUL["many long integers"])],
    "4 pages of pages": [_body(f'{{ product(productId: "1") {{ {_PAGES} }} }}')],
    "4 statistics of 10,000": [_body(_OF_IDS, ids=["UHJvZHVjdDox"] * 100)],
    "4 the largest page": [
        _body('{ product(productId: "1") { comments(first: 100) { nodes { id title text } } } }')
    ],
    "5 documents of 90 kB": (
        _body(f"# {number}{'x' * 90_000}\n{{__typename}}") for number in itertools.count()
    ),
    "5 documents of 900 kB": (
        _body(f"# {number}{'x' * 900_000}\n{{__typename}}") for number in itertools.count()
    ),
    "5 30,000 language tags": _TAGS,
    "6 a body beyond the limit": [b" " * 5_000_000],
}


@dataclass
class Seen:
    """Seconds of each answer by slices, and how many of each status; INTERNAL counts as one."""

    slices: list[list[float]] = field(default_factory=lambda: [[]])
    statuses: Counter[str] = field(default_factory=Counter)

    def note(self, answer: bytes, seconds: float) -> None:
        """Count one answer."""
        self.slices[-1].append(seconds)
        parts = answer.split(b" ", 2)
        self.statuses[parts[1].decode() if len(parts) > 1 else "none"] += 1
        if b'"INTERNAL"' in answer:
            self.statuses["INTERNAL"] += 1

    @property
    def p99(self) -> float:
        """The 99th percentile in milliseconds."""
        return median(quantiles(one, n=100, method="inclusive")[98] for one in self.slices) * 1000

    @property
    def faults(self) -> int:
        """Answers that blame the server."""
        return sum(
            n for status, n in self.statuses.items() if status[0] == "5" or status == "INTERNAL"
        )


class Client:
    """Sends requests to one server, each on a connection of its own."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        assert address.hostname is not None
        assert address.port is not None
        self._address = address.hostname, address.port

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a connection until the block ends."""
        reader, writer = await asyncio.open_connection(*self._address)
        try:
            yield reader, writer
        finally:
            writer.close()

    async def ask(self, body: bytes, seen: Seen) -> None:
        """Send one operation and read all of its answer."""
        began = time.monotonic()
        answer = bytearray()
        try:
            async with self.connected() as (reader, writer):
                writer.write(_head(len(body)) + body)
                while part := await reader.read(65_536):
                    answer += part
        except ConnectionError:
            pass  # an answer that came before the end of the body is one all the same
        seen.note(bytes(answer), time.monotonic() - began)


def _head(length: int) -> bytes:
    lines = (
        "POST /graphql HTTP/1.1",
        "Host: 127.0.0.1",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        f"Authorization: {bearer('ana')['Authorization']}",
    )
    return "\r\n".join([*lines, "", ""]).encode()


async def neighbour(client: Client) -> Seen:
    """Ask for a page now and then, for ``SLICES`` times ``SECONDS``."""
    seen = Seen([])
    for _ in range(SLICES):
        seen.slices.append([])
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            await client.ask(_body(_PAGE), seen)
            await asyncio.sleep(PAUSE)
    return seen


async def attack(client: Client, bodies: Bodies) -> Seen:
    """Send ``bodies`` over and over until it is cancelled."""
    seen = Seen()
    try:
        for body in itertools.cycle(bodies) if isinstance(bodies, list) else bodies:
            await client.ask(body, seen)
    except asyncio.CancelledError:
        return seen
    raise AssertionError("an attack ended by itself")


async def hold(client: Client, sent: bytes) -> Seen:
    """Keep 300 connections open that have sent no whole request, until it is cancelled."""
    held = [await asyncio.open_connection(*client._address) for _ in range(300)]
    for _, writer in held:
        writer.write(sent)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        for _, writer in held:
            writer.close()
    return Seen()


HOLDS: Mapping[str, bytes] = {
    "6 300 idle connections": b"",
    "6 300 half-sent heads": b"POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "6 300 half-sent bodies": _head(1000) + b"{",
}


@dataclass(frozen=True)
class Row:
    """One attack: what the neighbour saw in quiet and beside it, and what the server kept."""

    name: str
    quiet: Seen
    beside: Seen
    attacker: Seen
    kept: float
    """Megabytes that the server has more than before."""

    @property
    def holds(self) -> bool:
        """Whether nobody was hurt."""
        return (
            self.beside.p99 <= TIMES * self.quiet.p99
            and self.kept <= KEPT_MB
            and not self.beside.faults
            and not self.attacker.faults
        )


async def trial(url: str, server: psutil.Process) -> list[Row]:
    """Run each attack between quiet times; a quiet figure is of the times on both of its sides."""
    client = Client(url)
    await neighbour(client)  # what is made once is made before the first measurement
    quiet = await neighbour(client)
    rows = []
    running = [(name, attack(client, bodies)) for name, bodies in ATTACKS.items()]
    running += [(name, hold(client, sent)) for name, sent in HOLDS.items()]
    for name, coroutine in running:
        before = server.memory_info().rss
        task = asyncio.create_task(coroutine)
        await asyncio.sleep(PAUSE)
        beside = await neighbour(client)
        task.cancel()
        attacker = await task
        after = await neighbour(client)
        around = Seen(quiet.slices + after.slices, quiet.statuses + after.statuses)
        kept = (server.memory_info().rss - before) / 1e6
        rows.append(Row(name, around, beside, attacker, kept))
        quiet = after
    return rows


def report(rows: Iterable[Row]) -> bool:
    """Print the rows; return whether all of them hold."""
    table = Table("beside", "quiet p99 ms", "p99 ms", "times", "kept MB", "sent", "answers", "")
    rows = list(rows)
    for row in rows:
        statuses = ", ".join(f"{status}: {n:,}" for status, n in row.attacker.statuses.items())
        table.add_row(
            row.name,
            f"{row.quiet.p99:.1f}",
            f"{row.beside.p99:.1f}",
            f"{row.beside.p99 / row.quiet.p99:.1f}",
            f"{row.kept:.0f}",
            f"{row.attacker.statuses.total():,}",
            statuses,
            "" if row.holds else "too much",
        )
    Console(width=140).print(table)
    return all(row.holds for row in rows)


def main() -> int:
    """Run the trial; 0 when nobody was hurt."""
    with TemporaryDirectory() as folder, served(Path(folder), "--demo") as server:
        rows = asyncio.run(trial(server.url, psutil.Process(server.process.pid)))
        alive = server.process.poll() is None
    return 0 if report(rows) and alive else 1


if __name__ == "__main__":
    sys.exit(main())
