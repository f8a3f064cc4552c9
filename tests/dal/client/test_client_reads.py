"""Queries of the table itself, and counting, on both engines."""

import pytest

from dal.client.table import Table
from dal.entities.comment import ALL
from dal.table.index import TABLE, Index, QueryRequest, query_arguments
from dal.table.items import Item
from dal.table.ranges import Range


def row(number: int, size: int = 0) -> Item:
    place = {"S": f"{number:04}"}
    return {
        "PK": {"S": "p"},
        "SK": place,
        "GSI4PK": {"S": "i"},
        "GSISK": place,
        "data": {"S": "x" * size},
    }


def request(index: Index, span: Range, limit: int, *, consistent: bool = False) -> QueryRequest:
    partition = "p" if index is TABLE else "i"
    return QueryRequest(index, partition, span, limit=limit, consistent=consistent)


@pytest.mark.parametrize("consistent", [False, True])
async def test_the_table_is_queried_without_an_index(each_table: Table, consistent: bool) -> None:
    await each_table.put_many([row(number) for number in range(10)])
    answer = await each_table.query(
        request(TABLE, Range("0002", "0005"), 100, consistent=consistent)
    )
    assert [item["SK"]["S"] for item in answer.items] == ["0002", "0003", "0004", "0005"]
    assert answer.last_key is None


def test_only_what_is_asked_for_is_sent() -> None:
    plain = query_arguments(request(TABLE, Range(), 5))
    assert not {"IndexName", "ConsistentRead", "ExclusiveStartKey"} & plain.keys()
    assert query_arguments(request(TABLE, Range(), 5, consistent=True))["ConsistentRead"] is True
    assert query_arguments(request(ALL, Range(), 5))["IndexName"] == "all"


@pytest.mark.parametrize(
    ("span", "limit", "counted"),
    [
        (Range(), 100, 10),
        (Range(), 10, 10),
        (Range(), 4, 4),
        (Range(low="0007", low_open=True), 100, 2),
        (Range(low="0010"), 100, 0),
    ],
)
async def test_rows_are_counted_up_to_the_limit(
    each_table: Table, span: Range, limit: int, counted: int
) -> None:
    await each_table.put_many([row(number) for number in range(10)])
    spent: list[float] = []
    assert await each_table.count(request(ALL, span, limit), spent.append) == counted
    assert len(spent) == 1


async def test_counting_goes_on_beyond_a_megabyte(each_table: Table) -> None:
    await each_table.put_many([row(number, 30_000) for number in range(100)])
    spent: list[float] = []
    assert await each_table.count(request(ALL, Range(), 1_000), spent.append) == 100
    assert len(spent) > 1
    assert await each_table.count(request(ALL, Range(), 77), spent.append) == 77
