"""Retries until the deadline, and the log of failures."""

import asyncio
import logging

import pytest

from dal.dynamodb import retries
from dal.dynamodb.deadline import deadline_in
from dal.dynamodb.errors import (
    CircuitOpenError,
    ConditionFailedError,
    ConflictError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.dynamodb.responses import unreachable
from dal.dynamodb.retries import FailureLog, retry, retry_on_conflict
from dal.dynamodb.table import Table
from dal.table.errors import DalError, StoreRefusedError
from dal.table.items import Item
from tests.conftest import Clients, fresh_table
from tests.fakes import Answer, Fault, FaultyClient, Operation, client_error, lose_answer, refuse

PASSING = {
    "throttling": client_error("ProvisionedThroughputExceededException"),
    "contention": client_error("TransactionCanceledException", reasons=("TransactionConflict",)),
    "failure": client_error("InternalServerError", 500),
    "no answer": unreachable("http://gone"),
}


def item(name: str, **attributes: Item) -> Item:
    return {**key(name), **attributes}


def key(name: str) -> Item:
    return {"PK": {"S": name}, "SK": {"S": name}}


def faulty(table: Table, *faults: Fault) -> tuple[Table, FaultyClient]:
    client = FaultyClient(table.service, *faults)
    return Table(client, table.name), client


@pytest.fixture(scope="module")
async def shared(clients: Clients, dynoxide_url: str) -> Table:
    """One table for all tests that use different items."""
    return await fresh_table(clients, dynoxide_url)


@pytest.fixture
def brief_deadline(monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(retries, "DEADLINE", 0.3)
    return 0.3


@pytest.mark.parametrize("error", PASSING.values(), ids=PASSING)
@pytest.mark.parametrize("times", [1, 3])
async def test_a_transient_error_is_retried(shared: Table, error: Exception, times: int) -> None:
    await shared.put_many([item("a")])
    table, client = faulty(shared, *[refuse(error)] * times)
    assert await table.get(key("a")) == item("a")
    assert len(client.calls) == 1 + times


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        ("throttling", ThrottledError),
        ("contention", ConflictError),
        ("failure", StoreUnavailableError),
        ("no answer", StoreUnavailableError),
    ],
)
@pytest.mark.usefixtures("brief_deadline")
async def test_an_error_that_lasts_until_the_deadline_is_raised(
    shared: Table, error: str, raised: type[Exception]
) -> None:
    table, client = faulty(shared, *[refuse(PASSING[error])] * 1000)
    with pytest.raises(raised, match=r"\.$"):
        await table.get(key("a"))
    assert 0 < len(client.calls) < 100


async def test_a_patient_command_waits_for_a_store_that_has_answered(
    shared: Table, brief_deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "REPORT_SECONDS", brief_deadline)
    reports: list[tuple[float, Exception]] = []

    async def fail_until_reported_twice(real: Operation, arguments: Answer) -> Answer:
        if len(reports) < 2:
            client._faults.insert(0, fail_until_reported_twice)
            raise PASSING["no answer"]
        return await real(**arguments)

    await shared.put_many([item("a")])
    table, client = faulty(shared, *[refuse(PASSING["no answer"])] * 1000)
    with retries.patient(retries.Patience(lambda *report: reports.append(report))):
        with pytest.raises(StoreUnavailableError):
            await table.get(key("a"))  # no response yet: the address may be wrong
        client._faults.clear()
        assert await table.get(key("a")) == item("a")
        reports.clear()
        client._faults.append(fail_until_reported_twice)
        assert await table.get(key("a")) == item("a")
        client._faults += [refuse(PASSING["no answer"])] * 1000
        with deadline_in(0.1), pytest.raises(StoreUnavailableError):
            await table.get(key("a"))
    first, second = [seconds for seconds, _ in reports[:2]]
    assert second - brief_deadline >= first >= brief_deadline
    with pytest.raises(StoreUnavailableError):
        await table.get(key("a"))


@pytest.mark.parametrize(
    ("code", "reasons"),
    [
        ("AccessDeniedException", ()),
        ("ValidationException", ()),
        ("ResourceNotFoundException", ()),
        ("TransactionCanceledException", ("ConditionalCheckFailed",)),
        ("TransactionCanceledException", ("ValidationError",)),
    ],
)
async def test_a_permanent_refusal_is_not_retried(
    shared: Table, code: str, reasons: tuple[str, ...]
) -> None:
    table, client = faulty(shared, refuse(client_error(code, reasons=reasons)))
    with pytest.raises(DalError):
        await table.write([{"Put": {"Item": item("refused")}}])
    assert len(client.calls) == 1


async def test_a_transaction_with_lost_responses_is_executed_once(each_table: Table) -> None:
    count = {
        "Update": {
            "Key": key("counter"),
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }
    table, client = faulty(each_table, lose_answer, lose_answer)
    await table.write([count])
    assert len(client.calls) == 3
    assert len({arguments["ClientRequestToken"] for _, arguments in client.calls}) == 1
    assert await table.get(key("counter")) == item("counter", n={"N": "1"})
    await table.write([count])
    assert await table.get(key("counter")) == item("counter", n={"N": "2"})


async def test_an_add_with_a_lost_response_does_not_fail_its_own_condition(
    each_table: Table,
) -> None:
    table, _ = faulty(each_table, lose_answer)
    condition = {"ConditionExpression": "attribute_not_exists(PK)"}
    await table.write([{"Put": {"Item": item("a"), **condition}}])
    assert await table.get(key("a")) == item("a")


async def test_unprocessed_items_are_written_by_further_requests(shared: Table) -> None:
    names = [f"w{number:02}" for number in range(25)]
    table, client = faulty(shared, _process(20), _process(3), _process(0))
    await table.put_many([item(name) for name in names])
    sizes = [len(arguments["RequestItems"][table.name]) for _, arguments in client.calls]
    assert sizes == [25, 5, 2, 2]
    assert len(await shared.get_many([key(name) for name in names])) == 25


async def test_unprocessed_keys_are_read_by_further_requests(shared: Table) -> None:
    names = [f"r{number:02}" for number in range(25)]
    await shared.put_many([item(name) for name in names])
    table, client = faulty(shared, _process(20), _process(3), _process(0))
    found = await table.get_many([key(name) for name in names])
    assert sorted(one["PK"]["S"] for one in found) == names
    wanted = [arguments["RequestItems"][table.name] for _, arguments in client.calls]
    assert [len(one["Keys"]) for one in wanted] == [25, 5, 2, 2]
    assert all(one["ConsistentRead"] for one in wanted)


async def test_items_unprocessed_until_the_deadline_raise_throttling(
    shared: Table, brief_deadline: float
) -> None:
    table, _ = faulty(shared, *[_process(0)] * 1000)
    with pytest.raises(ThrottledError):
        await table.put_many([item("a")])
    with pytest.raises(ThrottledError):
        await table.get_many([key("a")])


async def test_one_failed_batch_fails_put_many(shared: Table) -> None:
    table, _ = faulty(shared, refuse(client_error("AccessDeniedException")))
    with pytest.raises(StoreRefusedError):
        await table.put_many([item(f"{number:03}") for number in range(110)])


def _process(count: int) -> Fault:
    """Execute only the first ``count`` entries of a batch, and return the others as unprocessed."""

    async def fault(real: Operation, arguments: Answer) -> Answer:
        ((name, asked),) = arguments["RequestItems"].items()
        if isinstance(asked, list):
            now, later = asked[:count], asked[count:]
            if now:
                await real(RequestItems={name: now})
            return {"UnprocessedItems": {name: later} if later else {}}
        now, later = asked["Keys"][:count], asked["Keys"][count:]
        answer: Answer = {"Responses": {}}
        if now:
            answer = await real(RequestItems={name: {**asked, "Keys": now}})
        left = {name: {**asked, "Keys": later}} if later else {}
        return {"Responses": answer["Responses"], "UnprocessedKeys": left}

    return fault


async def test_a_conflict_is_retried_and_the_response_returned() -> None:
    conflicts = [ConflictError("Others.")] * 3

    async def attempt() -> int:
        if conflicts:
            raise conflicts.pop()
        return 7

    assert await retry_on_conflict(attempt) == 7


async def test_retry_on_conflict_raises_other_errors_at_once() -> None:
    attempts = 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        raise ThrottledError("Busy.")

    with pytest.raises(ThrottledError):
        await retry_on_conflict(attempt)
    assert attempts == 1


@pytest.mark.parametrize("deadline", [None, 0.1])
async def test_a_conflict_that_lasts_until_the_deadline_is_raised(
    monkeypatch: pytest.MonkeyPatch, deadline: float | None
) -> None:
    monkeypatch.setattr(retries, "DEADLINE", 0.1 if deadline is None else 60)

    async def attempt() -> None:
        raise ConflictError("Others.")

    async with asyncio.timeout(30):
        with pytest.raises(ConflictError, match="Others"):
            await retry_on_conflict(attempt, deadline)


async def test_a_lost_response_after_a_conflict_is_raised_at_the_deadline() -> None:
    """A conflict has written nothing, but the outcome of the attempt in progress is unknown."""
    attempts = 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise ConflictError("Others.")
        await asyncio.sleep(9)

    with deadline_in(1), pytest.raises(StoreUnavailableError):
        await retry(attempt)
    assert attempts == 2


async def test_a_lost_response_before_throttling_is_raised_at_the_deadline() -> None:
    """A throttled attempt has done nothing, but the attempt before it may have written."""
    answers: list[DalError] = [StoreUnavailableError("Lost.")]

    async def attempt() -> None:
        raise answers.pop() if answers else ThrottledError("Busy.")

    with deadline_in(0.3), pytest.raises(StoreUnavailableError, match="Lost"):
        await retry(attempt)


def test_many_failures_are_one_log_line_per_second_and_kind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [100.0]
    log = FailureLog(clock=lambda: now[0])
    for _ in range(1000):
        log.note("query", StoreUnavailableError("Out."), 3)
        log.note("get_item", ThrottledError("Busy."), 1)
    now[0] += 1
    log.note("scan", StoreUnavailableError("Up."), 2)
    assert [record.getMessage() for record in caplog.records] == [
        "DynamoDB failed: operation=query error=StoreUnavailableError attempt=3 suppressed=0: Out.",
        "DynamoDB failed: operation=get_item error=ThrottledError attempt=1 suppressed=0: Busy.",
        "DynamoDB failed: operation=scan error=StoreUnavailableError attempt=2 suppressed=999: Up.",
    ]
    last = caplog.records[-1]
    assert (last.levelno, last.exc_info) == (logging.WARNING, None)
    assert {"operation": "scan", "attempt": 2, "suppressed": 999}.items() <= vars(last).items()


async def test_each_failed_attempt_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "log_failure", FailureLog().note)
    answers: list[DalError] = [ThrottledError("Busy."), PASSING["no answer"]]

    async def attempt() -> None:
        if answers:
            raise answers.pop()

    await retry(attempt, "get_item")
    first, second = [record.getMessage() for record in caplog.records]
    assert "operation=get_item error=StoreUnavailableError attempt=1" in first
    assert "operation=get_item error=ThrottledError attempt=2" in second


@pytest.mark.parametrize(
    "answer",
    [
        ConflictError("Others."),
        ConditionFailedError([0]),
        CircuitOpenError("Not asked."),
    ],
)
def test_conflicts_failed_conditions_and_an_open_circuit_are_not_logged(
    caplog: pytest.LogCaptureFixture, answer: DalError
) -> None:
    FailureLog().note("query", answer, 1)
    assert not caplog.records
