"""The trial itself: write, walk and listen, then look at everything while nobody writes."""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dal.model import RATINGS
from tests.engines import dynoxide
from tests.engines.redis import redis_server
from tests.server.serving import AWS, Served, called
from tests.server.workers.processes import others, workers_of
from tests.trials.live.listeners import Listener
from tests.trials.processes.clients import COUNTS, Client, Walker, Writer
from tests.trials.processes.ledger import Filters, Ledger
from tests.trials.serving import serving


@dataclass(frozen=True)
class Size:
    """How much is done."""

    writers: int
    writes_each: int
    walkers: int
    listeners: int
    lists: int
    """Lists that are walked at rest, at each server and in both directions."""
    workers: Sequence[int] = (2, 2)
    """Of each server."""
    restarts: int = 0
    """How often the workers of each server are replaced meanwhile."""


@dataclass
class Outcome:
    """What was done, and what does not hold."""

    writes: Counter[str] = field(default_factory=Counter)
    walks: int = 0
    walks_at_rest: int = 0
    rows: int = 0
    events: int = 0
    faults: list[str] = field(default_factory=list)


@asynccontextmanager
async def servers(directory: Path, workers: Sequence[int]) -> AsyncIterator[list[Served]]:
    """Serve by two servers over one table and one Redis."""
    with dynoxide("--db-path", str(directory / "shared.db")) as endpoint, redis_server() as redis:
        options = ("--endpoint-url", endpoint, "--redis-url", redis.url, "--rate-limit", "off")
        called("table", "create", "--endpoint-url", endpoint, **AWS).check_returncode()
        one, other = (("--workers", str(number), *options) for number in workers)
        async with (
            serving(directory / "one", *one) as first,
            serving(directory / "other", *other) as second,
        ):
            yield [first, second]
            verified = called("stats", "verify", "--endpoint-url", endpoint, **AWS)
            assert verified.returncode == 0, verified.stdout + verified.stderr


async def trial(directory: Path, size: Size) -> Outcome:
    """Run it; AssertionError for an answer that is no answer, or counts that are wrong."""
    outcome, ledger = Outcome(), Ledger()
    async with servers(directory, size.workers) as served:
        urls = [server.url for server in served]
        listeners = [Listener(number, "steady") for number in range(size.listeners)]
        listening = [asyncio.create_task(one.run(urls, {})) for one in listeners]
        await asyncio.gather(*(one.ready.wait() for one in listeners))
        writers = [Writer(urls, number, ledger) for number in range(size.writers)]
        walkers = [Walker(urls, number, ledger) for number in range(size.walkers)]
        await _busy(served, size, writers, walkers)
        await _heard(listeners, len(ledger.told))
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
        last = Client(urls, 0)
        outcome.faults = await _at_rest(last, ledger, size.lists)
        for client in (*writers, *walkers, last):
            await client.close()
    outcome.writes = Counter(kind for kind, *_ in ledger.told)
    outcome.walks = sum(walker.walks for walker in walkers)
    outcome.walks_at_rest = 4 * size.lists
    outcome.rows, outcome.events = len(ledger.rows), sum(len(one.told) for one in listeners)
    outcome.faults += [fault for walker in walkers for fault in walker.faults]
    outcome.faults += _unheard(listeners, ledger)
    return outcome


async def _busy(
    served: Sequence[Served], size: Size, writers: Sequence[Writer], walkers: Sequence[Walker]
) -> None:
    """Have all write and walk, and replace the workers meanwhile."""
    ended = asyncio.Event()
    walking = asyncio.gather(*(walker.walk_until(ended) for walker in walkers))
    writing = asyncio.gather(*(writer.write(size.writes_each) for writer in writers))
    for _ in range(size.restarts):
        for server in served:
            old = workers_of(server)
            server.process.send_signal(signal.SIGHUP)
            await others(server, old, len(old))
    await writing
    ended.set()
    await walking


async def _heard(listeners: Sequence[Listener], count: int) -> None:
    """Wait until all have heard of as much as was written, or nothing has come for long."""
    silent, before = 0, -1
    while silent < 600 and any(len(one.told) < count for one in listeners):
        heard = sum(len(one.told) for one in listeners)
        silent = silent + 1 if heard == before else 0
        before = heard
        await asyncio.sleep(0.1)


async def _at_rest(client: Client, ledger: Ledger, lists: int) -> list[str]:
    """Return which lists and counts are not exactly as the ledger has them, at either server."""
    faults = []
    for _ in range(lists):
        filters = client.filters()
        for at in (0, 1):
            for backward in (False, True):
                walked = await client.walk(filters, backward=backward, at=at)
                if walked != ledger.listed(filters):
                    faults.append(f"{filters}: another list at server {at + 1}, at rest.")
    rated = Counter(row.rating for row in ledger.listed(Filters()))
    for at in (0, 1):
        shown = (await client.ask(COUNTS, at))["product"]["statistics"]
        histogram = {one["rating"]: one["count"] for one in shown["histogram"]}
        if histogram != {rating: rated[rating] for rating in RATINGS}:
            faults.append(f"Server {at + 1} counts {histogram}, and there are {dict(rated)}.")
    return faults


def _unheard(listeners: Sequence[Listener], ledger: Ledger) -> list[str]:
    expected = Counter(ledger.told)
    return [
        f"Listener {one.number} missed {(expected - Counter(one.told)).total()} events and had "
        f"{(Counter(one.told) - expected).total()} that were not, or were before."
        for one in listeners
        if Counter(one.told) != expected
    ]
