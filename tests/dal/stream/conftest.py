"""Fixtures of the stream's tests: tables that record their changes, on both engines."""

import pytest

from dal.client.streams import Streams
from dal.client.table import Table
from dal.statistics.mode import MaintenanceMode, MaintenanceStore
from dal.stream.checkpoints import Checkpoints
from tests.dal.stream.fakes import START
from tests.dal.stream.histories import begin_counting, one_shard


@pytest.fixture
async def table(table: Table) -> Table:
    """A new table on dynoxide. The test counts its stream."""
    return await followed(table)


@pytest.fixture
async def each_table(each_table: Table) -> Table:
    """A new table on each engine. The test counts its stream."""
    return await followed(each_table)


async def followed(table: Table) -> Table:
    store = MaintenanceStore(table)
    await store.announce(await store.read(), mode=MaintenanceMode.STREAM)
    return table


@pytest.fixture
async def streamed(each_table: Table, streams: Streams) -> Table:
    """A new table with a counted stream, on each engine."""
    one_shard(each_table)
    await begin_counting(each_table, streams)
    return each_table


@pytest.fixture
async def begun(table: Table) -> Table:
    """A new table for a fake stream that begins at START."""
    await Checkpoints(table, "s").raise_watermark(START)
    return table
