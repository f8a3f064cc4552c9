"""Requests by key and by index, and conditional writes that lose their response."""

from collections.abc import Awaitable, Callable
from itertools import product
from typing import Any

import pytest

from dal.dynamodb import admin
from dal.dynamodb.errors import (
    CircuitOpenError,
    ConditionFailedError,
    NoTableError,
    StoreUnavailableError,
)
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.entities.comment import ALL, COMMENT
from dal.table.errors import StoreRefusedError
from dal.table.index import TABLE, Index, QueryRequest, query_arguments
from dal.table.items import ABSENT, Action, Item, key_of, unchanged
from dal.table.ranges import Range
from tests.calls import calls_of
from tests.fakes import Answer, FaultyClient, Operation, client_error, lose_answer, refuse, within
from tests.strategies import comment


def item(name: str, **attributes: Any) -> Item:
    return {**key(name), **attributes}


def key(name: str) -> Item:
    return {"PK": {"S": name}, "SK": {"S": name}}


def put(name: str, **more: Any) -> Item:
    return {"Put": {"Item": item(name), **more}}


async def test_get_returns_the_items_of_put_many(each_table: Table) -> None:
    await each_table.put_many([item("a", n={"N": "1"})])
    assert await each_table.get(key("a")) == item("a", n={"N": "1"})
    await each_table.put_many([item("a", n={"N": "2"})])
    assert await each_table.get(key("a")) == item("a", n={"N": "2"})
    assert await each_table.get(key("b")) is None


@pytest.mark.parametrize("count", [0, 1, 25, 26, 110])
async def test_any_number_of_items_is_written_and_read(table: Table, count: int) -> None:
    client = FaultyClient(table.service)
    names = [f"{number:03}" for number in range(count)]
    await Table(client, table.name).put_many([item(name) for name in names])
    sizes = [len(arguments["RequestItems"][table.name]) for _, arguments in client.calls]
    assert sizes == [25] * (count // 25) + [count % 25] * (count % 25 > 0)
    assert len(await table.get_many([key(name) for name in names])) == count


async def test_get_many_leaves_out_missing_items(each_table: Table) -> None:
    await each_table.put_many([item("a"), item("b")])
    found = await each_table.get_many([key(name) for name in "abc"])
    assert sorted(one["PK"]["S"] for one in found) == ["a", "b"]
    assert await each_table.get_many([]) == []


async def test_a_transaction_executes_all_actions_or_none(each_table: Table) -> None:
    absent = {"ConditionExpression": "attribute_not_exists(PK)"}
    await each_table.write([put("a", **absent), put("b", **absent)])
    with pytest.raises(ConditionFailedError) as caught:
        await each_table.write([put("c", **absent), put("b", **absent), put("a", **absent)])
    assert caught.value.failed == [1, 2]
    assert await each_table.get(key("c")) is None


async def test_a_table_is_created_once_and_expires_its_items(each_table: Table) -> None:
    assert await admin.create(each_table, INDEXES) is False
    described = await each_table.call("describe_time_to_live")
    assert described["TimeToLiveDescription"]["AttributeName"] == "expires"
    assert described["TimeToLiveDescription"]["TimeToLiveStatus"] in {"ENABLED", "ENABLING"}


async def test_a_missing_table_fails_with_the_command_to_run(each_table: Table) -> None:
    missing = Table(each_table.service, "nowhere")
    for attempt in (
        admin.describe(missing),
        missing.get(key("a")),
        missing.put_many([item("a")]),
        missing.query(_request(Range(), descending=True)),
    ):
        with pytest.raises(NoTableError, match="`marginalia table create`"):
            await attempt


EDGES = ["1\x01", "1a", "1\ud7ff", "1\ue000", "1\U00010000"]


async def test_a_query_reads_exactly_its_range(each_table: Table) -> None:
    """All combinations of included and excluded bounds, by DynamoDB's order of bytes."""
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
async def test_a_query_continues_from_its_last_key(each_table: Table, descending: bool) -> None:
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


async def test_a_query_returns_its_capacity(table: Table) -> None:
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


def test_unset_options_of_a_query_are_not_sent() -> None:
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


async def test_counting_continues_beyond_a_megabyte(each_table: Table) -> None:
    await each_table.put_many([row(number, 30_000) for number in range(100)])
    spent: list[float] = []
    assert await each_table.count(request(ALL, Range(), 1_000), spent.append) == 100
    assert len(spent) > 1
    assert await each_table.count(request(ALL, Range(), 77), spent.append) == 77


ITEM: Item = {"PK": {"S": "a"}, "SK": {"S": "s"}, "n": {"N": "1"}}
NEXT: Item = ITEM | {"n": {"N": "2"}}
ADD: Action = {"Put": {"Item": ITEM, **ABSENT}}
CHANGE: Action = {"Put": {"Item": NEXT, **unchanged(ITEM, ("n",))}}
DELETE: Action = {"Delete": {"Key": key_of(ITEM), **unchanged(ITEM, ("n",))}}


def faulty(table: Table, *faults: Callable[[Operation, Answer], Awaitable[Answer]]) -> Table:
    return Table(FaultyClient(table.service, *faults), table.name)


async def test_a_put_or_delete_of_one_item_needs_no_transaction(table: Table) -> None:
    calls = calls_of(table)
    for action in (ADD, CHANGE):
        await table.write([action])
    await table.write([{"Delete": {"Key": key_of(ITEM)}}])
    assert calls.operations == {"PutItem": 2, "DeleteItem": 1}


async def test_an_update_that_is_not_idempotent_is_a_transaction(table: Table) -> None:
    """Only a request token distinguishes a repeated request from a second write."""
    calls = calls_of(table)
    count = {
        "Key": key_of(ITEM),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    await table.write([{"Update": count}])
    assert calls.operations == {"TransactWriteItems": 1}


async def test_a_failed_condition_of_one_item_is_raised(each_table: Table) -> None:
    await each_table.write([ADD])
    for action in (ADD, {"Delete": {"Key": key_of(ITEM), **unchanged(NEXT, ("n",))}}):
        with pytest.raises(ConditionFailedError) as failed:
            await each_table.write([action])
        assert failed.value.failed == [0]
    assert await each_table.get(key_of(ITEM)) == ITEM


@pytest.mark.parametrize("lost", [1, 3])
async def test_a_write_whose_responses_were_lost_is_recognised_as_done(
    each_table: Table, lost: int
) -> None:
    for action, left in ((ADD, ITEM), (CHANGE, NEXT)):
        await faulty(each_table, *[lose_answer] * lost).write([action])
        assert await each_table.get(key_of(ITEM)) == left
    gone: Action = {"Delete": {"Key": key_of(NEXT), **unchanged(NEXT, ("n",))}}
    await faulty(each_table, *[lose_answer] * lost).write([gone])
    assert await each_table.get(key_of(ITEM)) is None


@pytest.mark.parametrize("action", [ADD, DELETE], ids=["put", "delete"])
async def test_a_lost_write_that_was_overwritten_has_an_unknown_outcome(
    each_table: Table, action: Action
) -> None:
    """Another client has changed the item since, so no read can show the outcome."""
    other = ITEM | {"n": {"N": "7"}}

    async def fail_while_another_writes(_: Operation, __: Answer) -> Answer:
        await each_table.put_many([other])
        raise StoreUnavailableError("Lost.")

    with pytest.raises(StoreUnavailableError):
        await faulty(each_table, fail_while_another_writes).write([action])
    assert await each_table.get(key_of(ITEM)) == other


async def forget_token(real: Operation, arguments: Answer) -> Answer:
    """Execute a transaction as an engine that was killed and has lost its request tokens."""
    return await real(**arguments | {"ClientRequestToken": "another"})


async def test_a_transaction_whose_token_the_engine_forgot_is_recognised_as_done(
    each_table: Table,
) -> None:
    other = ITEM | {"PK": {"S": "b"}}
    both: list[Action] = [ADD, {"Put": {"Item": other}}]
    await faulty(each_table, lose_answer, forget_token).write(both)
    gone: list[Action] = [DELETE, {"Delete": {"Key": key_of(other)}}]
    await faulty(each_table, lose_answer, forget_token).write(gone)
    assert await each_table.get_many([key_of(ITEM), key_of(other)]) == []


async def test_a_lost_update_has_an_unknown_outcome(each_table: Table) -> None:
    await each_table.write([ADD])
    close: Action = {
        "Update": {
            "Key": key_of(ITEM),
            "UpdateExpression": "SET n = :two",
            "ConditionExpression": "n = :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":two": {"N": "2"}},
        }
    }
    with pytest.raises(StoreUnavailableError):
        await faulty(each_table, lose_answer, forget_token).write([close])


@pytest.mark.parametrize("code", ["AccessDeniedException", "ValidationException"])
async def test_a_refusal_after_a_lost_write_leaves_its_outcome_unknown(
    table: Table, code: str
) -> None:
    """The refusal may concern this attempt only. A refused read changed nothing in any case."""
    no = refuse(client_error(code))
    for actions in ([ADD], [ADD, {"Put": {"Item": ITEM | {"PK": {"S": "b"}}}}]):
        with pytest.raises(StoreUnavailableError):
            await faulty(table, lose_answer, no).write(actions)
        with pytest.raises(StoreRefusedError):
            await faulty(table, no).write(actions)
        await table.write([{"Delete": {"Key": key_of(ITEM)}}])
    with pytest.raises(StoreRefusedError):
        await faulty(table, lose_answer, no).get(key_of(ITEM))


async def test_a_write_that_was_never_sent_is_not_reported_as_done(table: Table) -> None:
    await table.write([ADD])

    async def refuse_unsent(_: Operation, __: Answer) -> Answer:
        raise CircuitOpenError("Open.")

    with pytest.raises(ConditionFailedError):
        await faulty(table, refuse_unsent).write([ADD])


async def test_a_lost_response_while_the_outcome_is_read_is_retried(table: Table) -> None:
    await faulty(table, *[lose_answer] * 3).write([ADD])
    calls = FaultyClient(table.service, lose_answer, _pass, lose_answer)
    await Table(calls, table.name).write([CHANGE])
    asked = [operation for operation, _ in calls.calls]
    assert asked == ["put_item", "put_item", "get_item", "put_item", "get_item"]


async def _pass(real: Operation, arguments: Answer) -> Answer:
    return await real(**arguments)


async def test_throttling_and_conflicts_need_no_read_of_the_outcome(table: Table) -> None:
    busy = client_error("ProvisionedThroughputExceededException")
    conflict = client_error("TransactionConflictException")
    calls = FaultyClient(table.service, refuse(busy), refuse(conflict))
    await Table(calls, table.name).write([ADD])
    assert [operation for operation, _ in calls.calls] == ["put_item"] * 3


async def test_a_write_whose_responses_are_all_lost_has_an_unknown_outcome(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    losing = faulty(table, *[lose_answer] * 1000)
    with monkeypatch.context() as patch:
        patch.setattr("dal.dynamodb.retries.DEADLINE", 0.3)
        with pytest.raises(StoreUnavailableError):
            await losing.write([ADD])
    await losing.drain()
    assert await table.get(key_of(ITEM)) == ITEM
