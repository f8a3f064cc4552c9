"""Pages of a user's orders, compared with a sorted list, while statuses change between pages."""

import random
import uuid
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.table import Table
from dal.entities.order import order_position
from dal.model import Order, OrderStatus
from dal.query.pagination import Slice
from dal.repositories.orders import NEXT, OrderRepository, OrderSelection
from dal.stores import Stores
from tests.engines import SECOND_IN_SOAK
from tests.oracle import next_cut, page_of, walk_pages
from tests.putting import put_orders
from tests.strategies import FEW, TIES, order

HOUR = timedelta(hours=1)
DAYS = [datetime(2023, 1, day, tzinfo=UTC) for day in range(1, 5)]
SUBSETS = [frozenset(some) for size in range(5) for some in combinations(OrderStatus, size)]

drawn_orders = st.lists(
    st.builds(
        order,
        st.sampled_from(["0", "1", "2", "a/b", "a#", "é", "\ue000", "😀"]),
        status=st.sampled_from(OrderStatus),
        created_at=st.sampled_from(TIES),
    ),
    unique_by=lambda one: one.order_id,
    max_size=8,
)
bounds = st.none() | st.sampled_from(TIES)
steps = st.lists(st.integers(0, 99), max_size=12)


def listed(orders: Iterable[Order], selection: OrderSelection) -> list[str]:
    """Return the expected positions of the selected orders, newest first."""
    since, before = selection.created_from, selection.created_before
    return sorted(
        (
            order_position(one)
            for one in orders
            if one.username == selection.username
            and (selection.statuses is None or one.status in selection.statuses)
            and (since is None or one.created_at >= since)
            and (before is None or one.created_at < before)
        ),
        reverse=True,
    )


class Shop:
    """The orders of one user, in the store and in memory, while their statuses change."""

    def __init__(self, store: OrderRepository, orders: Iterable[Order]) -> None:
        self.store = store
        self.orders = {one.order_id: one for one in orders}

    async def step(self, number: int) -> None:
        """Change an order to one of its next statuses, if an order has one."""
        moving = [one for one in self.orders.values() if NEXT[one.status]]
        if moving:
            old = moving[number % len(moving)]
            following = sorted(NEXT[old.status])
            status = following[number % len(following)]
            await self.store.set_status(old.order_id, status, owner=old.username)
            self.orders[old.order_id] = replace(old, status=status)

    async def check_page(self, selection: OrderSelection, cut: Slice) -> tuple[list[str], bool]:
        """Compare a page with the orders in memory. Return the page, and whether rows follow."""
        page = await self.store.page(selection, cut)
        positions = [edge.position for edge in page.edges]
        wanted = page_of(listed(self.orders.values(), selection), cut)
        info = page.page_info
        assert (positions, info.has_next_page, info.has_previous_page) == wanted
        for edge in page.edges:
            assert edge.node == self.orders[edge.node.order_id]
        return positions, wanted[2] if cut.backward else wanted[1]


@FEW
@given(
    drawn_orders,
    st.none() | st.sampled_from(SUBSETS),
    bounds,
    bounds,
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    steps,
)
async def test_each_page_is_exact_while_statuses_change(  # noqa: PLR0917 - drawn in this order
    table: Table,
    orders: list[Order],
    statuses: frozenset[OrderStatus] | None,
    since: datetime | None,
    before: datetime | None,
    size: int,
    backward: bool,
    reverse: bool,
    changes: list[int],
) -> None:
    username = uuid.uuid4().hex
    # The index by id contains the orders of all users, so ids must be unique.
    mine = [replace(one, username=username, order_id=one.order_id + username) for one in orders]
    shop = Shop(Stores(table).orders, mine)
    await put_orders(table, mine)
    selection = OrderSelection(username, statuses, since, before)
    seen: list[str] = []
    end: str | None = None
    more = True
    while more:
        cut = next_cut(size, end, backward=backward, reverse=reverse)
        positions, more = await shop.check_page(selection, cut)
        seen += positions
        more = more and bool(positions)
        if positions:
            end = positions[0 if backward else -1]
        if changes:
            await shop.step(changes.pop())
    assert len(seen) == len(set(seen))


@SECOND_IN_SOAK
@pytest.mark.parametrize("backward", [False, True])
async def test_open_orders_between_dates_are_read_in_both_orders(
    each_table: Table, backward: bool
) -> None:
    """Four days with ten orders each, so that every shard has orders of the same time."""
    store = Stores(each_table).orders
    orders = [order(str(n), username=f"u{n}", created_at=DAYS[n % 4]) for n in range(40)]
    await put_orders(each_table, [*orders, order("gone", status=OrderStatus.SHIPPED)])
    for since, before, reverse in product((None, DAYS[1]), (None, DAYS[2]), (False, True)):
        read = partial(store.open_page, created_from=since, created_before=before)
        rows = await walk_pages(read, 7, backward=backward, reverse=reverse)
        wanted = [
            one
            for one in sorted(orders, key=order_position, reverse=not reverse)
            if (since is None or one.created_at >= since)
            and (before is None or one.created_at < before)
        ]
        assert rows == wanted


@SECOND_IN_SOAK
@pytest.mark.parametrize("backward", [False, True])
async def test_walks_over_every_subset_of_statuses_equal_the_oracles(
    each_table: Table, backward: bool
) -> None:
    chance = random.Random(5)
    first = datetime(2023, 1, 1, tzinfo=UTC)
    orders = [
        order(str(n), created_at=first + n // 3 * HOUR, status=chance.choice(list(OrderStatus)))
        for n in range(40)
    ]
    shop = Shop(Stores(each_table).orders, orders)
    await put_orders(each_table, [*orders, order("x", username="bob"), order("y", username="ana/")])
    for statuses in (None, *SUBSETS):
        selection = OrderSelection("ana", statuses, first + HOUR, first + 11 * HOUR)
        end, more = None, True
        while more:
            cut = next_cut(4, end, backward=backward)
            positions, more = await shop.check_page(selection, cut)
            end = positions[0 if backward else -1] if positions else None


@pytest.mark.parametrize(
    ("statuses", "pattern", "index", "queries"),
    [
        (None, "A2", "byDate", 1),
        (set(OrderStatus), "A2", "byDate", 1),
        ({OrderStatus.SHIPPED}, "A4", "byStatusDate", 1),
        ({OrderStatus.SHIPPED, OrderStatus.PLACED}, "A4", "byStatusDate", 2),
        (set(OrderStatus) - {OrderStatus.PLACED}, "A4", "byStatusDate", 3),
        (set(), "A4", "byStatusDate", 0),
    ],
)
async def test_each_combination_of_statuses_has_its_index_and_queries(
    each_table: Table, statuses: set[OrderStatus] | None, pattern: str, index: str, queries: int
) -> None:
    store = Stores(each_table).orders
    await put_orders(each_table, [order(str(n), status=one) for n, one in enumerate(OrderStatus)])
    selection = OrderSelection("ana", None if statuses is None else frozenset(statuses))
    page = await store.page(selection, Slice(20, next_page=True))
    assert (page.stats.access_pattern, page.stats.index) == (pattern, index)
    assert page.stats.requests == queries
    assert len(page.edges) == len(OrderStatus if statuses is None else statuses)
