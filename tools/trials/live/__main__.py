"""Subscribes 200 clients during writes, and compares what they show with the writes.

There is one server with two workers, and with ``--redis`` a second server with the same table. Half
of the clients use WebSockets, half server-sent events. Some disconnect, and continue at the next
server after their last cursor. Some read their long events so slowly that the server disconnects
them. In the end, each client must show the state after all acknowledged writes. No event may show
an older state of a comment than an earlier event.
"""

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import psutil

from tests.server.serving import Served
from tests.server.workers.processes import workers_of
from tools.trials.ledger import Client, Ledger, listening, outdated, servers
from tools.trials.listeners import Listener
from tools.trials.reporting import CONSOLE, finish, show

MOST_GROWTH = 64_000_000
"""The bytes by which a worker's memory may grow: twice the limit of its log, and sockets."""

_TEXT = "x" * 9_000
_WRITERS = 4
_KINDS = ["slow", "reconnecting", "steady", "reconnecting", "steady"] * 2
_KINDS[5] = "steady"
"""A tenth of the listeners read slowly, and four tenths disconnect and continue."""


def _processes(server: Served) -> list[psutil.Process]:
    """Return the processes of a server that execute requests: its workers, or the server itself."""
    return workers_of(server) or [psutil.Process(server.process.pid)]


async def _watch(workers: list[psutil.Process], sizes: list[int]) -> None:
    """Record the memory of the largest worker every half second."""
    while True:
        sizes.append(max(worker.memory_info().rss for worker in workers))
        await asyncio.sleep(0.5)


async def trial(directory: Path, workers: Sequence[int], count: int, writes: int) -> list[str]:
    """Run the trial and print its numbers. Return the broken promises."""
    ledger, sizes = Ledger(), list[int]()
    listeners = [Listener(number, _KINDS[number % 10]) for number in range(count)]
    async with servers(directory, workers) as served:
        urls = [server.url for server in served]
        clients = [Client(urls, number, ledger, _TEXT) for number in range(_WRITERS)]
        processes = [process for server in served for process in _processes(server)]
        async with listening(listeners, urls, ledger):
            watching = asyncio.create_task(_watch(processes, sizes))
            before = sum(sum(process.cpu_times()[:2]) for process in processes)
            began = time.perf_counter()
            await asyncio.gather(*(one.write(writes) for one in clients))
            seconds = time.perf_counter() - began
        cpu = sum(sum(process.cpu_times()[:2]) for process in processes) - before
        watching.cancel()
        for client in clients:
            await client.close()
    title = f"{count} clients, {len(ledger.writes)} writes in {seconds:.0f} s"
    columns = "clients", "number", "events", "reloads", "ends of connections", "median delay", "p99"
    show(title, columns, [_row(kind, listeners) for kind in ("steady", "reconnecting", "slow")])
    events = sum(one.events for one in listeners)
    CONSOLE.print(
        f"{cpu / events * 1e6:.0f} µs of the workers' CPU for each event. The largest worker had "
        f"{sizes[0] / 1e6:.0f} MB before the writes and {max(sizes) / 1e6:.0f} MB at most."
    )
    broken = outdated(listeners, ledger)
    if max(sizes) - sizes[0] > MOST_GROWTH:
        broken.append(f"A worker grew by {(max(sizes) - sizes[0]) / 1e6:.0f} MB.")
    return broken


def _row(kind: str, listeners: Sequence[Listener]) -> list[str]:
    group = [one for one in listeners if one.kind == kind]
    delays = [delay for one in group for delay in one.delays] or [0.0, 0.0]
    ends = sum((one.ends for one in group), Counter[str]())
    return [
        kind,
        str(len(group)),
        f"{sum(one.events for one in group):,}",
        f"{sum(one.reloads for one in group):,}",
        ", ".join(f"{count} {why}" for why, count in ends.items()) or "0",
        f"{median(delays) * 1_000:.0f} ms",
        f"{quantiles(delays, n=100)[-1] * 1_000:.0f} ms",
    ]


def main() -> None:
    """Run the trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--writes", type=int, default=100, help="of each of four writers")
    parser.add_argument("--redis", action="store_true", help="two servers and Redis between them")
    given = parser.parse_args()
    with TemporaryDirectory() as directory:
        workers = (2, 1) if given.redis else (2,)
        broken = asyncio.run(trial(Path(directory), workers, given.clients, given.writes))
    finish(broken)


if __name__ == "__main__":
    main()
