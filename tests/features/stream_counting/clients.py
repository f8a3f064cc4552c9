"""Clients of the streams of a table's engine."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from dal.dynamodb.retries import retry
from dal.dynamodb.table import Table, TableAddress
from features.stream_counting.streams import Streams, connect_streams
from tests.amazon import Amazon, amazon_of


@pytest.fixture
async def streams(each_table: Table) -> AsyncIterator[Streams]:
    amazon = amazon_of(each_table)
    if amazon is not None:
        yield client_of(amazon)
        return
    async with connect_streams(connection_of(each_table)) as opened:
        yield opened


def client_of(amazon: Amazon) -> Streams:
    """Return a client of the fake's streams, like ``connect_streams``."""

    async def call(operation: str, **arguments: Any) -> dict[str, Any]:
        return await retry(partial(amazon.call_streams, operation, arguments), operation)

    return Streams(call)


def connection_of(table: Table) -> TableAddress:
    return TableAddress(table.name, table.service.endpoint_url, embedded=True)
