"""One deadline limits several requests to the store and the waits between them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dal.counts.mode import MaintenanceStore
from dal.dynamodb import gate, retries
from dal.dynamodb.concurrency import KeyedLocks
from dal.dynamodb.deadline import deadline_in, time_left
from dal.dynamodb.errors import ConflictError, StoreUnavailableError
from dal.dynamodb.retries import retry_on_conflict
from dal.dynamodb.table import Table, TableAddress, connect
from dal.stores import Stores
from tests import oracle, recount
from tests.conftest import Clients, fresh_table
from tests.proxy import (
    Fault,
    Proxy,
    always,
    hang,
    held,
    in_turn,
    late,
    lose,
    slow,
    through_proxy,
)

ROWS = oracle.make_comments("42", 3, seed=5)
KEY = {"PK": {"S": "a"}, "SK": {"S": "a"}}


@pytest.fixture(autouse=True)
def brief_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "DEADLINE", 3600.0)
    monkeypatch.setattr(gate, "ATTEMPT_SECONDS", 0.5)


@pytest.fixture(scope="module")
async def opened(clients: Clients, dynoxide_url: str) -> AsyncIterator[tuple[Table, Proxy]]:
    async with through_proxy(await fresh_table(clients, dynoxide_url)) as both:
        yield both


@pytest.fixture
def proxy(opened: tuple[Table, Proxy]) -> Proxy:
    _, proxy = opened
    proxy.pass_all()
    return proxy


@pytest.fixture
def beyond(opened: tuple[Table, Proxy], proxy: Proxy) -> Table:
    """The table, reached through the proxy."""
    table, _ = opened
    return Table(table.service, table.name)


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """Set a deadline. Without it, the retries of a call would not end within the test."""
    with deadline_in(seconds):
        yield


async def test_work_has_no_deadline_unless_one_is_set() -> None:
    assert (time_left(), time_left(7)) == (None, 7)
    async with within(60):
        assert 0 < (time_left() or 0) <= 60
        assert time_left(3) == 3
        assert await asyncio.create_task(_left()) <= 60
    async with within(0):
        assert time_left(3) == 0
    assert time_left() is None


async def _left() -> float:
    return time_left() or 0


async def test_several_calls_share_a_deadline(beyond: Table, proxy: Proxy) -> None:
    proxy.choose = always(slow(0.2))
    async with within(0.8):
        with pytest.raises(StoreUnavailableError, match="try again"):
            await _get_again_and_again(beyond)
    assert len(proxy.seen) <= 5


async def _get_again_and_again(table: Table) -> None:
    for _ in range(10):
        await table.get(KEY)


async def test_nothing_is_sent_after_the_deadline(beyond: Table, proxy: Proxy) -> None:
    async with within(0):
        with pytest.raises(StoreUnavailableError):
            await beyond.write([{"Put": {"Item": KEY}}])
        with pytest.raises(StoreUnavailableError):
            await beyond.get(KEY)
    await asyncio.sleep(0.1)
    assert proxy.seen == []


async def test_a_lost_response_is_retried_before_the_deadline(beyond: Table, proxy: Proxy) -> None:
    proxy.choose = in_turn("GetItem", [hang, lose])
    async with within(60):
        assert await beyond.get(KEY) is None
    assert len(proxy.seen) >= 3


@pytest.mark.parametrize("fault", [lose, late(0.7), slow(0.7)])
async def test_a_write_without_a_response_is_sent_again_and_done_once(
    each_table: Table, fault: Fault
) -> None:
    """When the second attempt is sent, the first was executed, still runs, or has not arrived."""
    add = {
        "Key": KEY,
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    async with (
        through_proxy(each_table) as (beyond, proxy),
        within(60),
    ):
        proxy.choose = in_turn("TransactWriteItems", [fault])
        await beyond.write([{"Update": add}])
        await asyncio.sleep(0.4)
    sent = proxy.asked("TransactWriteItems")
    assert len(sent) >= 2
    assert len(set(sent)) == 1, "under one token"
    assert ((await each_table.get(KEY)) or {})["n"] == {"N": "1"}


async def test_the_deadline_ends_the_retries_of_conflicts() -> None:
    async def conflict() -> None:
        raise ConflictError("Others.")

    async with within(0.2):
        with pytest.raises(ConflictError, match="Others"):
            await retry_on_conflict(conflict, 60)


async def test_the_deadline_ends_the_wait_for_a_lock() -> None:
    locks = KeyedLocks()
    async with locks.hold(["a"], deadline=None), within(0.1):
        with pytest.raises(ConflictError):
            async with locks.hold(["a"], deadline=None):
                pytest.fail("it is taken")


@pytest.mark.parametrize("takes", [0.8, 0.3])
async def test_the_deadline_ends_a_slow_read_of_the_maintenance_mode(
    beyond: Table, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, takes: float
) -> None:
    """The response is lost at the deadline, or arrives too old to use."""
    monkeypatch.setattr("dal.counts.mode.KEPT_SECONDS", 0.2)
    proxy.choose = always(late(takes))
    async with within(1):
        with pytest.raises(StoreUnavailableError):
            await MaintenanceStore(beyond).current()
    # Wait until the requests sent just before the deadline have arrived.
    await asyncio.sleep(0.3)
    asked = len(proxy.seen)
    await asyncio.sleep(0.5)
    assert len(proxy.seen) == asked


async def test_a_cancelled_read_of_the_mode_does_not_end_that_of_another_task(
    beyond: Table, proxy: Proxy
) -> None:
    proxy.choose = always(late(0.1))
    store = MaintenanceStore(beyond)
    leaving, staying = (asyncio.create_task(store.current()) for _ in range(2))
    await proxy.arrival("GetItem")
    leaving.cancel()
    assert (await staying).complete


async def test_a_group_of_writes_has_the_latest_deadline_of_its_clients(
    beyond: Table, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client with little time left does not shorten the time of the other clients."""
    monkeypatch.setattr(gate, "ATTEMPT_SECONDS", 60)
    store = Stores(beyond).comments
    answered = asyncio.Event()
    proxy.choose = in_turn("TransactWriteItems", [slow(0.1), held(answered)])

    async def add(number: int, seconds: float) -> None:
        async with within(seconds):
            await store.add(ROWS[number])

    first = asyncio.create_task(add(0, 60))
    await proxy.arrival("TransactWriteItems")
    brief, patient = asyncio.create_task(add(1, 3)), asyncio.create_task(add(2, 60))
    with pytest.raises(StoreUnavailableError, match="same idempotency key"):
        await brief
    answered.set()
    await asyncio.gather(first, patient)
    assert len(proxy.asked("TransactWriteItems")) == 2
    assert len(await recount.check(beyond, "42")) == 3


async def test_a_cancelled_write_is_not_begun(beyond: Table, proxy: Proxy) -> None:
    """The client disconnects while the server reads the maintenance mode."""
    store = Stores(beyond).comments
    proxy.choose = in_turn("GetItem", [late(0.2)])
    row = oracle.make_comments("43", 1, seed=6)[0]
    adding = asyncio.create_task(store.add(row))
    await proxy.arrival("GetItem")
    adding.cancel()
    await asyncio.wait([adding])
    await asyncio.sleep(0.4)
    assert proxy.asked("TransactWriteItems") == []
    assert await store.get(row.comment_id) is None


async def test_closing_waits_for_a_write_that_was_sent(table: Table, proxy: Proxy) -> None:
    proxy.choose = in_turn("PutItem", [slow(0.1)])
    async with connect(TableAddress(table.name, proxy.url, embedded=True)) as beyond:
        writing = asyncio.create_task(beyond.write([{"Put": {"Item": KEY}}]))
        await proxy.arrival("PutItem")
        writing.cancel()
    assert await table.get(KEY) == KEY
