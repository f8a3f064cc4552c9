from collections.abc import AsyncIterator

import httpx
import pytest

from dal.dynamodb.table import Table
from tests.conftest import Clients, fresh_table
from tests.server.applications import serving


@pytest.fixture(scope="module")
async def table(clients: Clients, dynoxide_url: str) -> Table:
    """One table for each module. Tests that write use different products."""
    return await fresh_table(clients, dynoxide_url)


@pytest.fixture(scope="module")
async def client(table: Table) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(table) as client:
        yield client
