import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import Table, TableAddress, connect
from dal.entities.order import ORDER, order_key, order_position
from dal.errors import IdempotencyKeyReusedError, NotFoundError
from dal.model import Money, OrderLine, OrderStatus
from dal.query.pagination import Slice
from dal.repositories.orders import NEXT, OrderRepository
from dal.stores import Stores
from dal.table.errors import InvalidArgumentError
from tests.calls import calls_of
from tests.engines import SECOND_IN_SOAK
from tests.fakes import Answer, FaultyClient, Operation
from tests.putting import put_orders
from tests.strategies import TIES, order

PLACED, SHIPPED, DELIVERED, CANCELLED = OrderStatus
LEGAL = {(old, new) for old, following in NEXT.items() for new in following}


async def test_an_order_is_placed_and_found_by_its_id(each_table: Table) -> None:
    store = Stores(each_table).orders
    one = order("7/8", username="a#b")
    edge = await store.place(one)
    assert (edge.node, edge.position) == (one, order_position(one))
    assert await store.get("7/8") == one
    assert await store.get("7") is None


async def test_placing_an_order_twice_stores_it_once(table: Table) -> None:
    store = Stores(table).orders
    first = order("7")
    await store.place(first)
    await store.set_status("7", SHIPPED, owner="ana")
    later = replace(first, created_at=TIES[2])
    assert (await store.place(later)).node == replace(first, status=SHIPPED)
    other = replace(later, lines=(OrderLine("43", 1, Money(Decimal(1), "EUR")),))
    with pytest.raises(IdempotencyKeyReusedError):
        await store.place(other)


@pytest.mark.parametrize("old", OrderStatus)
@pytest.mark.parametrize("new", OrderStatus)
async def test_only_legal_changes_of_status_are_accepted(
    table: Table, old: OrderStatus, new: OrderStatus
) -> None:
    store = Stores(table).orders
    await put_orders(table, [order("7", status=old)])
    if (old, new) in LEGAL:
        stepped = await store.set_status("7", new, owner=None)
        assert stepped.node == order("7", status=new)
    else:
        with pytest.raises(InvalidArgumentError, match=f"cannot become {new}: the order is {old}"):
            await store.set_status("7", new, owner="ana")
    stands = order("7", status=new if (old, new) in LEGAL else old)
    assert await table.get(order_key("ana", "7")) == ORDER.encode(stands)


def test_the_legal_changes_of_status_are_these() -> None:
    assert {(PLACED, SHIPPED), (PLACED, CANCELLED), (SHIPPED, DELIVERED)} == LEGAL


async def test_the_status_of_a_missing_order_cannot_change(table: Table) -> None:
    with pytest.raises(NotFoundError):
        await Stores(table).orders.set_status("7", SHIPPED, owner="ana")


async def test_an_order_is_found_for_its_owner_or_for_any_user(table: Table) -> None:
    store, calls = Stores(table).orders, calls_of(table)
    await store.place(order("7"))
    # A user who does not own the order gets the same error as for a missing order.
    for order_id in ("7", "8"):
        calls.clear()
        with pytest.raises(NotFoundError, match="Order not found"):
            await store.set_status(order_id, SHIPPED, owner="bob")
        assert calls.operations == {"GetItem": 1}
    assert await store.get("7") == order("7")


@pytest.mark.parametrize("races", [30, pytest.param(200, marks=pytest.mark.soak)])
async def test_of_two_concurrent_changes_one_succeeds(each_table: Table, races: int) -> None:
    first = Stores(each_table).orders
    url = each_table.service.endpoint_url
    async with connect(TableAddress(each_table.name, url, embedded=True)) as other:
        second = Stores(other).orders
        won = set()
        for number in range(races):
            await put_orders(each_table, [order("7")])
            done = await _race([first, second] if number % 2 else [second, first])
            item = await each_table.get(order_key("ana", "7"))
            assert item == ORDER.encode(order("7", status=done))
            won.add(done)
    assert won == {SHIPPED, CANCELLED}


async def _race(clients: list[OrderRepository]) -> OrderStatus:
    """Ship and cancel an order concurrently. Return the status that was stored."""
    results = await asyncio.gather(
        *(
            client.set_status("7", status, owner="ana")
            for client, status in zip(clients, (SHIPPED, CANCELLED), strict=True)
        ),
        return_exceptions=True,
    )
    (done,) = [one.node.status for one in results if not isinstance(one, BaseException)]
    (refused,) = [one for one in results if isinstance(one, BaseException)]
    assert isinstance(refused, ConflictError | InvalidArgumentError)
    return done


async def test_a_change_of_status_of_an_order_that_a_load_replaced_is_a_conflict(
    table: Table,
) -> None:
    """The loaded order has the same status. Without a conflict, its lines would be overwritten."""
    loaded = order("7", lines=(OrderLine("43", 1, Money(Decimal(1), "EUR")),))

    async def load_after(real: Operation, arguments: Answer) -> Answer:
        answer = await real(**arguments)
        await put_orders(table, [loaded])
        return answer

    await Stores(table).orders.place(order("7"))
    store = Stores(Table(FaultyClient(table.service, load_after), table.name)).orders
    with pytest.raises(ConflictError):
        await store.set_status("7", SHIPPED, owner="ana")
    assert await table.get(order_key("ana", "7")) == ORDER.encode(loaded)


async def test_a_delivered_order_proves_the_purchases_of_its_user(each_table: Table) -> None:
    store, standings = Stores(each_table).orders, Stores(each_table).standings
    price = Money(Decimal(1), "EUR")
    lines = tuple(OrderLine(f"p{number}", 1, price) for number in range(90))
    await store.place(order("7", lines=lines))
    await store.set_status("7", SHIPPED, owner="ana")
    assert not (await standings.permission("ana", "p0")).bought
    await store.set_status("7", DELIVERED, owner="ana")
    assert (await standings.permission("ana", "p0")).bought
    assert (await standings.permission("ana", "p89")).bought
    assert not (await standings.permission("ana", "p90")).bought
    assert not (await standings.permission("bob", "p0")).bought


@SECOND_IN_SOAK
async def test_pages_of_open_orders_are_exact_while_orders_are_shipped(each_table: Table) -> None:
    store = Stores(each_table).orders
    chance = random.Random(11)
    start = datetime(2023, 1, 1, tzinfo=UTC)
    # About a third of the orders have the same time as another order.
    orders = [
        order(f"{chance.randrange(10**9):x}-{n}", username=f"u{n % 9}", created_at=start + when)
        for n, when in enumerate(timedelta(minutes=chance.randrange(800)) for _ in range(400))
    ]
    await put_orders(each_table, orders)
    left = {order_position(one): one for one in orders}
    seen: list[str] = []
    after: str | None = None
    while True:
        page = await store.open_page(Slice(40, after=after, next_page=True, previous_page=True))
        ahead = sorted((p for p in left if after is None or p < after), reverse=True)
        assert [edge.position for edge in page.edges] == ahead[:40]
        assert page.page_info.has_next_page is (len(ahead) > 40)
        assert page.stats.requests == len(page.stats.segments) == 8
        seen += [edge.position for edge in page.edges]
        if not page.page_info.has_next_page:
            break
        after = page.edges[-1].position
        for position in chance.sample(sorted(left), 5):
            shipped = left.pop(position)
            await store.set_status(shipped.order_id, SHIPPED, owner=shipped.username)
    assert len(seen) == len(set(seen))
    assert set(left) <= set(seen)
