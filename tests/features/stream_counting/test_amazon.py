"""Counting during lag, throttling, late streams and expiring credentials."""

import asyncio
import contextlib

import pytest

from dal.counts.mode import MaintenanceStore
from dal.dynamodb.table import Table
from dal.maintenance.rebuild import rebuild as rebuild_transactional
from dal.maintenance.verify import count_comments, differences
from dal.stores import Stores
from features.stream_counting.follower import caught_up, follow
from features.stream_counting.kind import leave
from features.stream_counting.rebuild import rebuild
from tests.amazon import Amazon, settle
from tests.amazon.test_service import amazon, walks_are_exact
from tests.features.stream_counting.clients import client_of
from tests.features.stream_counting.conftest import transactional
from tests.features.stream_counting.test_rebuild import foreign
from tests.putting import put_comments
from tests.verifying import verify
from tests.writers import ROWS, at_once, ignore, spoil

__all__ = ["amazon"]


@pytest.fixture
async def table(table: Table) -> Table:
    return await transactional(table)


async def test_stream_mode_is_exact_while_other_programs_write(
    table: Table, amazon: Amazon
) -> None:
    """Shards split and are listed late, records are late, and rate limits apply."""
    streams = client_of(amazon)
    amazon.streams.describes, amazon.streams.reads = 10.0, 5.0
    amazon.clock.pace = 1.0
    await put_comments(Stores(table).comments, ROWS[:60])
    await spoil(table, 3)
    async with foreign(table, 3):
        await rebuild(MaintenanceStore(table), streams, at_once, ignore)
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
    await leave(table)
    assert await verify(table, ignore) == []
