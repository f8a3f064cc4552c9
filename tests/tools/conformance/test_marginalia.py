"""Every check, on every list of Marginalia, with a real engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest

from dal.model import OrderStatus, Organization, OrganizationUser, Roster
from dal.stores import Stores
from server.auth.authenticator import make_token
from server.settings import NO_RATE_LIMIT
from tests import organizations
from tests.conftest import Clients, fresh_table
from tests.oracle import make_comments
from tests.organizations import ACME, MEMBER
from tests.putting import put_comments, put_orders, put_rosters
from tests.server.applications import app_of
from tests.server.serving import SECRET
from tests.strategies import TIES, order
from tools.conformance.check import Check
from tools.conformance.checks import CHECKS
from tools.conformance.endpoint import Endpoint
from tools.conformance.plugin import conforms
from tools.conformance.run import outcome_of, text_of
from tools.conformance.session import Session, open_session

PRODUCT = "demo-lamp"
PAGE_SIZE = 7


INSERT = f"""
mutation ($text: String!) {{
  addComment(input: {{productId: "{PRODUCT}", rating: 5, language: "en", text: $text}}) {{
    comment {{ id }} userErrors {{ message }}
  }}
}}"""
DELETE = "mutation ($id: ID!) { deleteComment(input: {id: $id}) { userErrors { message } } }"

COMMENTS = f'product(productId: "{PRODUCT}").comments'
LISTS = {
    "filtered": f'product(productId: "{PRODUCT}").comments(rating: [1, 5], language: ["en", "de"])',
    "orders": 'user(username: "ann").orders',
    "orders-by-status": 'user(username: "ann").orders(status: [PLACED, SHIPPED])',
    "open-orders": "openOrders",
    "users": f'organization(organizationName: "{ACME.name}").users',
    "tickets": f'organization(organizationName: "{ACME.name}").user(username: "{MEMBER}").tickets',
    "tickets-of-all": f'organization(organizationName: "{ACME.name}").tickets',
    "tickets-everywhere": f'user(username: "{MEMBER}").tickets(status: CLOSED)',
    "open-tickets": "openTickets",
    "organizations": f'user(username: "{MEMBER}").organizations',
    "leaderboard": "leaderboard",
}


@pytest.fixture(scope="module")
async def transport(clients: Clients, dynoxide_url: str) -> httpx.AsyncBaseTransport:
    table = await fresh_table(clients, dynoxide_url)
    await _fill(Stores(table))
    return httpx.ASGITransport(app_of(table, rate_limit=NO_RATE_LIMIT))


async def _fill(stores: Stores) -> None:
    await put_comments(stores.comments, make_comments(PRODUCT, 30, seed=1))
    for number in range(5):
        await put_comments(
            stores.comments, make_comments(f"product-{number}", 2 + number, seed=number)
        )
    await put_orders(
        stores.table,
        [
            order(f"{status[0]}{number}", username="ann", status=status, created_at=day)
            for status in OrderStatus
            for number, day in enumerate(TIES)
        ],
    )
    await organizations.fill(stores)
    third = OrganizationUser("third", MEMBER)
    await put_rosters(stores.table, [Roster(Organization("third", "Pro"), [third])])
    await stores.boards.finish()


@asynccontextmanager
async def session_of(
    transport: httpx.AsyncBaseTransport, connection: str, **writes: Any
) -> AsyncIterator[Session]:
    roles = ["staff", "moderator"]
    jwt = make_token(SECRET, user="sam", roles=roles, lifetime=timedelta(hours=1))
    headers = {"Authorization": f"Bearer {jwt}"}
    async with (
        Endpoint("http://localhost/graphql", headers, transport=transport) as endpoint,
        open_session(endpoint, connection, **writes, page_size=PAGE_SIZE) as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
async def comments(transport: httpx.AsyncBaseTransport) -> AsyncIterator[Session]:
    async with session_of(transport, COMMENTS, insert=INSERT, delete=DELETE) as session:
        yield session


async def test_comments_conform(comments: Session, relay_check: Check) -> None:
    await conforms(comments, relay_check)


@pytest.mark.parametrize("name", LISTS)
async def test_every_other_list_conforms(transport: httpx.AsyncBaseTransport, name: str) -> None:
    async with session_of(transport, LISTS[name]) as session:
        found = [await outcome_of(session, check) for check in CHECKS]
    failed = [outcome.check.name for outcome in found if outcome.findings]
    assert not failed, "\n".join(map(text_of, found))
