"""Attacks a server: checks the responses, the delays of another client, and the server's memory.

The other client is called the neighbour. It runs in another process, so that the attackers do not
delay its measurements.
"""

import asyncio
import json
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from math import ceil, inf
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import psutil
from rich.live import Live
from rich.table import Table

from tests.server.serving import Served
from tools.trials.hurtful import DEADLINE, PATIENCE, Sent, authorization, body, post
from tools.trials.reporting import CONSOLE
from tools.trials.serving import serving

LIMIT = 0.2
"""The maximum of the neighbour's 99th percentile, in seconds."""

GROWN_MB = 128
KEPT_MB = 64
"""The maximum growth of the server's memory during an attack, and after it, in MB."""

GIVE_UP = 5.0
"""Seconds without a response to the neighbour after which an attack ends."""

SLICE = 2.0
QUIET = 3
"""The seconds of a slice, and the number of slices before and after an attack.

The median of the slices' percentiles counts, because a busy machine sometimes stalls.
"""

SERVER_FAULTS = ("500", "502", "504")
"""Status codes that are faults of the server.

503 refuses requests because there are too many, 501 and 505 because they are malformed.
"""

_PAUSE = 0.02
_SHOWN = 400
"""The number of bytes of a request that are printed."""

_PAGE = (
    '{ product(productId: "1") { comments(rating: [4, 5], language: "en") {'
    " nodes { id rating title } pageInfo { endCursor hasNextPage } } } }"
)


@dataclass(frozen=True, slots=True)
class Attack:
    """Requests of several clients, ``rate`` per second. Each client waits for its responses."""

    name: str
    requests: Iterable[Sent]
    clients: int = 1
    rate: float = inf


@dataclass
class Answers:
    """The responses to the attackers."""

    statuses: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    example: str = ""
    """The first request whose response has a fault."""
    slowest: str = ""
    worst: float = 0.0

    def note(self, number: int, sent: Sent, answer: bytes, seconds: float) -> None:
        """Count a response and its faults."""
        parts = answer.split(b" ", 2)
        status = parts[1].decode() if len(parts) == 3 else "none"
        due = sent.patience >= PATIENCE
        self.statuses[status] += 1
        faults = {
            "INTERNAL": b'"code":"INTERNAL"' in answer,
            f"with {status}": status in SERVER_FAULTS,
            "without a response": due and status == "none",
            f"after {DEADLINE:.0f} s": due and seconds > DEADLINE,
            "accepted": bool(sent.never) and sent.never in answer,
            "read more than predicted": _reads_more(answer),
        }
        found = [fault for fault, is_so in faults.items() if is_so]
        self.faults.update(found)
        if found and not self.example:
            self.example = f"{', '.join(found)}: {_shown(number, sent)}"

    def wait(self, number: int, sent: Sent, seconds: float) -> None:
        """Note the request that has waited longest, among those that must get a response."""
        if sent.patience >= PATIENCE and seconds > self.worst:
            self.worst, self.slowest = seconds, f"slowest: {_shown(number, sent)}"


def _shown(number: int, sent: Sent) -> str:
    return f"request {number}, {sent.data[-_SHOWN:]!r}"


def _reads_more(answer: bytes) -> bool:
    """Return whether the cost in a response exceeds the prediction."""
    try:
        cost = json.loads(answer.partition(b"\r\n\r\n")[2])["extensions"]["cost"]
        predicted, actual = cost["predictedCold"], cost["actual"]
        return any(actual[name] > predicted[name] for name in ("requests", "rcu", "values"))
    except (ValueError, KeyError, TypeError):
        return False


async def exchange(url: str, sent: Sent) -> bytes:
    """Send one request. Return the part of the response that arrives in time."""
    address = urlsplit(url)
    answer = bytearray()
    # The server may respond and close the connection before the body has ended.
    with suppress(TimeoutError, ConnectionError, asyncio.IncompleteReadError):
        async with asyncio.timeout(sent.patience):
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            try:
                writer.write(sent.data)
                if sent.then:
                    answer += await reader.readuntil(b"\r\n\r\n")
                    writer.write(sent.then)
                    await writer.drain()
                while part := await reader.read(65_536):
                    answer += part
            finally:
                writer.transport.abort()  # discards unsent bytes
    return bytes(answer)


async def send(url: str, attack: Attack, answers: Answers) -> None:
    """Send the requests of an attack."""
    numbered, start = enumerate(attack.requests), time.monotonic()

    async def client() -> None:
        for number, sent in numbered:
            await asyncio.sleep(start + number / attack.rate - time.monotonic())
            began = time.monotonic()
            try:
                answer = await exchange(url, sent)
            finally:  # even if the attack ends before there is a response
                seconds = time.monotonic() - began
                answers.wait(number, sent, seconds)
            answers.note(number, sent, answer, seconds)

    async with asyncio.TaskGroup() as group:
        for _ in range(attack.clients):
            group.create_task(client())


class Slice(NamedTuple):
    """The neighbour's requests during ``SLICE`` seconds."""

    seconds: list[float]
    failed: int
    """The number of responses without a page."""
    peak: float
    """The maximum of the server's memory in MB."""

    @property
    def silent(self) -> bool:
        """Whether the last request got no response in time."""
        return self.seconds[-1] >= GIVE_UP


def _percentile(slices: list[Slice], percent: int) -> float:
    """Return the median of the slices' percentiles in seconds."""
    return median(sorted(one.seconds)[ceil(len(one.seconds) * percent / 100) - 1] for one in slices)


def memory(pid: int) -> float:
    """Return the memory of a process in MB, or 0 if it has ended."""
    try:
        return float(psutil.Process(pid).memory_info().rss / 1e6)
    except psutil.Error:
        return 0.0


def neighbour(url: str, pid: int) -> Slice:
    """Request a page at intervals for ``SLICE`` seconds, or until a request gets no response."""
    client = "X-Forwarded-For: 198.51.100.7", authorization("bob")
    page = Sent(post(body(_PAGE), *client), patience=GIVE_UP)

    async def ask() -> Slice:
        seconds: list[float] = []
        failed, peak = 0, 0.0

        async def look() -> None:
            nonlocal peak
            while True:
                peak = max(peak, memory(pid))
                await asyncio.sleep(_PAUSE)

        looking, end = asyncio.create_task(look()), time.monotonic() + SLICE
        while not seconds or (time.monotonic() < end and seconds[-1] < GIVE_UP):
            began = time.monotonic()
            failed += not (await exchange(url, page)).startswith(b"HTTP/1.1 200")
            seconds.append(time.monotonic() - began)
            await asyncio.sleep(_PAUSE)
        looking.cancel()
        return Slice(seconds, failed, peak)

    return asyncio.run(ask())


@dataclass(frozen=True)
class Row:
    """An attack and its results."""

    attack: Attack
    answers: Answers
    quiet: list[Slice]
    during: list[Slice]
    before: float
    after: float
    """The server's memory in MB, or NaN if the server stopped responding."""
    tracebacks: int

    @property
    def found(self) -> list[str]:
        """Descriptions of the promises that the server has broken."""
        slices, p99 = self.quiet + self.during, _percentile(self.during, 99)
        reasons = {
            "silent": any(one.silent for one in slices),
            f"p99 over {LIMIT * 1000:.0f} ms": p99 > LIMIT,
            "neighbour refused": any(one.failed > one.silent for one in slices),
            f"{GROWN_MB} MB taken": self._peak > self.before + GROWN_MB,
            f"{KEPT_MB} MB kept": self.after > self.before + KEPT_MB,
            f"{self.tracebacks} tracebacks": self.tracebacks > 0,
        }
        faults = [f"{count:,} {fault}" for fault, count in self.answers.faults.items()]
        return [reason for reason, is_so in reasons.items() if is_so] + faults

    @property
    def _peak(self) -> float:
        return max(one.peak for one in self.during)

    def cells(self) -> list[str]:
        """Return the cells of the table's row."""
        shown = (self.during, 50), (self.during, 99), (self.quiet, 99)
        return [
            self.attack.name,
            ", ".join(self.found) or "held",
            ", ".join(f"{status}: {n:,}" for status, n in self.answers.statuses.items()),
            f"{self.answers.worst:.1f}",
            *(f"{_percentile(slices, percent) * 1000:,.0f}" for slices, percent in shown),
            *(f"{one:,.0f}" for one in (self.before, self._peak, self.after)),
        ]


Serve = Callable[[], AbstractAsyncContextManager[Served]]


@asynccontextmanager
async def demo(directory: Path, *options: str) -> AsyncIterator[Served]:
    """Run a server with the demo data, which is loaded completely."""
    async with serving(directory, "--demo", *options) as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            while 'http-equiv="refresh"' in (await client.get("/")).text:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        yield server


async def rows_of(serve: Serve, attacks: Iterable[Attack], most: float = inf) -> AsyncIterator[Row]:
    """Yield a row for each attack. An attack lasts at most ``most`` slices.

    If a promise was broken, the server is killed, and the next attack gets a new server.
    """
    waiting = iter(attacks)
    attack = next(waiting, None)
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        while attack is not None:
            async with serve() as server:
                run = asyncio.get_running_loop().run_in_executor
                ask = partial(run, process, neighbour, server.url, server.process.pid)
                await ask()  # fills caches before the first measurement
                quiet, hurt = [await ask() for _ in range(QUIET)], False
                while attack is not None and not hurt:
                    row = await _row(server, attack, ask, quiet, most)
                    quiet, hurt = row.quiet[-QUIET:], bool(row.found)
                    yield row
                    attack = next(waiting, None)
                if hurt:
                    await asyncio.to_thread(server.kill)


async def _row(
    server: Served,
    attack: Attack,
    ask: Callable[[], asyncio.Future[Slice]],
    quiet: list[Slice],
    most: float,
) -> Row:
    pid, logged, during = server.process.pid, _tracebacks(server), list[Slice]()
    before, after, answers = memory(pid), float("nan"), Answers()
    sending = asyncio.create_task(send(server.url, attack, answers))
    while not during or not (during[-1].silent or sending.done() or len(during) >= most):
        during.append(await ask())
    sending.cancel()
    await asyncio.wait([sending])
    if not sending.cancelled():
        sending.result()
    if not during[-1].silent:
        quiet = quiet + [await ask() for _ in range(QUIET)]
        after = memory(pid)
    return Row(attack, answers, quiet, during, before, after, _tracebacks(server) - logged)


def _tracebacks(server: Served) -> int:
    """Return the number of tracebacks in the log. A seek would move the server's own position."""
    log = server.log.fileno()
    return os.pread(log, os.fstat(log).st_size, 0).count(b"Traceback")


async def report(rows: AsyncIterator[Row]) -> list[str]:
    """Print each row when its attack has ended.

    Return the broken promises, each with a request that shows it. SIGTERM cancels the trial as
    Ctrl-C does, so that the started servers end too.
    """
    trial = asyncio.current_task()
    assert trial is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, trial.cancel)
    table = Table(
        *("attack", "found", "responses", "worst s", "p50 ms", "p99 ms", "quiet p99"),
        *("MB before", "peak", "after"),
    )
    broken = []
    with Live(table, console=CONSOLE, auto_refresh=False) as live:
        async for row in rows:
            table.add_row(*row.cells())
            live.refresh()
            if row.found:
                example = row.answers.example or row.answers.slowest
                broken.append(f"{row.attack.name}, {example}")
    return broken
