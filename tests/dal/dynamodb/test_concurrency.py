"""Concurrent work, locks by name, and bulk requests at a pace."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from dal.dynamodb.account import OPEN, Account
from dal.dynamodb.concurrency import KeyedLocks, Pace, batched, in_parallel
from dal.dynamodb.errors import ConflictError, ThrottledError
from dal.dynamodb.table import Table
from dal.maintenance.verify import count_comments
from dal.stores import Stores
from dal.table.index import QueryResponse
from dal.table.items import Item
from tests import oracle
from tests.putting import put_comments, put_orders
from tests.strategies import order
from tests.writers import ignore


async def test_results_are_in_the_order_of_the_coroutines() -> None:
    async def after(seconds: float, result: str) -> str:
        await asyncio.sleep(seconds)
        return result

    assert await in_parallel([after(0.02, "slow"), after(0, "quick")]) == ["slow", "quick"]
    assert await in_parallel([after(0, "only")]) == ["only"]
    assert await in_parallel([]) == []


async def test_all_coroutines_run_in_parallel() -> None:
    barrier = asyncio.Barrier(3)
    async with asyncio.timeout(60):
        await in_parallel([barrier.wait() for _ in range(3)])


@pytest.mark.parametrize("others", [0, 1, 5])
async def test_the_first_failure_is_raised_unchanged_and_the_rest_are_cancelled(
    others: int,
) -> None:
    cancelled = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    async def failing() -> None:
        await asyncio.sleep(0)
        raise LookupError("the first")

    with pytest.raises(LookupError, match="the first") as caught:
        async with asyncio.timeout(60):
            await in_parallel([*(endless() for _ in range(others)), failing()])
    assert len(cancelled) == others
    assert caught.value.__cause__ is None


async def test_cancelling_the_caller_cancels_every_coroutine() -> None:
    ended = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    whole = asyncio.create_task(in_parallel([endless(), endless()]))
    await asyncio.sleep(0.01)
    whole.cancel()
    with pytest.raises(asyncio.CancelledError):
        await whole
    assert len(ended) == 2


@pytest.mark.parametrize(
    ("items", "batches"),
    [("", []), ("a", ["a"]), ("abc", ["abc"]), ("abcdefg", ["abc", "def", "g"])],
)
def test_batches_keep_all_items_in_order(items: str, batches: list[str]) -> None:
    assert batched(items, 3) == batches


async def test_waiting_tasks_get_a_lock_in_order_one_at_a_time() -> None:
    turns, seen = KeyedLocks(), list[tuple[int, str]]()

    async def write(number: int) -> None:
        async with turns.hold(["p"], deadline=5):
            seen.append((number, "in"))
            await asyncio.sleep(0)
            seen.append((number, "out"))

    await asyncio.gather(*(write(number) for number in range(5)))
    assert seen == [(number, step) for number in range(5) for step in ("in", "out")]


async def test_locks_of_different_names_are_independent() -> None:
    turns = KeyedLocks()
    async with turns.hold(["p"], deadline=1), turns.hold(["q"], deadline=1):
        pass


async def test_locks_taken_in_different_orders_do_not_deadlock() -> None:
    """All tasks take their locks in the same order."""
    turns = KeyedLocks()

    async def write(names: list[str]) -> None:
        async with turns.hold(names, deadline=5):
            await asyncio.sleep(0.001)

    pairs = [["a", "b"], ["b", "a"], ["c", "a", "b"], ["b", "c", "b"]] * 10
    async with asyncio.timeout(60):
        await asyncio.gather(*map(write, pairs))


async def test_a_failed_wait_for_several_locks_releases_all_of_them() -> None:
    turns = KeyedLocks()
    async with turns.hold(["b"], deadline=1):
        with pytest.raises(ConflictError, match="try again"):
            async with turns.hold(["a", "b"], deadline=0.02):
                pytest.fail("b is taken")
        async with turns.hold(["a"], deadline=0.5):
            pass


async def test_locks_without_users_are_dropped() -> None:
    turns = KeyedLocks()
    async with turns.hold(["a", "b"], deadline=1):
        assert len(turns._locks) == 2
    assert len(turns._locks) == 0


async def test_a_failure_releases_the_lock() -> None:
    turns = KeyedLocks()
    with pytest.raises(ThrottledError):
        async with turns.hold(["p"], deadline=1):
            raise ThrottledError("Busy.")
    async with turns.hold(["p"], deadline=1):
        pass


UNITS = 100


class Clock:
    """A clock that advances only while a task waits for its turn."""

    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += max(0.0, seconds)
        await asyncio.sleep(0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("dal.dynamodb.concurrency.sleep", clock.sleep)
    monkeypatch.setattr("dal.dynamodb.concurrency.monotonic", lambda: clock.now)
    return clock


def count(operation: str, response: dict[str, object]) -> None:
    """Add the capacity of a response to the current account."""
    OPEN.get().add(operation, response)


async def test_consumption_never_exceeds_the_pace_and_the_requests_in_progress(
    clock: Clock,
) -> None:
    pace, at_once, each = Pace(UNITS), asyncio.Semaphore(4), 100
    looks = [(0.0, 0)]

    async def write(number: int) -> None:
        async with at_once, pace.turn():
            await asyncio.sleep(0.001 * (number % 5))
            units = each if number % 3 else 5 * each
            count("transact_write_items", {"ConsumedCapacity": [{"CapacityUnits": units}]})
            looks.append((clock.now, looks[-1][1] + units))

    await asyncio.gather(*(write(number) for number in range(24)))
    assert all(units <= UNITS * now + 4 * 5 * each for now, units in looks)
    assert all(now <= then for (now, _), (then, _) in pairwise(looks))
    assert clock.now < 1.5 * looks[-1][1] / UNITS  # and no task waits longer than necessary


async def stays_below_its_units(
    table: Table, clock: Clock, write: Callable[[Stores], Awaitable[object]]
) -> None:
    """Assert that the rate of a bulk write stays below its write units, and is close to them."""
    table.pace = Pace(UNITS)
    consumed: list[float] = []
    real = table.once

    async def once(operation: str, **arguments: object) -> dict[str, object]:
        with Account() as account:
            answer = await real(operation, **arguments)
        consumed.append(account.wcu)
        count(operation, answer)
        return answer

    table.once = once
    await write(Stores(table))
    assert sum(consumed) > 10 * UNITS
    begin = 4 * 1_000  # the expected consumption of the first four
    assert sum(consumed) - 4 * max(consumed) < clock.now * UNITS < 2 * sum(consumed) + begin


async def test_a_bulk_write_stays_below_its_write_units(table: Table, clock: Clock) -> None:
    orders = [order(str(number)) for number in range(300)]
    await stays_below_its_units(table, clock, lambda stores: put_orders(stores.table, orders))


async def test_scans_stay_below_their_read_units(table: Table, clock: Clock) -> None:
    rows = oracle.make_comments("42", 200, seed=6)
    await put_comments(Stores(table).comments, [row._replace(text="word " * 400) for row in rows])
    consumed: list[float] = []
    real = table.scan

    async def scan(segment: int, segments: int, start: Item | None) -> QueryResponse:
        answer = await real(segment, segments, start)
        consumed.append(answer.capacity)
        return answer

    table.scan = scan  # type: ignore[method-assign]
    table.read_pace = Pace(UNITS, reads=True)
    for _ in range(10):
        await count_comments(table, ignore)
    assert sum(consumed) > 5 * UNITS
    assert sum(consumed) - 4 * max(consumed) < clock.now * UNITS < 2 * sum(consumed) + 4 * 256
