"""One item is written without a transaction, and what a write did whose answer was lost."""

from collections.abc import Awaitable, Callable

import pytest

from dal import errors
from dal.client.table import Table
from dal.table.items import ABSENT, Action, Item, key_of, unchanged
from tests.calls import calls_of
from tests.fakes import Answer, FaultyClient, Operation, client_error, lose_answer, refuse

ITEM: Item = {"PK": {"S": "a"}, "SK": {"S": "s"}, "n": {"N": "1"}}
NEXT: Item = ITEM | {"n": {"N": "2"}}
ADD: Action = {"Put": {"Item": ITEM, **ABSENT}}
CHANGE: Action = {"Put": {"Item": NEXT, **unchanged(ITEM, ("n",))}}
DELETE: Action = {"Delete": {"Key": key_of(ITEM), **unchanged(ITEM, ("n",))}}


def faulty(table: Table, *faults: Callable[[Operation, Answer], Awaitable[Answer]]) -> Table:
    return Table(FaultyClient(table.service, *faults), table.name)


async def test_one_item_is_no_transaction(table: Table) -> None:
    calls = calls_of(table)
    for action in (ADD, CHANGE):
        await table.write([action])
    await table.write([{"Delete": {"Key": key_of(ITEM)}}])
    assert calls.operations == {"PutItem": 2, "DeleteItem": 1}


async def test_what_would_be_done_twice_is_a_transaction(table: Table) -> None:
    """Its request token alone tells a second sending from a second write."""
    calls = calls_of(table)
    count = {
        "Key": key_of(ITEM),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    await table.write([{"Update": count}])
    assert calls.operations == {"TransactWriteItems": 1}


async def test_a_condition_that_does_not_hold_is_told(each_table: Table) -> None:
    await each_table.write([ADD])
    for action in (ADD, {"Delete": {"Key": key_of(ITEM), **unchanged(NEXT, ("n",))}}):
        with pytest.raises(errors.ConditionFailedError) as failed:
            await each_table.write([action])
        assert failed.value.failed == [0]
    assert await each_table.get(key_of(ITEM)) == ITEM


@pytest.mark.parametrize("lost", [1, 3])
async def test_what_was_done_before_its_answer_was_lost_is_done(
    each_table: Table, lost: int
) -> None:
    for action, left in ((ADD, ITEM), (CHANGE, NEXT)):
        await faulty(each_table, *[lose_answer] * lost).write([action])
        assert await each_table.get(key_of(ITEM)) == left
    gone: Action = {"Delete": {"Key": key_of(NEXT), **unchanged(NEXT, ("n",))}}
    await faulty(each_table, *[lose_answer] * lost).write([gone])
    assert await each_table.get(key_of(ITEM)) is None


@pytest.mark.parametrize("action", [ADD, DELETE], ids=["put", "delete"])
async def test_a_write_that_others_have_overwritten_is_in_doubt(
    each_table: Table, action: Action
) -> None:
    """The first attempt had no answer, and another has written since: no read shows the outcome."""
    other = ITEM | {"n": {"N": "7"}}

    async def fail_while_another_writes(_: Operation, __: Answer) -> Answer:
        await each_table.put_many([other])
        raise errors.StoreUnavailableError("Lost.")

    with pytest.raises(errors.StoreUnavailableError):
        await faulty(each_table, fail_while_another_writes).write([action])
    assert await each_table.get(key_of(ITEM)) == other


async def forget_token(real: Operation, arguments: Answer) -> Answer:
    """Do a transaction as an engine that was killed since, which has forgotten the tokens."""
    return await real(**arguments | {"ClientRequestToken": "another"})


async def test_a_transaction_that_the_engine_has_forgotten_is_done(each_table: Table) -> None:
    other = ITEM | {"PK": {"S": "b"}}
    both: list[Action] = [ADD, {"Put": {"Item": other}}]
    await faulty(each_table, lose_answer, forget_token).write(both)
    gone: list[Action] = [DELETE, {"Delete": {"Key": key_of(other)}}]
    await faulty(each_table, lose_answer, forget_token).write(gone)
    assert await each_table.get_many([key_of(ITEM), key_of(other)]) == []


async def test_a_forgotten_transaction_that_no_read_shows_is_in_doubt(each_table: Table) -> None:
    await each_table.write([ADD])
    close: Action = {
        "Update": {
            "Key": key_of(ITEM),
            "UpdateExpression": "SET n = :two",
            "ConditionExpression": "n = :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":two": {"N": "2"}},
        }
    }
    with pytest.raises(errors.StoreUnavailableError):
        await faulty(each_table, lose_answer, forget_token).write([close])


@pytest.mark.parametrize("code", ["AccessDeniedException", "ValidationException"])
async def test_a_refusal_does_not_end_the_doubt_about_a_write(table: Table, code: str) -> None:
    """It may be of this attempt alone. A read leaves no doubt, whatever it is answered."""
    no = refuse(client_error(code))
    for actions in ([ADD], [ADD, {"Put": {"Item": ITEM | {"PK": {"S": "b"}}}}]):
        with pytest.raises(errors.StoreUnavailableError):
            await faulty(table, lose_answer, no).write(actions)
        with pytest.raises(errors.StoreRefusedError):
            await faulty(table, no).write(actions)
        await table.write([{"Delete": {"Key": key_of(ITEM)}}])
    with pytest.raises(errors.StoreRefusedError):
        await faulty(table, lose_answer, no).get(key_of(ITEM))


async def test_what_was_never_sent_is_not_taken_for_done(table: Table) -> None:
    await table.write([ADD])

    async def refuse_unsent(_: Operation, __: Answer) -> Answer:
        raise errors.CircuitOpenError("Open.")

    with pytest.raises(errors.ConditionFailedError):
        await faulty(table, refuse_unsent).write([ADD])


async def test_an_answer_lost_while_that_is_looked_at_is_asked_for_again(table: Table) -> None:
    await faulty(table, *[lose_answer] * 3).write([ADD])
    calls = FaultyClient(table.service, lose_answer, _pass, lose_answer)
    await Table(calls, table.name).write([CHANGE])
    asked = [operation for operation, _ in calls.calls]
    assert asked == ["put_item", "put_item", "get_item", "put_item", "get_item"]


async def _pass(real: Operation, arguments: Answer) -> Answer:
    return await real(**arguments)


async def test_throttling_and_conflicts_leave_nothing_to_look_at(table: Table) -> None:
    busy = client_error("ProvisionedThroughputExceededException")
    conflict = client_error("TransactionConflictException")
    calls = FaultyClient(table.service, refuse(busy), refuse(conflict))
    await Table(calls, table.name).write([ADD])
    assert [operation for operation, _ in calls.calls] == ["put_item"] * 3


async def test_answers_lost_until_the_end_are_no_word_of_failure(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    losing = faulty(table, *[lose_answer] * 1000)
    with monkeypatch.context() as patch:
        patch.setattr("dal.client.retries.DEADLINE", 0.3)
        with pytest.raises(errors.StoreUnavailableError):
            await losing.write([ADD])
    await losing.drain()
    assert await table.get(key_of(ITEM)) == ITEM
