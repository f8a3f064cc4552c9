"""Fixtures of the stream's tests: tables that record their changes, on both engines."""

from collections.abc import AsyncIterator

import pytest

from dal.client.streams import Streams
from dal.client.table import Table, TableAddress, connect_streams
from dal.statistics.maintenance_mode import MaintenanceMode, MaintenanceStore
from dal.stream.checkpoints import Checkpoints
from tests.amazon import amazon_of
from tests.dal.stream.fakes import START
from tests.dal.stream.histories import begin_counting, one_shard


@pytest.fixture
async def table(table: Table) -> Table:
    """A fresh table on dynoxide whose stream is to be counted."""
    return await followed(table)


@pytest.fixture
async def each_table(each_table: Table) -> Table:
    """A fresh table on each engine whose stream is to be counted."""
    return await followed(each_table)


async def followed(table: Table) -> Table:
    store = MaintenanceStore(table)
    await store.announce(await store.read(), mode=MaintenanceMode.STREAM)
    return table


@pytest.fixture
async def streams(each_table: Table) -> AsyncIterator[Streams]:
    amazon = amazon_of(each_table)
    if amazon is not None:
        yield amazon.client_of_streams()
        return
    async with connect_streams(connection_of(each_table)) as opened:
        yield opened


@pytest.fixture
async def streamed(each_table: Table, streams: Streams) -> Table:
    """A fresh table whose stream is counted, on each engine in turn."""
    one_shard(each_table)
    await begin_counting(each_table, streams)
    return each_table


@pytest.fixture
async def begun(table: Table) -> Table:
    """A fresh table for a fake stream that begins at START."""
    await Checkpoints(table, "s").raise_watermark(START)
    return table


def connection_of(table: Table) -> TableAddress:
    return TableAddress(table.name, table._client.endpoint_url, embedded=True)
