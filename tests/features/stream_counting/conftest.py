"""Fixtures of the stream's tests: tables in maintenance mode stream, on both engines."""

import pytest

from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb.table import Table
from features.stream_counting.checkpoints import Checkpoints
from features.stream_counting.streams import Streams
from tests.features.stream_counting.clients import streams
from tests.features.stream_counting.fakes import START
from tests.features.stream_counting.records import begin_counting, one_shard

__all__ = ["streams"]


@pytest.fixture
async def table(table: Table) -> Table:
    """A new table on dynoxide in maintenance mode stream. The test provides the records."""
    return await followed(table)


@pytest.fixture
async def each_table(each_table: Table) -> Table:
    """A new table on each engine, in maintenance mode stream, without a stream."""
    return await followed(each_table)


async def followed(table: Table) -> Table:
    store = MaintenanceStore(table)
    await store.announce(await store.read(), mode=MaintenanceMode.STREAM)
    return table


async def transactional(table: Table) -> Table:
    """Return a table like a new one: its mode is transactional, and all comments are counted."""
    store = MaintenanceStore(table)
    await store.announce(await store.read(), mode=MaintenanceMode.TRANSACTIONAL, complete=True)
    return table


@pytest.fixture
async def streamed(each_table: Table, streams: Streams) -> Table:
    """A new table on each engine, whose stream is counted from its first record."""
    one_shard(each_table)
    await begin_counting(each_table, streams)
    return each_table


@pytest.fixture
async def begun(table: Table) -> Table:
    """A new table, counted up to START. The test provides a fake stream."""
    await Checkpoints(table, "s").raise_watermark(START)
    return table
