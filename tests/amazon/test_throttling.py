"""The fake's throttling, and the reaction of repositories to it."""

import pytest

from dal.dynamodb.errors import ThrottledError
from dal.dynamodb.table import Table
from dal.entities.comment import ALL
from dal.stores import Stores
from dal.table.index import QueryRequest, query_arguments
from dal.table.items import primary_key
from tests import oracle, recount
from tests.amazon import Amazon
from tests.putting import put_comments


def item(partition: str, **attributes: str) -> dict[str, dict[str, str]]:
    return primary_key(partition) | {name: {"S": value} for name, value in attributes.items()}


async def put(amazon: Amazon, table: Table, name: str = "a", **attributes: str) -> None:
    told = {"ReturnConsumedCapacity": "TOTAL"}
    row = {"TableName": table.name, "Item": item(name, **attributes)}
    await amazon.call("put_item", row | told)


async def test_a_partition_is_throttled_above_its_units_per_second(
    amazon: Amazon, table: Table
) -> None:
    amazon.throttle.wcu = 3
    for _ in range(3):
        await put(amazon, table, text="x")
    with pytest.raises(ThrottledError):
        await put(amazon, table, text="x")
    await put(amazon, table, "b")
    amazon.clock.advance(0.5)
    # The last request may consume more units than are left.
    await put(amazon, table, text="x" * 2_500)
    amazon.clock.advance(0.3)
    with pytest.raises(ThrottledError):
        await put(amazon, table)
    assert amazon.throttle.refused == {(None, "a"): 2}


async def test_a_throttled_index_throttles_writes_to_the_table(
    amazon: Amazon, table: Table
) -> None:
    amazon.throttle.wcu = 2
    for name in "ab":
        await put(amazon, table, name, GSI4PK="PRODUCT#42", GSISK=name)
    with pytest.raises(ThrottledError):
        await put(amazon, table, "c", GSI4PK="PRODUCT#42", GSISK="c")
    assert amazon.throttle.refused == {("all", "PRODUCT#42"): 1}


async def test_throttling_writes_a_part_of_a_batch_but_no_part_of_a_transaction(
    amazon: Amazon, table: Table
) -> None:
    amazon.throttle.wcu = 1
    await put(amazon, table)
    batch = {table.name: [{"PutRequest": {"Item": item(name)}} for name in "ab"]}
    answer = await amazon.call("batch_write_item", {"RequestItems": batch})
    assert answer["UnprocessedItems"] == {table.name: batch[table.name][:1]}
    entries = [{"Put": {"TableName": table.name, "Item": item(name)}} for name in "ac"]
    with pytest.raises(ThrottledError):
        await amazon.call("transact_write_items", {"TransactItems": entries})
    assert await table.get(primary_key("c")) is None


async def test_reads_of_a_partition_are_throttled_too(amazon: Amazon, table: Table) -> None:
    store = Stores(table).comments
    await put_comments(store, oracle.make_comments("42", 20, seed=1))
    amazon.throttle.rcu = 1
    read = QueryRequest(ALL, "PRODUCT#42")
    asked = {"TableName": table.name, **query_arguments(read)}
    await amazon.call("query", asked)
    with pytest.raises(ThrottledError):
        await amazon.call("query", asked)
    assert amazon.throttle.refused == {("all", "PRODUCT#42"): 1}


async def test_writes_continue_after_credentials_expire(amazon: Amazon, table: Table) -> None:
    amazon.expiry.calls, amazon.expiry.stale = 5, 2
    store = Stores(table).comments
    rows = oracle.make_comments("42", 30, seed=3)
    for row in rows[:10]:
        await store.add(row)
    await put_comments(store, rows[10:])
    assert amazon.expiry.refused > 3
    assert len(await recount.check(table, "42")) == 30
