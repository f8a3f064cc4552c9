"""Blocks of users, and the list of blocked users."""

from dataclasses import replace

from dal.dynamodb.table import Table
from dal.entities.standing import Standing, standing_in, standing_key
from dal.model.standings import Permission
from dal.query.pagination import Slice
from dal.stores import Stores
from tests import oracle
from tests.fakes import Answer, FaultyClient, Operation, let_pass

NAMES = ["ana", "a/b", "a#b", "ü", *(f"user{number}" for number in range(9))]


async def test_the_list_of_blocked_users_equals_the_oracles(each_table: Table) -> None:
    blocks = Stores(each_table).blocks
    made = [await blocks.block(name, f"why {name}", by=None) for name in NAMES]
    for backward in (False, True):
        assert await oracle.walk_pages(blocks.page, 4, backward=backward) == made[::-1]
    for name in NAMES[::2]:
        await blocks.unblock(name)
    assert (await blocks.page(Slice(99))).nodes == made[::-1][1::2]


async def test_a_repeated_block_replaces_the_reason_and_nothing_else(table: Table) -> None:
    blocks, standings = Stores(table).blocks, Stores(table).standings
    first = await blocks.block("ana", "Spam", by="mo")
    assert await blocks.block("ana", "Spam", by="max") == first
    second = await blocks.block("ana", "Insults", by="max")
    assert (second.reason, second.by) == ("Insults", "max")
    assert (await blocks.page(Slice(9))).nodes == [second]
    await standings.rewrite("ana", lambda one: replace(one, erasing={"name": "x"}))
    await blocks.unblock("ana")
    await blocks.unblock("ana")
    item = await table.get(standing_key("ana"))
    assert item is not None
    assert standing_in(item) == Standing("ana", erasing={"name": "x"})
    assert await standings.permission("ana") == Permission(False, True, False)


async def test_a_block_after_an_unblocking_is_by_its_own_moderator(table: Table) -> None:
    blocks = Stores(table).blocks
    first = await blocks.block("ana", "Spam", by="mo")

    async def unblocked(real: Operation, arguments: Answer) -> Answer:
        await blocks.unblock("ana")
        return await real(**arguments)

    slow = Stores(Table(FaultyClient(table.service, let_pass, unblocked), table.name)).blocks
    second = await slow.block("ana", "Spam", by="max")
    assert second.by == "max"
    assert second.at > first.at
    assert (await blocks.page(Slice(9))).nodes == [second]
