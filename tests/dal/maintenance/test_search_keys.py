"""`stats verify` corrects the keys by which products are found by the words of their titles."""

from collections.abc import Callable, Sequence

import pytest

from dal.dynamodb.table import Table
from dal.maintenance.search_keys import SearchKeyCorrection
from dal.model import ProductDetails
from dal.query.pagination import Slice
from dal.stores import Stores
from dal.table.items import Item, contents, key_of, primary_key
from tests.calls import calls_of
from tests.fakes import Answer, FaultyClient, Operation
from tests.verifying import verify
from tests.writers import ignore

TITLES = {
    "1": ProductDetails("Copper kettle with lid", "/k.svg", group=""),
    "a/b": ProductDetails("Kettle", group=""),
    "none": ProductDetails(url="/none", group=""),
}
Damage = Callable[[dict[str, Item]], list[Item]]
"""Returns items to store, from the items of product 1 by their sort keys. An item of only a key is
deleted."""


def without(item: Item, *names: str) -> Item:
    return {name: value for name, value in item.items() if name not in names}


DAMAGES: dict[str, Damage] = {
    "a missing word": lambda items: [key_of(items["WORD#2"])],
    "no words": lambda items: [key_of(one) for sort, one in items.items() if sort != "DETAILS"],
    "a word of another title": lambda items: [
        items["WORD#1"] | {"GSI1PK": {"S": "TITLE#p"}, "GSI1SK": {"S": "pan\t1"}}
    ],
    "a word too many": lambda items: [items["WORD#3"] | primary_key("PRODUCT#1", "WORD#12")],
    "a word with other details": lambda items: [
        items["WORD#3"] | {"data": {"S": '{"title":"Copper kettle with lid"}'}}
    ],
    "details of a program without words": lambda items: [
        without(items["DETAILS"], "GSI1PK", "GSI1SK", "words"),
    ],
    "words without details": lambda items: [
        one | {"PK": {"S": "PRODUCT#gone"}} for sort, one in items.items() if sort != "DETAILS"
    ],
}


async def items_of(table: Table) -> list[Item]:
    """Return the items in the partitions of products, without versions."""
    found = [one for one in (await table.scan(0, 1, None)).items if "#" in one["PK"]["S"]]
    return sorted(map(contents, found), key=lambda one: str(key_of(one)))


async def put(table: Table, items: Sequence[Item]) -> None:
    await table.put_many([one for one in items if one != key_of(one)])
    for one in items:
        if one == key_of(one):
            await table.write([{"Delete": {"Key": one}}])


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_wrong_keys_of_a_title_are_corrected(table: Table, damage: Damage) -> None:
    products = Stores(table).products
    await products.put_many(TITLES)
    before = await items_of(table)
    mine = {one["SK"]["S"]: one for one in before if one["PK"]["S"] == "PRODUCT#1"}
    await put(table, damage(mine))
    assert await items_of(table) != before
    correction = SearchKeyCorrection(table)
    await verify(table, ignore, correction)
    assert (correction.corrected, await items_of(table)) == (1, before)
    for word in ("copper", "kettle w", "with", "lid"):
        page = await products.search(word, Slice(9))
        assert page.nodes[0].product_id == "1"
    again = SearchKeyCorrection(table)
    await verify(table, ignore, again)
    assert again.corrected == 0


async def test_a_table_without_wrong_keys_is_not_written(each_table: Table) -> None:
    products = Stores(each_table).products
    await products.put_many(TITLES)
    await products.update("1", {"title": "Steel pan"})
    await products.update("none", {"title": "A lid for a steel pan"})
    calls = calls_of(each_table)
    await verify(each_table, ignore)
    assert calls.operations.keys() <= {"Scan", "GetItem", "DescribeTable"}


async def test_items_of_other_programs_are_kept(table: Table) -> None:
    await Stores(table).products.put_many(TITLES)
    foreign = [
        primary_key("PRODUCT#1", "WORD#large"),
        primary_key("PRODUCT#2", "DETAILS") | {"data": {"S": "large"}},
        primary_key("PRODUCT#2", "WORD#1") | {"data": {"S": "large"}},
        primary_key("WORDS#1", "WORD#1") | {"size": {"N": "1"}},
    ]
    await table.put_many(foreign)
    before = await items_of(table)
    correction = SearchKeyCorrection(table)
    await verify(table, ignore, correction)
    assert (correction.corrected, await items_of(table)) == (0, before)


async def test_a_title_that_changes_during_the_correction_wins(table: Table) -> None:
    products = Stores(table).products
    await products.put_many(TITLES)
    await table.write([{"Delete": {"Key": primary_key("PRODUCT#1", "WORD#2")}}])

    async def unchanged(operation: Operation, arguments: Answer) -> Answer:
        return await operation(**arguments)

    async def between(operation: Operation, arguments: Answer) -> Answer:
        answer = await operation(**arguments)
        await products.update("1", {"title": "Steel pan"})
        return answer

    client = FaultyClient(table.service, unchanged, between)
    correction = SearchKeyCorrection(Table(client, table.name))
    correction.scanned((await table.scan(0, 1, None)).items, [])
    await correction.correct([])
    found = await items_of(table)
    assert [name for name, _ in client.calls].count("query") == 2, "the first attempt fails"
    await products.update("1", {"title": "Pan"})
    await products.update("1", {"title": "Steel pan"})
    assert found == await items_of(table)
