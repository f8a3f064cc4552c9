"""Both maintenance modes during lag, throttling, late streams and expiring credentials."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from dal.counts.mode import MaintenanceStore
from dal.dynamodb.table import Table
from dal.maintenance.rebuild import rebuild as rebuild_transactional
from dal.maintenance.verify import count_comments, differences
from dal.stores import Stores
from features.stream_counting.follower import caught_up, follow
from features.stream_counting.rebuild import end, rebuild
from tests import oracle, recount
from tests.amazon import Amazon, settle
from tests.features.stream_counting.histories import history, write_raw
from tests.verifying import verify
from tests.writers import ROWS, Writers, at_once, ignore, spoil


@pytest.fixture
def amazon(table: Table) -> Amazon:
    """The fake service of this test's table."""
    service = Amazon.documented(table.service)
    service.expiry.calls = 150
    service.throttle.wcu, service.throttle.rcu, service.throttle.wait = 40, 120, 0.5
    service.clock.pace, service.clock.tick = 0.0, 0.002
    table.service = service
    return service


async def walks_are_exact(table: Table, product: str) -> int:
    """Compare walks of some filters with the table's comments. Return the number of comments."""
    store = Stores(table).comments
    rows = await recount.comments_of(store, product)
    for selection in list(oracle.selections(product))[::29]:
        shown = await oracle.walk(store, selection, 7, backward=False)
        assert shown == oracle.selected(rows, selection)
    return len(rows)


async def test_transactional_mode_is_exact_during_writes_and_a_rebuild(
    table: Table, amazon: Amazon
) -> None:
    await Stores(table).comments.put_many([row for n, row in enumerate(ROWS) if n % 9])
    await spoil(table, 2)
    async with Writers(table, 2) as writers:
        await writers.until(5)
        await rebuild_transactional(table, writers.settle, ignore)
        await writers.until(writers.writes + 5)
    assert await verify(table, ignore) == []
    assert (await MaintenanceStore(table).read()).exact
    settle(table)
    assert await walks_are_exact(table, "42") > 10
    assert amazon.expiry.refused
    assert amazon.throttle.refused


@contextlib.asynccontextmanager
async def foreign(table: Table, seed: int) -> AsyncIterator[None]:
    """Run another program that writes without a pause until the block ends."""
    stop = asyncio.Event()

    async def write() -> None:
        for step in history(seed, 5_000):
            await write_raw(table, [step])
            await asyncio.sleep(0.005)
            if stop.is_set():
                return

    writing = asyncio.create_task(write())
    try:
        yield
    finally:
        stop.set()
        await writing


async def test_stream_mode_is_exact_while_other_programs_write(
    table: Table, amazon: Amazon
) -> None:
    """Shards split and are listed late, records are late, and rate limits apply."""
    streams = amazon.client_of_streams()
    amazon.streams.describes, amazon.streams.reads = 10.0, 5.0
    amazon.clock.pace = 1.0
    await Stores(table).comments.put_many(ROWS[:60])
    await spoil(table, 3)
    async with foreign(table, 3):
        await rebuild(table, streams, at_once, ignore)
        reached = await caught_up(table)
        following = asyncio.create_task(follow(table, streams))
        settle(table)
    async with asyncio.timeout(60):
        while differences(await count_comments(table, ignore)):  # noqa: ASYNC110 - the stream's
            await asyncio.sleep(0.1)
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    assert await verify(table, ignore) == []
    assert amazon.streams.refused == 0
    assert await caught_up(table) >= reached
    settle(table)
    assert await walks_are_exact(table, "42") > 10
    await rebuild_transactional(table, at_once, ignore)
    await end(table)
    assert await verify(table, ignore) == []
