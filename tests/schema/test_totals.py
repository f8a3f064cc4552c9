"""The totals of lists without counters: known if a page has all rows, at no further request."""

from typing import Any

import pytest

from dal.dynamodb.table import Table
from dal.model import OrderStatus, ProductDetails
from dal.stores import Stores
from resolvers.context import Viewer
from tests import organizations
from tests.calls import calls_of
from tests.organizations import MEMBER
from tests.putting import put_comments, put_orders
from tests.schema.conftest import STAFF, Run
from tests.strategies import comment, order

OF_MEMBER = Viewer(MEMBER)
LISTS = {
    "orders": ('user(username: "bob") { list: orders(%s) { %s } }', OF_MEMBER, 5),
    "shipped orders": (
        'user(username: "bob") { list: orders(status: SHIPPED, %s) { %s } }',
        OF_MEMBER,
        2,
    ),
    "open orders": ("list: openOrders(%s) { %s }", STAFF, 3),
    "an author's comments": ('user(username: "bob") { list: comments(%s) { %s } }', OF_MEMBER, 4),
    "tickets of a user": ('user(username: "bob") { list: tickets(%s) { %s } }', OF_MEMBER, 31),
    "open tickets": ("list: openTickets(%s) { %s }", STAFF, 10),
    "users": ('organization(organizationName: "ac") { list: users(%s) { %s } }', OF_MEMBER, 2),
    "organisations": ('user(username: "bob") { list: organizations(%s) { %s } }', OF_MEMBER, 2),
    "products": ('list: productSearch(title: "Ket", %s) { %s }', None, 3),
    "a leaderboard": ("list: leaderboard(%s) { %s }", None, 2),
}
"""Lists with their viewer and their length."""


@pytest.fixture(autouse=True)
async def stored(stores: Stores) -> None:
    await organizations.fill(stores)
    statuses = [OrderStatus.PLACED] * 3 + [OrderStatus.SHIPPED] * 2
    orders = [order(f"o{n}", username=MEMBER, status=one) for n, one in enumerate(statuses)]
    await put_orders(stores.table, orders)
    rows = [comment(f"c{n}", username=MEMBER, product_id=f"p{n % 2}") for n in range(4)]
    await put_comments(stores.comments, rows)
    await stores.boards.finish()
    titles = {f"p{n}": ProductDetails(f"Kettle {n}") for n in range(3)}
    await stores.products.put_many(titles)


@pytest.mark.parametrize("name", LISTS)
async def test_a_total_is_known_if_the_page_has_all_rows(run: Run, table: Table, name: str) -> None:
    text, viewer, length = LISTS[name]
    calls = calls_of(table)

    async def page(arguments: str, fields: str) -> Any:
        calls.clear()
        answer = await run("{ " + text % (arguments, fields) + " }", viewer)
        assert answer["errors"] == []
        (found,) = answer["data"].values()
        return found.get("list", found)

    await page("first: 1", "nodes { __typename }")
    for size in (0, 1, length - 1, length, length + 1):
        for direction in ("first", "last"):
            arguments = f"{direction}: {size}"
            await page(arguments, "pageInfo { hasNextPage hasPreviousPage }")
            without = len(calls)
            found = await page(arguments, "totalCount nodes { __typename }")
            assert len(calls) <= without
            assert found["totalCount"] == (length if size >= length else None)
            assert len(found["nodes"]) == min(size, length)
