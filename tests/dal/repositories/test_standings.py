"""Standings: blocks of users, the list of blocked users, and the read of AP19."""

import asyncio
from dataclasses import replace

from dal.dynamodb.table import Table
from dal.entities.standing import Standing, standing_in, standing_key
from dal.model import OrderStatus
from dal.model.standings import Permission
from dal.query.pagination import Slice
from dal.stores import Stores
from dal.table.index import EXPIRES
from tests import oracle
from tests.calls import calls_of
from tests.fakes import Answer, FaultyClient, Operation, let_pass
from tests.strategies import order

NAMES = ["ana", "a/b", "a#b", "ü", *(f"user{number}" for number in range(9))]


async def test_all_permissions_of_a_user_are_read_by_one_request(each_table: Table) -> None:
    stores = Stores(each_table)
    assert await stores.standings.permission("a/b", "42") == Permission(False, False, False)
    await stores.orders.put_many([order("7", username="a/b", status=OrderStatus.DELIVERED)])
    await stores.standings.block("a/b", "Spam", by="mo")
    calls = calls_of(each_table)
    assert await stores.standings.permission("a/b", "42") == Permission(True, False, True)
    assert await stores.standings.permission("a/b", "4") == Permission(True, False, False)
    assert await stores.standings.permission("a/b") == Permission(True, False, False)
    assert calls.operations == {"BatchGetItem": 3}
    (keys,) = calls[0].arguments["RequestItems"].values()
    assert not keys["ConsistentRead"], "it costs what the look-up of a purchase cost"
    await stores.standings.unblock("a/b")
    assert await stores.standings.permission("a/b", "42") == Permission(False, False, True)


async def test_the_list_of_blocked_users_equals_the_oracles(each_table: Table) -> None:
    standings = Stores(each_table).standings
    made = [await standings.block(name, f"why {name}", by=None) for name in NAMES]
    for backward in (False, True):
        assert await oracle.walk_pages(standings.blocked, 4, backward=backward) == made[::-1]
    for name in NAMES[::2]:
        await standings.unblock(name)
    assert (await standings.blocked(Slice(99))).nodes == made[::-1][1::2]
    left = await each_table.get(standing_key(NAMES[0]))
    assert left is not None, "a delayed block must find a tombstone"
    assert standing_in(left) == Standing(NAMES[0])
    assert EXPIRES in left
    await standings.block(NAMES[0], "Spam", by=None)
    assert EXPIRES not in (await each_table.get(standing_key(NAMES[0])) or {})


async def test_a_repeated_block_replaces_the_reason_and_nothing_else(table: Table) -> None:
    standings = Stores(table).standings
    first = await standings.block("ana", "Spam", by="mo")
    assert await standings.block("ana", "Spam", by="max") == first
    second = await standings.block("ana", "Insults", by="max")
    assert (second.reason, second.by) == ("Insults", "max")
    assert (await standings.blocked(Slice(9))).nodes == [second]
    await standings.rewrite("ana", lambda one: replace(one, erasing={"name": "x"}))
    await standings.unblock("ana")
    await standings.unblock("ana")
    item = await table.get(standing_key("ana"))
    assert item is not None
    assert standing_in(item) == Standing("ana", erasing={"name": "x"})
    assert await standings.permission("ana") == Permission(False, True, False)


async def test_concurrent_blocks_and_an_erase_are_all_stored(table: Table) -> None:
    standings = Stores(table).standings
    await asyncio.gather(
        standings.rewrite("ana", lambda one: replace(one, erasing={})),
        *(standings.block("ana", f"why {number}", by="mo") for number in range(5)),
    )
    assert await standings.permission("ana") == Permission(True, True, False)


async def test_a_block_between_the_read_and_the_write_of_an_erasure_stays(table: Table) -> None:
    async def blocked(real: Operation, arguments: Answer) -> Answer:
        await Stores(table).standings.block("ana", "Spam", by="mo")
        return await real(**arguments)

    slow = Stores(Table(FaultyClient(table.service, let_pass, blocked), table.name)).standings
    await slow.rewrite("ana", lambda one: replace(one, erasing={}))
    assert await slow.permission("ana") == Permission(True, True, False)


async def test_a_block_after_an_unblocking_is_by_its_own_moderator(table: Table) -> None:
    standings = Stores(table).standings
    first = await standings.block("ana", "Spam", by="mo")

    async def unblocked(real: Operation, arguments: Answer) -> Answer:
        await standings.unblock("ana")
        return await real(**arguments)

    slow = Stores(Table(FaultyClient(table.service, let_pass, unblocked), table.name)).standings
    second = await slow.block("ana", "Spam", by="max")
    assert second.by == "max"
    assert second.at > first.at
    assert (await standings.blocked(Slice(9))).nodes == [second]


async def test_an_ended_block_is_no_data_about_a_user(table: Table) -> None:
    stores = Stores(table)
    await stores.standings.block("ana", "Spam", by=None)
    assert await stores.users.stored("ana")
    await stores.standings.unblock("ana")
    assert not await stores.users.stored("ana")
    await stores.orders.put_many([order("7", username="ana")])
    assert await stores.users.stored("ana")
