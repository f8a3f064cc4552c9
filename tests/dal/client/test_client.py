from itertools import product
from typing import Any

import pytest

from dal import errors
from dal.client import admin
from dal.client.table import Table
from dal.entities import INDEXES
from dal.entities.comment import ALL, COMMENT
from dal.table.index import QueryRequest
from dal.table.items import Item
from dal.table.ranges import Range
from tests.fakes import FaultyClient, within
from tests.strategies import comment


def item(name: str, **attributes: Any) -> Item:
    return {**key(name), **attributes}


def key(name: str) -> Item:
    return {"PK": {"S": name}, "SK": {"S": name}}


def put(name: str, **more: Any) -> Item:
    return {"Put": {"Item": item(name), **more}}


async def test_get_returns_what_put_many_wrote(each_table: Table) -> None:
    await each_table.put_many([item("a", n={"N": "1"})])
    assert await each_table.get(key("a")) == item("a", n={"N": "1"})
    await each_table.put_many([item("a", n={"N": "2"})])
    assert await each_table.get(key("a")) == item("a", n={"N": "2"})
    assert await each_table.get(key("b")) is None


@pytest.mark.parametrize("count", [0, 1, 25, 26, 110])
async def test_any_number_of_items_is_written(table: Table, count: int) -> None:
    client = FaultyClient(table.service)
    names = [f"{number:03}" for number in range(count)]
    await Table(client, table.name).put_many([item(name) for name in names])
    sizes = [len(arguments["RequestItems"][table.name]) for _, arguments in client.calls]
    assert sizes == [25] * (count // 25) + [count % 25] * (count % 25 > 0)
    assert len(await table.get_many([key(name) for name in names[:100]])) == min(count, 100)


async def test_get_many_leaves_out_what_is_not_there(each_table: Table) -> None:
    await each_table.put_many([item("a"), item("b")])
    found = await each_table.get_many([key(name) for name in "abc"])
    assert sorted(one["PK"]["S"] for one in found) == ["a", "b"]
    assert await each_table.get_many([]) == []


async def test_more_keys_than_one_request_takes_are_looked_up(table: Table) -> None:
    names = [f"{number:03}" for number in range(101)]
    await table.put_many([item(name) for name in names])
    assert len(await table.get_many([key(name) for name in names])) == 101


async def test_a_transaction_is_done_whole_or_not_at_all(each_table: Table) -> None:
    absent = {"ConditionExpression": "attribute_not_exists(PK)"}
    await each_table.write([put("a", **absent), put("b", **absent)])
    with pytest.raises(errors.ConditionFailedError) as caught:
        await each_table.write([put("c", **absent), put("b", **absent), put("a", **absent)])
    assert caught.value.failed == [1, 2]
    assert await each_table.get(key("c")) is None


async def test_a_table_is_created_once_and_expires_its_items(each_table: Table) -> None:
    assert await admin.create(each_table, INDEXES) is False
    described = await each_table.call("describe_time_to_live")
    assert described["TimeToLiveDescription"]["AttributeName"] == "expires"
    assert described["TimeToLiveDescription"]["TimeToLiveStatus"] in {"ENABLED", "ENABLING"}


async def test_a_missing_table_is_told_in_one_sentence(each_table: Table) -> None:
    missing = Table(each_table.service, "nowhere")
    for attempt in (
        admin.describe(missing),
        missing.get(key("a")),
        missing.put_many([item("a")]),
        missing.query(_request(Range(), descending=True)),
    ):
        with pytest.raises(errors.StoreRefusedError, match=r"run `marginalia table create`\.$"):
            await attempt


EDGES = ["1\x01", "1a", "1\ud7ff", "1\ue000", "1\U00010000"]


async def test_a_query_reads_exactly_its_range(each_table: Table) -> None:
    """Every combination of ends, open and closed, against the bytes that DynamoDB compares."""
    await each_table.put_many([_row(edge) for edge in EDGES])
    ends = [None, *EDGES[1:-1]]
    for low, high, low_open, high_open in product(ends, ends, [False, True], [False, True]):
        span = Range(low, high, low_open, high_open)
        if span.empty:
            continue
        answer = await each_table.query(_request(span, descending=False))
        read = [row["GSISK"]["S"] for row in answer.items]
        assert read == [edge for edge in EDGES if within(span, edge)], span
        assert answer.last_key is None


@pytest.mark.parametrize("descending", [False, True])
async def test_a_query_goes_on_from_its_last_key(each_table: Table, descending: bool) -> None:
    await each_table.put_many([_row(edge) for edge in EDGES])
    read: list[str] = []
    start = None
    while True:
        request = _request(Range(), descending=descending, limit=2, start=start)
        answer = await each_table.query(request)
        read += [row["GSISK"]["S"] for row in answer.items]
        start = answer.last_key
        if start is None:
            break
    assert read == sorted(EDGES, reverse=descending)


async def test_a_query_tells_its_capacity(table: Table) -> None:
    rows = [COMMENT.encode(comment(f"{number:02}", text="x" * 900)) for number in range(20)]
    await table.put_many(rows)
    one = QueryRequest(ALL, "PRODUCT#42", limit=1)
    all_of_them = QueryRequest(ALL, "PRODUCT#42", limit=20)
    assert (await table.query(one)).capacity == 0.5
    assert (await table.query(all_of_them)).capacity > 2
    assert set((await table.query(one)).items[0]) == {
        *("PK", "SK", "GSI4PK", "GSISK", "rating", "language", "data")
    }


def _row(position: str) -> Item:
    return {
        **item(position, rating={"N": "5"}, language={"S": "en"}, data={"S": "{}"}),
        "GSI4PK": {"S": "PRODUCT#42"},
        "GSISK": {"S": position},
    }


def _request(span: Range, *, descending: bool, limit: int = 10, start: Any = None) -> QueryRequest:
    return QueryRequest(ALL, "PRODUCT#42", span, descending, limit, start)
