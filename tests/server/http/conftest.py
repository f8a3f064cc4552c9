from collections.abc import AsyncIterator

import httpx
import pytest

from dal.client.table import Table
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.settings import Settings
from tests.conftest import Clients, fresh_table
from tests.server.serving import SECRET


@pytest.fixture(scope="module")
async def table(clients: Clients, dynoxide_url: str) -> Table:
    """One table for a module: each test that writes takes a product of its own."""
    return await fresh_table(clients, dynoxide_url)


@pytest.fixture(scope="module")
async def client(table: Table) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(), table=table, authenticator=Authenticator(secret=lambda: SECRET))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://localhost", headers={"Accept": "*/*"}
    ) as client:
        yield client
