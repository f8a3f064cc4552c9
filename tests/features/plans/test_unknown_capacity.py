"""Plans of an endpoint that reports no consumed capacity."""

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.services import services_of
from server.settings import Settings
from tests.dal.test_alternator import ROWS, address, each_table, endpoint
from tests.features.plans.conftest import runner
from tests.pages.conftest import SECRET, client_of
from tests.putting import put_comments

__all__ = ["address", "each_table", "endpoint"]

PLAN = """{ product(productId: "42") { comments(rating: [1, 2], first: 5) { plan {
  requests consumedCapacity planningCapacity fullPages { capacity } ideal { capacity } } } } }"""


@pytest.fixture
async def stores(each_table: Table) -> Stores:
    stores = Stores(each_table)
    await put_comments(stores.comments, ROWS)
    return stores


async def test_unknown_capacity_is_null(stores: Stores) -> None:
    answer = await runner(stores)(PLAN)
    assert not answer["errors"]
    plan = answer["data"]["product"]["comments"]["plan"]
    assert (plan["consumedCapacity"], plan["planningCapacity"]) == (None, None)
    assert plan["requests"] > 0
    assert plan["fullPages"]["capacity"] > 0, "an estimate"


@pytest.mark.usefixtures("stores")
async def test_unknown_capacity_is_unknown_on_a_page(each_table: Table) -> None:
    settings = Settings(explain=True)
    services = services_of(settings, each_table, Authenticator(secret=lambda: SECRET))
    async with client_of(create_app(settings, services)) as client:
        assert "unknown RCU" in (await client.get("/products/42")).text
