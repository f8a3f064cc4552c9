"""The pages of a user's own orders, and of an organisation's tickets."""

from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from urllib.parse import quote

import httpx
import pytest
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from dal.model import (
    Money,
    Order,
    OrderLine,
    OrderStatus,
    Organization,
    OrganizationUser,
    ProductDetails,
    Roster,
    Ticket,
    TicketStatus,
    UserType,
)
from dal.stores import Stores
from features.loading import kind as loading
from tests.pages.conftest import START, Parsed, client_of, jwt_of, opened

PRICE = Money(Decimal("1250.50"), "EUR")
ORDERS = [
    Order(
        order_id=f"order {number:02}",
        username=user,
        status=list(OrderStatus)[number % 4],
        created_at=START + timedelta(days=number),
        lines=(OrderLine("mug", number + 1, PRICE),),
    )
    for user, numbers in (("olga", range(23)), ("pia", range(23, 25)))
    for number in numbers
]
SHOP = "Café <b> & 1/2"
TICKETS = [
    Ticket(
        ticket_id=f"t/{number:02}",
        organization=SHOP,
        username=user,
        subject=f"Question {number}",
        text=f"<i>Text</i> {number}",
        created_at=START + timedelta(days=number),
        status=TicketStatus.CLOSED if number % 5 == 0 else TicketStatus.OPEN,
    )
    for user, numbers in (("olga", range(22)), ("pia", range(22, 25)))
    for number in numbers
]
ROSTERS = [
    Roster(
        Organization(SHOP, "Pro"),
        [
            OrganizationUser(SHOP, "olga", UserType.ADMIN),
            OrganizationUser(SHOP, "pia", UserType.MEMBER),
        ],
    ),
    Roster(Organization("Other", "Pro"), [OrganizationUser("Other", "sam", UserType.ADMIN)]),
]


@pytest.fixture(scope="module", autouse=True)
async def bought(table: Table) -> None:
    stores = Stores(table)
    await loading.ORDERS.put(stores)(ORDERS)
    await loading.ORGANIZATIONS.put(stores)(ROSTERS)
    await loading.TICKETS.put(stores)(TICKETS)
    await loading.PRODUCTS.put(stores)([("mug", ProductDetails(title="Mug"))])


def signed_in(app: ASGIApp, user: str) -> httpx.AsyncClient:
    return client_of(app, jwt_of(user))


@pytest.fixture
async def olga(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    async with signed_in(app, "olga") as client:
        yield client


def listed(page: Parsed, kind: str) -> list[str | None]:
    return [given[f"data-{kind}"] for _, given in page.elements if f"data-{kind}" in given]


def link(page: Parsed, rel: str) -> str:
    return str(next(given["href"] for _, given in page.anchors if given.get("rel") == rel))


async def test_orders_are_paged_and_filtered(olga: httpx.AsyncClient) -> None:
    first = await opened(olga, "/orders")
    newest = [one.order_id for one in reversed(ORDERS[:23])]
    assert listed(first, "order") == newest[:20]
    assert "€1,250.50" in first.text
    assert "/products/mug" in [given.get("href") for _, given in first.anchors]
    older = await opened(olga, link(first, "next"))
    assert listed(older, "order") == newest[20:]
    assert listed(await opened(olga, link(older, "prev")), "order") == newest[:20]
    chosen = "status=SHIPPED&status=DELIVERED&from=2024-01-03&to=2024-01-08&order=oldest"
    some = await opened(olga, f"/orders?{chosen}")
    assert listed(some, "order") == ["order 02", "order 05", "order 06"]
    german = await opened(olga, "/orders?lang=de")
    assert "1.250,50 €" in german.text


async def test_orders_and_tickets_are_only_for_the_user(app: ASGIApp) -> None:
    async with client_of(app) as visitor:
        for path in ("/orders?status=PLACED", "/tickets", "/tickets/t%2F00"):
            answer = await visitor.get(path)
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/sign-in?next=%2F")
    async with signed_in(app, "pia") as pia:
        page = await opened(pia, "/orders")
        assert listed(page, "order") == ["order 24", "order 23"]
        assert "/tickets" in [given.get("href") for _, given in page.anchors]
        for address in ("/tickets", "/tickets?user=olga"):
            assert listed(await opened(pia, address), "ticket") == ["t/24", "t/23", "t/22"]
        assert (await pia.get("/tickets/t%2F00")).status_code == 404
        assert (await pia.get("/tickets/t%2F24")).status_code == 200
        assert (await pia.get("/tickets?organization=Other")).status_code == 404
    async with signed_in(app, "sam") as sam:
        page = await opened(sam, "/orders")
        assert listed(page, "order") == []
        assert listed(await opened(sam, "/tickets"), "ticket") == []
        for address in ("/tickets/t%2F00", f"/tickets?organization={quote(SHOP)}"):
            assert (await sam.get(address)).status_code == 404
    async with signed_in(app, "nobody") as nobody:
        page = await opened(nobody, "/tickets")
        assert listed(page, "ticket") == []
        assert "/tickets" not in [
            given.get("href") for _, given in (await opened(nobody, "/orders")).anchors
        ]


async def test_an_admin_sees_the_tickets_of_all_users_and_of_one(olga: httpx.AsyncClient) -> None:
    every = await opened(olga, "/tickets")
    newest = [one.ticket_id for one in reversed(TICKETS)]
    assert listed(every, "ticket") == newest[:20]
    assert listed(await opened(olga, link(every, "next")), "ticket") == newest[20:]
    options = [given["value"] for tag, given in every.elements if tag == "option"]
    assert options == ["", "olga", "pia"]
    closed = await opened(olga, "/tickets?user=olga&status=CLOSED&order=oldest&to=2024-01-11")
    assert listed(closed, "ticket") == ["t/00", "t/05", "t/10"]
    assert listed(await opened(olga, "/tickets?user=stranger"), "ticket") == []
    ticket = await opened(olga, "/tickets/t%2F24")
    assert "<i>Text</i> 24" in ticket.text
    back = str(next(given["href"] for _, given in ticket.anchors if "?org" in str(given["href"])))
    assert listed(await opened(olga, back), "ticket") == newest[:20]


@pytest.mark.parametrize("query", ["status=OPEN", "order=highest", "from=x", "after=x"])
async def test_an_invalid_filter_of_orders_is_explained(
    olga: httpx.AsyncClient, query: str
) -> None:
    answer = await olga.get(f"/orders?{query}")
    assert (answer.status_code, "<h1" in answer.text) == (400, True)
