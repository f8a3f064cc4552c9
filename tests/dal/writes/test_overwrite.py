"""Objects of several items are written over the stored items."""

from dal.dynamodb.table import Table
from dal.entities.order import ORDER, purchase_key
from dal.model import OrderStatus
from dal.writes.overwrite import Outcome, overwrite
from tests.putting import put_orders
from tests.strategies import order


async def test_missing_items_of_an_object_are_written(table: Table) -> None:
    """For example, an order is stored, but its proofs of purchase are not."""
    delivered = order("7", status=OrderStatus.DELIVERED)
    await table.put_many([ORDER.encode(delivered)])
    assert await put_orders(table, [delivered, order("8")]) == Outcome(1, 1)
    assert await table.get(purchase_key("ana", "42")) is not None


async def test_outcomes_of_several_batches_are_counted(table: Table) -> None:
    orders = [order(f"{number}") for number in range(900)]
    assert await put_orders(table, orders[:450]) == Outcome(new=450)
    changed = order("0", status=OrderStatus.SHIPPED)
    assert await put_orders(table, [*orders[1:], changed]) == Outcome(450, 1, 449)
    assert await overwrite(table, [[ORDER.encode(orders[0])]] * 2) == Outcome(changed=1)
