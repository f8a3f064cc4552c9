"""Subscribes 200 clients during writes, and counts lost events.

``python -m tests.trials.live`` serves from two workers; with ``--redis`` from two servers over one
table, one of which has two workers. The processes tell each other of changes by Redis. Of the
clients half listen by WebSocket and half by server-sent events; some come and go by cursor, each
time to the next server, and some take their events, which are long ones, so slowly that the server
drops them. All must have heard of each acknowledged write once, in one order.
"""

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psutil
from rich.console import Console
from rich.table import Table

from tests.engines import dynoxide
from tests.engines.redis import redis_server
from tests.server.serving import AWS, Served, bearer, marginalia
from tests.server.workers.processes import workers_of
from tests.trials.live.listeners import Listener, Told
from tests.trials.serving import serving

ADD = """mutation ($i: AddCommentInput!) { addComment(input: $i) { comment { id }
  userErrors { message } } }"""
UPDATE = """mutation ($i: UpdateCommentInput!) { updateComment(input: $i) { comment { id }
  userErrors { message } } }"""
DELETE = "mutation ($id: ID!) { deleteComment(input: {id: $id}) { deletedId } }"

MOST_GROWTH = 64_000_000
"""Bytes that a worker may grow by while all listen: twice what its buffer holds, and sockets."""

_TEXT = "x" * 9_000
_WRITERS = 4


@dataclass
class Writes:
    """What was acknowledged."""

    told: list[Told] = field(default_factory=list)
    acknowledged: dict[str, float] = field(default_factory=dict)
    """When the write of each title was."""


async def _ask(client: httpx.AsyncClient, query: str, **variables: Any) -> Any:
    answer = await client.post("/graphql", json={"query": query, "variables": variables})
    answer.raise_for_status()
    data = answer.json()
    assert "errors" not in data, data
    return data["data"]


async def _write(server: Served, writer: int, count: int, writes: Writes) -> None:
    """Add, edit and delete comments, one after another."""
    dice = random.Random(writer)
    stored: list[str] = []
    async with httpx.AsyncClient(base_url=server.url, headers=bearer("ann"), timeout=60) as client:
        for number in range(count):
            title = f"{writer}.{number}"
            choice = dice.random() if stored else 0.0
            said = {"rating": dice.randint(1, 5), "title": title, "text": _TEXT}
            if choice < 0.5:
                new = {"productId": "42", "language": "en", **said}
                made = (await _ask(client, ADD, i=new))["addComment"]["comment"]["id"]
                stored.append(made)
                writes.told.append(("ADDED", made, title))
            elif choice < 0.9:
                changed = dice.choice(stored)
                await _ask(client, UPDATE, i={"id": changed, **said})
                writes.told.append(("CHANGED", changed, title))
            else:
                gone = stored.pop(dice.randrange(len(stored)))
                await _ask(client, DELETE, id=gone)
                writes.told.append(("DELETED", gone, ""))
            writes.acknowledged[title] = time.perf_counter()


async def _watch(workers: list[psutil.Process], sizes: list[int]) -> None:
    """Note the size of the larger worker, again and again."""
    while True:
        sizes.append(max(worker.memory_info().rss for worker in workers))
        await asyncio.sleep(0.5)


def kinds(count: int) -> list[str]:
    """Return what the listeners are: a tenth is slow, four tenths come and go."""
    pattern = ("slow", "reconnecting", "steady", "reconnecting", "steady")
    return [("steady" if one % 10 == 5 else pattern[one % 5]) for one in range(count)]


@asynccontextmanager
async def one_server(directory: Path) -> AsyncIterator[list[Served]]:
    """Serve from two workers over the embedded engine."""
    with redis_server() as redis:
        options = ("--workers", "2", "--redis-url", redis.url, "--rate-limit", "off")
        async with serving(directory, *options) as server:
            yield [server]


@asynccontextmanager
async def two_servers(directory: Path) -> AsyncIterator[list[Served]]:
    """Serve from two servers over one table and one Redis."""
    with dynoxide("--db-path", str(directory / "shared.db")) as endpoint, redis_server() as redis:
        options = ("--endpoint-url", endpoint, "--redis-url", redis.url, "--rate-limit", "off")
        marginalia("table", "create", "--endpoint-url", endpoint, **AWS).check_returncode()
        async with (
            serving(directory, *options, "--workers", "2") as one,
            serving(directory, *options) as other,
        ):
            yield [one, other]


def _processes(server: Served) -> list[psutil.Process]:
    """Return the processes that serve: its workers, or itself."""
    itself = psutil.Process(server.process.pid)
    return workers_of(server) if itself.children() else [itself]


async def trial(
    opened: AbstractAsyncContextManager[list[Served]], clients: int, writes_each: int
) -> tuple[Table, list[str]]:
    """Run the trial; return its figures, and what does not hold."""
    async with opened as servers:
        workers = [process for server in servers for process in _processes(server)]
        urls = [server.url for server in servers]
        writes, sizes = Writes(), list[int]()
        listeners = [Listener(number, kind) for number, kind in enumerate(kinds(clients))]
        tasks = [asyncio.create_task(one.run(urls, writes.acknowledged)) for one in listeners]
        await asyncio.gather(*(one.ready.wait() for one in listeners))
        watching = asyncio.create_task(_watch(workers, sizes))
        spent = sum(sum(worker.cpu_times()[:2]) for worker in workers)
        started = time.perf_counter()
        await asyncio.gather(
            *(
                _write(servers[number % len(servers)], number, writes_each, writes)
                for number in range(_WRITERS)
            )
        )
        wrote = time.perf_counter() - started
        await _all_heard(listeners, len(writes.told))
        spent = sum(sum(worker.cpu_times()[:2]) for worker in workers) - spent
        for task in (*tasks, watching):
            task.cancel()
        await asyncio.gather(*tasks, watching, return_exceptions=True)
    return _figures(listeners, writes, sizes, wrote, spent), _misses(listeners, writes, sizes)


async def _all_heard(listeners: list[Listener], count: int) -> None:
    """Wait until all have heard of as much as was written, or nothing has come for a while."""
    silent, before = 0, -1
    while silent < 60 and any(len(one.told) < count for one in listeners):
        heard = sum(len(one.told) for one in listeners)
        silent = silent + 1 if heard == before else 0
        before = heard
        await asyncio.sleep(1)


def _misses(listeners: list[Listener], writes: Writes, sizes: list[int]) -> list[str]:
    order = listeners[2].told
    expected = Counter(writes.told)
    missed = [
        f"Client {one.number} ({one.kind}) missed {(expected - Counter(one.told)).total()} events "
        f"and had {(Counter(one.told) - expected).total()} twice."
        for one in listeners
        if Counter(one.told) != expected
    ]
    missed += [
        f"Client {one.number} ({one.kind}) has another order."
        for one in listeners
        if Counter(one.told) == expected and one.told != order
    ]
    if max(sizes) - sizes[0] > MOST_GROWTH:
        missed.append(f"A worker grew by {(max(sizes) - sizes[0]) / 1e6:.0f} MB.")
    return missed


def _figures(
    listeners: list[Listener], writes: Writes, sizes: list[int], wrote: float, spent: float
) -> Table:
    shown = Table(title=f"{len(listeners)} clients, {len(writes.told)} writes in {wrote:.0f} s")
    for column in ("clients", "number", "events", "ends of connections", "median delay", "p99"):
        shown.add_column(column, justify="left" if column == "clients" else "right")
    for kind in ("steady", "reconnecting", "slow"):
        group = [one for one in listeners if one.kind == kind]
        delays = [delay for one in group for delay in one.delays] or [0.0, 0.0]
        ends = sum((one.ends for one in group), Counter[str]())
        shown.add_row(
            kind,
            str(len(group)),
            f"{sum(len(one.told) for one in group):,}",
            ", ".join(f"{count} {why}" for why, count in ends.items()) or "0",
            f"{median(delays) * 1_000:.0f} ms",
            f"{quantiles(delays, n=100)[-1] * 1_000:.0f} ms",
        )
    events = sum(len(one.told) for one in listeners)
    shown.caption = (
        f"{spent / events * 1e6:.0f} µs of the workers' CPU for each event told; the larger worker "
        f"had {sizes[0] / 1e6:.0f} MB when all listened and {max(sizes) / 1e6:.0f} MB at most."
    )
    return shown


def main() -> None:
    """Run the trial, show its figures, and exit with 1 where something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--writes", type=int, default=100, help="of each of four writers")
    parser.add_argument("--redis", action="store_true", help="two servers and Redis between them")
    arguments = parser.parse_args()
    with TemporaryDirectory() as directory:
        opened = (two_servers if arguments.redis else one_server)(Path(directory))
        table, missed = asyncio.run(trial(opened, arguments.clients, arguments.writes))
    Console(width=120).print(table)
    for miss in missed:
        print(miss)  # noqa: T201 - a command's output
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
