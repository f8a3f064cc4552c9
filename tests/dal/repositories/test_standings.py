"""Standings: the read of AP19, concurrent changes, and the end of all restrictions."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from dal.dynamodb.table import Table
from dal.entities.standing import Standing, standing_in, standing_key
from dal.model import OrderStatus
from dal.model.standings import Block, Permission
from dal.stores import Stores
from dal.table.index import EXPIRES
from tests.calls import calls_of
from tests.fakes import Answer, FaultyClient, Operation, let_pass
from tests.putting import put_orders
from tests.strategies import order


def blocked(standing: Standing) -> Standing:
    block = Block(standing.username, "Spam", datetime.now(UTC), by="mo")
    return replace(standing, block=block)


def unblocked(standing: Standing) -> Standing:
    return replace(standing, block=None)


def erasing(standing: Standing) -> Standing:
    return replace(standing, erasing={})


async def test_all_permissions_of_a_user_are_read_by_one_request(each_table: Table) -> None:
    stores = Stores(each_table)
    assert await stores.standings.permission("a/b", "42") == Permission(False, False, False)
    await put_orders(stores.table, [order("7", username="a/b", status=OrderStatus.DELIVERED)])
    await stores.standings.rewrite("a/b", blocked)
    calls = calls_of(each_table)
    assert await stores.standings.permission("a/b", "42") == Permission(True, False, True)
    assert await stores.standings.permission("a/b", "4") == Permission(True, False, False)
    assert await stores.standings.permission("a/b") == Permission(True, False, False)
    assert calls.operations == {"BatchGetItem": 3}
    (keys,) = calls[0].arguments["RequestItems"].values()
    assert not keys["ConsistentRead"], "it costs what the look-up of a purchase cost"
    await stores.standings.rewrite("a/b", unblocked)
    assert await stores.standings.permission("a/b", "42") == Permission(False, False, True)


async def test_concurrent_changes_of_a_standing_are_all_stored(table: Table) -> None:
    standings = Stores(table).standings
    changes = (erasing, *[blocked] * 5)
    await asyncio.gather(*(standings.rewrite("ana", change) for change in changes))
    assert await standings.permission("ana") == Permission(True, True, False)


async def test_a_change_between_the_read_and_the_write_of_another_stays(table: Table) -> None:
    async def block_first(real: Operation, arguments: Answer) -> Answer:
        await Stores(table).standings.rewrite("ana", blocked)
        return await real(**arguments)

    slow = Stores(Table(FaultyClient(table.service, let_pass, block_first), table.name)).standings
    await slow.rewrite("ana", erasing)
    assert await slow.permission("ana") == Permission(True, True, False)


async def test_a_standing_without_restrictions_is_a_tombstone_and_no_data(table: Table) -> None:
    stores = Stores(table)
    await stores.standings.rewrite("ana", blocked)
    assert await stores.users.stored("ana")
    await stores.standings.rewrite("ana", unblocked)
    item = await table.get(standing_key("ana"))
    assert item is not None, "a delayed block must find a tombstone"
    assert standing_in(item) == Standing("ana")
    assert EXPIRES in item
    assert not await stores.users.stored("ana")
    await stores.standings.rewrite("ana", blocked)
    assert EXPIRES not in (await table.get(standing_key("ana")) or {})
    await stores.standings.rewrite("ana", unblocked)
    await put_orders(stores.table, [order("7", username="ana")])
    assert await stores.users.stored("ana")
