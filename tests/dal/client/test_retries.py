import time

import pytest

from dal import errors
from dal.client import retries
from dal.client.responses import unreachable
from dal.client.table import Table
from dal.deadline import Deadline, deadline
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
    """One table for the tests whose items do not meet."""
    return await fresh_table(clients, dynoxide_url)


@pytest.fixture
def brief_deadline(monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(retries, "DEADLINE", 0.3)
    return 0.3


@pytest.mark.parametrize("error", PASSING.values(), ids=PASSING)
@pytest.mark.parametrize("times", [1, 3])
async def test_a_passing_fault_is_retried(shared: Table, error: Exception, times: int) -> None:
    await shared.put_many([item("a")])
    table, client = faulty(shared, *[refuse(error)] * times)
    assert await table.get(key("a")) == item("a")
    assert len(client.calls) == 1 + times


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        ("throttling", errors.ThrottledError),
        ("contention", errors.ConflictError),
        ("failure", errors.StoreUnavailableError),
        ("no answer", errors.StoreUnavailableError),
    ],
)
async def test_what_stands_in_the_way_until_the_deadline_is_raised(
    shared: Table, brief_deadline: float, error: str, raised: type[Exception]
) -> None:
    table, client = faulty(shared, *[refuse(PASSING[error])] * 1000)
    began = time.monotonic()
    with pytest.raises(raised, match=r"\.$"):
        await table.get(key("a"))
    assert brief_deadline * 0.9 <= time.monotonic() - began < brief_deadline + 25
    assert len(client.calls) < 100


async def test_maintenance_waits_for_a_store_that_has_answered(
    shared: Table, brief_deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "REPORT_SECONDS", brief_deadline)
    told: list[tuple[float, Exception]] = []

    async def fail_until_told_twice(real: Operation, arguments: Answer) -> Answer:
        if len(told) < 2:
            client._faults.insert(0, fail_until_told_twice)
            raise PASSING["no answer"]
        return await real(**arguments)

    await shared.put_many([item("a")])
    table, client = faulty(shared, *[refuse(PASSING["no answer"])] * 1000)
    with retries.patient(retries.Patience(lambda *told_: told.append(told_))):
        with pytest.raises(errors.StoreUnavailableError):
            await table.get(key("a"))  # it has never answered: its address may be wrong
        client._faults.clear()
        assert await table.get(key("a")) == item("a")
        told.clear()
        client._faults.append(fail_until_told_twice)
        assert await table.get(key("a")) == item("a")
        limit = Deadline()
        limit.restart(0.1)
        client._faults += [refuse(PASSING["no answer"])] * 1000
        with deadline(limit), pytest.raises(errors.StoreUnavailableError):
            await table.get(key("a"))
    first, second = [seconds for seconds, _ in told[:2]]
    assert second - brief_deadline >= first >= brief_deadline
    with pytest.raises(errors.StoreUnavailableError):
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
async def test_a_refusal_for_good_is_not_retried(
    shared: Table, code: str, reasons: tuple[str, ...]
) -> None:
    table, client = faulty(shared, refuse(client_error(code, reasons=reasons)))
    with pytest.raises(errors.DalError):
        await table.write([{"Put": {"Item": item("refused")}}])
    assert len(client.calls) == 1


async def test_a_transaction_whose_answer_was_lost_is_not_done_twice(each_table: Table) -> None:
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


async def test_a_first_add_whose_answer_was_lost_is_no_failed_condition(each_table: Table) -> None:
    table, _ = faulty(each_table, lose_answer)
    condition = {"ConditionExpression": "attribute_not_exists(PK)"}
    await table.write([{"Put": {"Item": item("a"), **condition}}])
    assert await table.get(key("a")) == item("a")


async def test_unprocessed_items_are_written_in_the_end(shared: Table) -> None:
    names = [f"w{number:02}" for number in range(25)]
    table, client = faulty(shared, _process(20), _process(3), _process(0))
    await table.put_many([item(name) for name in names])
    sizes = [len(arguments["RequestItems"][table.name]) for _, arguments in client.calls]
    assert sizes == [25, 5, 2, 2]
    assert len(await shared.get_many([key(name) for name in names])) == 25


async def test_unprocessed_keys_are_read_in_the_end(shared: Table) -> None:
    names = [f"r{number:02}" for number in range(25)]
    await shared.put_many([item(name) for name in names])
    table, client = faulty(shared, _process(20), _process(3), _process(0))
    found = await table.get_many([key(name) for name in names])
    assert sorted(one["PK"]["S"] for one in found) == names
    wanted = [arguments["RequestItems"][table.name] for _, arguments in client.calls]
    assert [len(one["Keys"]) for one in wanted] == [25, 5, 2, 2]
    assert all(one["ConsistentRead"] for one in wanted)


async def test_what_stays_unprocessed_until_the_deadline_is_throttling(
    shared: Table, brief_deadline: float
) -> None:
    table, _ = faulty(shared, *[_process(0)] * 1000)
    with pytest.raises(errors.ThrottledError):
        await table.put_many([item("a")])
    with pytest.raises(errors.ThrottledError):
        await table.get_many([key("a")])


async def test_one_failed_batch_fails_the_writing(shared: Table) -> None:
    table, _ = faulty(shared, refuse(client_error("AccessDeniedException")))
    with pytest.raises(errors.StoreRefusedError):
        await table.put_many([item(f"{number:03}") for number in range(110)])


def _process(count: int) -> Fault:
    """Do a batch's first ``count`` entries and hand the rest back as unprocessed."""

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
