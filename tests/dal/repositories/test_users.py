import asyncio

from dal.dynamodb.table import Table
from dal.model import OrderStatus, Profile
from dal.stores import Stores
from tests.putting import put_orders
from tests.strategies import order


async def test_a_profile_is_created_and_changed_field_by_field(each_table: Table) -> None:
    users = Stores(each_table).users
    assert await users.profile("a/b") is None
    await users.update_profile("a/b", {"full_name": "Ana"})
    changed = await users.update_profile("a/b", {"email": "ana@b.org"})
    assert changed == Profile(full_name="Ana", email="ana@b.org")
    assert await users.profile("a/b") == changed
    assert await users.update_profile("a/b", {}) == changed
    assert await users.profile("a") is None


async def test_concurrent_changes_are_all_stored(table: Table) -> None:
    users = Stores(table).users
    fields = {"full_name": "Ana", "email": "ana@b.org"}
    for number in range(10):
        name = f"user{number}"
        changes = ({one: value} for one, value in fields.items())
        await asyncio.gather(*(users.update_profile(name, change) for change in changes))
        assert await users.profile(name) == Profile(**fields)


async def test_a_purchase_stays_when_its_order_changes(table: Table) -> None:
    standings = Stores(table).standings
    await put_orders(table, [order("7", status=OrderStatus.DELIVERED)])
    assert (await standings.permission("ana", "42")).bought
    await put_orders(table, [order("7", status=OrderStatus.CANCELLED)])
    assert (await standings.permission("ana", "42")).bought
    assert not (await standings.permission("ana", "4")).bought
