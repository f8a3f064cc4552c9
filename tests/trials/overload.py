"""Loads a server with ten times what it can answer.

``python -m tests.trials.overload`` serves the demo data from a process of its own, loads it from
another, and asks for its liveness all the while. Each round goes from a peak over the overload back
to the peak, so that a machine which is busy with other things changes both alike. How long a 503
takes is measured by a client of its own: those that make the load wait for one another.
"""

import argparse
import asyncio
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import httpx
import orjson
from rich.console import Console
from rich.table import Table

from tests.server.serving import served
from tests.trials.load import Phase, load, run

PAGE = """{ product(productId: "1") { comments(first: 20) {
  nodes { commentId rating language title text username createdAt }
  pageInfo { hasNextPage endCursor } } } }"""

CLIENTS = 16
"""They keep the server busy: more of them get no more pages a second."""

GOODPUT = 0.8
SHED_MS = 100
RECOVERY = 5.0

_PROBE_EVERY = 0.1
_WITNESS_EVERY = 0.03
_BIN = 0.5
"""Seconds over which goodput is counted to see it come back."""


@dataclass
class Round:
    """One time up and down."""

    peak: Phase
    overload: Phase
    after: Phase
    witness: Phase
    """What one client saw that asks now and then, all the time."""
    probes: list[bool]
    """Whether each question for liveness was answered within a second."""

    @property
    def ratio(self) -> float:
        """Pages a second under overload, of those at the peaks before and after."""
        return self.overload.goodput * 2 / (self.peak.goodput + self.after.goodput)

    @property
    def recovery(self) -> float:
        """Seconds from the end of the overload until the pages come as before."""
        enough = GOODPUT * self.peak.goodput * _BIN
        for number in range(int(self.after.seconds / _BIN)):
            if sum(at // _BIN == number for at, _ in self.after.served) >= enough:
                return (number + 1) * _BIN
        return inf


def p99_ms(seconds: list[float]) -> float:
    """Return what 99 of 100 stay below, in milliseconds."""
    return quantiles(seconds, n=100)[-1] * 1_000 if len(seconds) > 1 else 0.0


async def _witness(url: str, body: bytes, seconds: float, *, fresh: bool) -> Phase:
    phase = Phase(1, seconds)
    await load(url, body, phase, fresh=fresh, pause=_WITNESS_EVERY)
    return phase


async def _probe(url: str, probes: list[bool]) -> None:
    """Ask for liveness as a balancer does, with a connection for each question."""
    while True:
        try:
            async with httpx.AsyncClient(timeout=1, verify=False) as client:
                answer = await client.get(f"{url}/health/live")
            probes.append(answer.is_success)
        except httpx.TransportError:
            probes.append(False)
        await asyncio.sleep(_PROBE_EVERY)


async def one_round(url: str, times: int, seconds: float, *, fresh: bool) -> Round:
    """Load the server; with ``fresh`` each request has a connection of its own."""
    phases = [Phase(clients, seconds) for clients in (CLIENTS, times * CLIENTS, CLIENTS)]
    body = orjson.dumps({"query": PAGE})
    probes: list[bool] = []
    probing = asyncio.create_task(_probe(url, probes))
    watching = asyncio.create_task(_witness(url, body, len(phases) * seconds, fresh=fresh))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        loop = asyncio.get_running_loop()
        peak, overload, after = await loop.run_in_executor(pool, run, url, body, phases, fresh)
    probing.cancel()
    return Round(peak, overload, after, await watching, probes)


def table(title: str, rounds: list[Round]) -> Table:
    """Return what the rounds saw, one a line."""
    shown = Table(title=title)
    for column in (
        "pages/s at the peak",
        "in overload",
        "ratio",
        "p99 of a page",
        "503/s",
        "median of a 503",
        "its p99",
        "failed",
        "liveness",
        "recovered",
    ):
        shown.add_column(column, justify="right")
    for each in rounds:
        overload = each.overload
        shown.add_row(
            f"{each.peak.goodput:.0f}",
            f"{overload.goodput:.0f}",
            f"{each.ratio:.0%}",
            f"{p99_ms([took for _, took in overload.served]):.0f} ms",
            f"{len(overload.shed) / overload.seconds:.0f}",
            f"{median(each.witness.shed or [0.0]) * 1_000:.0f} ms",
            f"{p99_ms(each.witness.shed):.0f} ms",
            " ".join(f"{count} {what}" for what, count in overload.failed.items()) or "0",
            f"{sum(each.probes)} of {len(each.probes)}",
            f"{each.recovery:.1f} s",
        )
    return shown


def misses(title: str, rounds: list[Round]) -> list[str]:
    """Return what does not hold, judged by the median of the rounds."""
    held = {
        f"goodput of {GOODPUT:.0%}": median(each.ratio for each in rounds) >= GOODPUT,
        f"503 within {SHED_MS} ms": median(p99_ms(each.witness.shed) for each in rounds) <= SHED_MS,
        "liveness": all(all(each.probes) for each in rounds),
        f"recovery in {RECOVERY:.0f} s": all(each.recovery <= RECOVERY for each in rounds),
        "nothing but pages and 503": not any(each.overload.failed for each in rounds),
    }
    return [f"{title}: no {what}" for what, holds in held.items() if not holds]


def main() -> None:
    """Run the rounds, show what they saw, and exit with 1 where it does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each phase")
    parser.add_argument("--times", type=int, default=10, help="clients, of those at the peak")
    arguments = parser.parse_args()
    console, missed = Console(width=120), []
    with (
        TemporaryDirectory() as directory,
        served(Path(directory), "--demo") as server,
    ):
        for title, fresh in (("connections kept alive", False), ("new connections", True)):
            rounds = [
                asyncio.run(one_round(server.url, arguments.times, arguments.seconds, fresh=fresh))
                for _ in range(arguments.rounds)
            ]
            console.print(table(f"{arguments.times * CLIENTS} clients, {title}", rounds))
            missed += misses(title, rounds)
    for miss in missed:
        console.print(miss)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
