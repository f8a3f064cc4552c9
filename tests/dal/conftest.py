"""A client of the streams of a table's engine."""

from collections.abc import AsyncIterator

import pytest

from dal.dynamodb.table import Table, TableAddress, connect_streams
from features.stream_counting.streams import Streams
from tests.amazon import amazon_of


@pytest.fixture
async def streams(each_table: Table) -> AsyncIterator[Streams]:
    amazon = amazon_of(each_table)
    if amazon is not None:
        yield amazon.client_of_streams()
        return
    async with connect_streams(connection_of(each_table)) as opened:
        yield opened


def connection_of(table: Table) -> TableAddress:
    return TableAddress(table.name, table.service.endpoint_url, embedded=True)
