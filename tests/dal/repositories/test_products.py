import asyncio
from dataclasses import replace

from dal.dynamodb.table import Table
from dal.entities.product import details_key
from dal.model import ProductDetails
from dal.stores import Stores
from dal.table.items import key_of, primary_key
from dal.writes.overwrite import Outcome
from tests.calls import calls_of
from tests.fakes import Answer, FaultyClient, Operation
from tests.putting import put_comments
from tests.strategies import comment
from tests.verifying import verify


async def test_details_are_created_and_changed_field_by_field(each_table: Table) -> None:
    products = Stores(each_table).products
    assert await products.details(["a/b"]) == {}
    await products.update("a/b", {"title": "Kettle"})
    changed = await products.update("a/b", {"url": "/kettle"})
    assert changed == ProductDetails(title="Kettle", url="/kettle")
    assert await products.details(["a/b", "a"]) == {"a/b": changed}
    assert await products.update("a/b", {"title": ""}) == ProductDetails(url="/kettle")


async def test_concurrent_changes_are_all_stored(table: Table) -> None:
    products = Stores(table).products
    fields = {"title": "Kettle", "picture_url": "/k.svg", "url": "/kettle"}
    await asyncio.gather(*(products.update("42", {name: text}) for name, text in fields.items()))
    assert await products.details(["42"]) == {"42": ProductDetails(**fields)}


async def test_words_of_a_title_follow_a_change_during_a_load(table: Table) -> None:
    """The load writes its title over the other, which has more words."""
    given = ProductDetails("Copper kettle")

    async def between(operation: Operation, arguments: Answer) -> Answer:
        await Stores(table).products.update("1", {"title": "Steel pan with a lid"})
        return await operation(**arguments)

    async def unchanged(operation: Operation, arguments: Answer) -> Answer:
        return await operation(**arguments)

    loading = Table(FaultyClient(table.service, unchanged, between), table.name)
    assert await Stores(loading).products.put_many({"1": given}) == Outcome(new=1)
    found = [key_of(one) for one in (await table.scan(0, 1, None)).items]
    assert {one["SK"]["S"] for one in found if one["PK"] == details_key("1")["PK"]} == {
        "DETAILS",
        "WORD#1",
    }
    assert await Stores(table).products.details(["1"]) == {"1": replace(given, group="")}


async def test_the_query_of_the_counters_returns_the_details_and_does_not_count_them(
    each_table: Table,
) -> None:
    comments, products = Stores(each_table), Stores(each_table).products
    await put_comments(comments.comments, [comment("1", product_id="42", rating=5)])
    details = ProductDetails(title="Kettle")
    await products.put_many({"42": details})
    calls = calls_of(each_table)
    statistics, found = await comments.statistics.read_with_details("42")
    assert (statistics.total, found) == (1, details)
    assert calls.operations == {"Query": 1}
    assert (await comments.statistics.read("42", consistent=True)).total == 1
    assert (await comments.statistics.read_with_details("4"))[1] == ProductDetails()
    await each_table.drain()
    assert await verify(each_table, lambda _: None) == []


async def test_items_of_other_programs_are_not_counted_or_shown(
    each_table: Table,
) -> None:
    comments, products = Stores(each_table), Stores(each_table).products
    await put_comments(comments.comments, [comment("1", product_id="42", rating=5)])
    foreign = ["DETAILS", "IMAGE#1#large", "PRICE#EUR", "S#en#new"]
    await each_table.put_many(
        [primary_key("PRODUCT#42", name) | {"count_5": {"N": "9"}} for name in foreign]
    )
    statistics, found = await comments.statistics.read_with_details("42")
    assert (statistics.total, len(statistics.languages), found) == (1, 1, ProductDetails())
    assert (await comments.statistics.read("42", consistent=True)).total == 1
    assert await products.details(["42"]) == {}
