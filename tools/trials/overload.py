"""Loads a server with ten times the clients that it can serve.

One process runs the server with the demo data, a second process sends the load, and this process
checks liveness. Each round goes from a peak to the overload and back to the peak, so that other
work on the machine affects both. A separate client measures how long a 503 takes, because the
clients of the load wait for each other.
"""

import argparse
import asyncio
import multiprocessing
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import httpx
import orjson
import uvloop

from tests.server.serving import served
from tools.bench.speed.generator import Answer, ask, request
from tools.trials.reporting import finish, show

PAGE = """{ product(productId: "1") { comments(first: 20) {
  nodes { commentId rating language title text username createdAt }
  pageInfo { hasNextPage endCursor } } } }"""

CLIENTS = 16
"""The number of clients at a peak, which keep the server busy.

More clients do not get more pages.
"""

GOODPUT = 0.8
SHED_MS = 100
RECOVERY = 5.0

_PROBE_EVERY = 0.1
_WITNESS_EVERY = 0.03
_BIN = 0.5
"""The seconds of an interval for which goodput is measured during the recovery."""
GIVE_UP = 5.0
"""Seconds after which a client stops waiting for a response."""


@dataclass
class Phase:
    """The responses that a number of clients got in ``seconds``."""

    clients: int
    seconds: float
    served: list[tuple[float, float]] = field(default_factory=list)
    """For each page, the seconds since the start of the phase, and the seconds that it took."""
    shed: list[float] = field(default_factory=list)
    """The seconds that each 503 took."""
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def goodput(self) -> float:
        """Pages a second."""
        return len(self.served) / self.seconds


def _run(url: str, body: bytes, phases: list[Phase], fresh: bool) -> list[Phase]:
    """Run the phases one after another. With ``fresh``, each request has a new connection."""

    async def run_all() -> None:
        for phase in phases:
            await _load(url, body, phase, fresh=fresh)

    uvloop.run(run_all())
    return phases


async def _load(url: str, body: bytes, phase: Phase, *, fresh: bool, pause: float = 0.0) -> None:
    """Send requests until the phase ends, with ``pause`` seconds after each response."""
    asking = _Asking(url, body, phase, fresh=fresh)
    await ask(url, asking, phase.clients, patience=GIVE_UP, pause=pause)


class _Asking:
    """Requests the same page again and again, and sorts the responses."""

    def __init__(self, url: str, body: bytes, phase: Phase, *, fresh: bool) -> None:
        headers = (f"Connection: {'close' if fresh else 'keep-alive'}",)
        self._request = request(url, "/graphql", body, headers)
        self._phase = phase
        self._start = time.perf_counter()

    def next(self) -> tuple[int, bytes] | None:
        over = time.perf_counter() >= self._start + self._phase.seconds
        return None if over else (0, self._request)

    def note(self, number: int, answer: Answer) -> None:
        if answer.status == b"200" and b'"errors"' not in answer.body:
            self._phase.served.append((answer.ended - self._start, answer.seconds))
        elif answer.status == b"503" and b"retry-after" in answer.head:
            self._phase.shed.append(answer.seconds)
        else:
            self._phase.failed[answer.status.decode() or "unanswered"] += 1


@dataclass
class Round:
    """A peak, an overload and another peak."""

    peak: Phase
    overload: Phase
    after: Phase
    witness: Phase
    """The responses to one client that sends requests at intervals, during all phases."""
    probes: list[bool]
    """Whether each check of liveness succeeded within a second."""

    @property
    def ratio(self) -> float:
        """Pages per second in the overload, divided by those at the peaks."""
        return self.overload.goodput * 2 / (self.peak.goodput + self.after.goodput)

    @property
    def recovery(self) -> float:
        """Seconds from the end of the overload until goodput reaches that of the peak again."""
        enough = GOODPUT * self.peak.goodput * _BIN
        for number in range(int(self.after.seconds / _BIN)):
            if sum(at // _BIN == number for at, _ in self.after.served) >= enough:
                return (number + 1) * _BIN
        return inf


def p99_ms(seconds: list[float]) -> float:
    """Return the 99th percentile in milliseconds."""
    return quantiles(seconds, n=100)[-1] * 1_000 if len(seconds) > 1 else 0.0


async def _probe(url: str, probes: list[bool]) -> None:
    """Check liveness as a load balancer does, with a new connection for each request."""
    while True:
        try:
            async with httpx.AsyncClient(timeout=1, verify=False) as client:
                answer = await client.get(f"{url}/health/live")
            probes.append(answer.is_success)
        except httpx.TransportError:
            probes.append(False)
        await asyncio.sleep(_PROBE_EVERY)


async def one_round(url: str, times: int, seconds: float, *, fresh: bool) -> Round:
    """Run the phases of a round. With ``fresh``, each request has a new connection."""
    phases = [Phase(clients, seconds) for clients in (CLIENTS, times * CLIENTS, CLIENTS)]
    body = orjson.dumps({"query": PAGE})
    probes: list[bool] = []
    probing = asyncio.create_task(_probe(url, probes))
    witness = Phase(1, len(phases) * seconds)
    watching = asyncio.create_task(_load(url, body, witness, fresh=fresh, pause=_WITNESS_EVERY))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        loop = asyncio.get_running_loop()
        peak, overload, after = await loop.run_in_executor(pool, _run, url, body, phases, fresh)
    probing.cancel()
    await watching
    return Round(peak, overload, after, witness, probes)


COLUMNS = ["pages/s at the peak", "in overload", "ratio", "p99 of a page", "503/s"]
COLUMNS += ["median of a 503", "its p99", "failed", "liveness", "recovered"]


def row(each: Round) -> list[str]:
    """Return the cells of a round's row."""
    overload = each.overload
    return [
        f"{each.peak.goodput:.0f}",
        f"{overload.goodput:.0f}",
        f"{each.ratio:.0%}",
        f"{p99_ms([seconds for _, seconds in overload.served]):.0f} ms",
        f"{len(overload.shed) / overload.seconds:.0f}",
        f"{median(each.witness.shed or [0.0]) * 1_000:.0f} ms",
        f"{p99_ms(each.witness.shed):.0f} ms",
        " ".join(f"{count} {status}" for status, count in overload.failed.items()) or "0",
        f"{sum(each.probes)} of {len(each.probes)}",
        f"{each.recovery:.1f} s",
    ]


def misses(title: str, rounds: list[Round]) -> list[str]:
    """Return a sentence for each broken promise. Most are judged by the median of the rounds."""
    held = {
        f"goodput of {GOODPUT:.0%}": median(each.ratio for each in rounds) >= GOODPUT,
        f"503 within {SHED_MS} ms": median(p99_ms(each.witness.shed) for each in rounds) <= SHED_MS,
        "liveness": all(all(each.probes) for each in rounds),
        f"recovery in {RECOVERY:.0f} s": all(each.recovery <= RECOVERY for each in rounds),
        "nothing but pages and 503": not any(each.overload.failed for each in rounds),
    }
    return [f"{title}: no {what}" for what, holds in held.items() if not holds]


def main() -> None:
    """Run the rounds and print their numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each phase")
    parser.add_argument("--times", type=int, default=10, help="clients, of those at the peak")
    given = parser.parse_args()
    missed = []
    with (
        TemporaryDirectory() as directory,
        served(Path(directory), "--demo", "--no-explain") as server,
    ):
        for title, fresh in (("connections kept alive", False), ("new connections", True)):
            rounds = [
                asyncio.run(one_round(server.url, given.times, given.seconds, fresh=fresh))
                for _ in range(given.rounds)
            ]
            show(f"{given.times * CLIENTS} clients, {title}", COLUMNS, map(row, rounds))
            missed += misses(title, rounds)
    finish(missed)


if __name__ == "__main__":
    main()
