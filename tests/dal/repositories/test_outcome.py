from dal.client.table import Table
from dal.entities.order import ORDER, purchase_key
from dal.model import OrderStatus
from dal.repositories.orders import OrderRepository
from dal.repositories.outcome import CHANGED, Outcome, overwrite
from tests.strategies import order


async def test_what_is_beside_a_thing_is_written_too_where_it_is_missing(table: Table) -> None:
    """As after an order whose purchases were not written any more."""
    delivered = order("7", status=OrderStatus.DELIVERED)
    await table.put_many([ORDER.encode(delivered)])
    assert await OrderRepository(table).put_many([delivered, order("8")]) == Outcome(1, 1)
    assert await table.get(purchase_key("ana", "42")) is not None


async def test_more_things_than_one_batch_are_told_apart(table: Table) -> None:
    orders = [order(f"{number}") for number in range(900)]
    store = OrderRepository(table)
    assert await store.put_many(orders[:450]) == Outcome(new=450)
    changed = order("0", status=OrderStatus.SHIPPED)
    assert await store.put_many([*orders[1:], changed]) == Outcome(450, 1, 449)
    assert await overwrite(table, [[ORDER.encode(orders[0])]] * 2) == CHANGED
