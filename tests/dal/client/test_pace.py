"""Writes of many items keep to a number of write units, as the store counts them."""

import asyncio
from itertools import pairwise

import pytest

from dal.account import note_response, opened
from dal.client.concurrency import Pace
from dal.client.table import Table
from dal.maintenance.verify import count_comments
from dal.stores import Stores
from dal.table.index import QueryResponse
from dal.table.items import Item
from tests import oracle
from tests.strategies import order
from tests.writers import ignore

UNITS = 100


class Clock:
    """Time that goes by only while somebody waits for his turn."""

    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += max(0.0, seconds)
        await asyncio.sleep(0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("dal.client.concurrency.sleep", clock.sleep)
    monkeypatch.setattr("dal.client.concurrency.monotonic", lambda: clock.now)
    return clock


async def test_no_moment_sees_more_than_the_units_so_far_and_what_is_under_way(
    clock: Clock,
) -> None:
    pace, at_once, each = Pace(UNITS), asyncio.Semaphore(4), 100
    looks = [(0.0, 0)]

    async def write(number: int) -> None:
        async with at_once, pace.turn():
            await asyncio.sleep(0.001 * (number % 5))
            units = each if number % 3 else 5 * each
            note_response("transact_write_items", {"ConsumedCapacity": [{"CapacityUnits": units}]})
            looks.append((clock.now, looks[-1][1] + units))

    await asyncio.gather(*(write(number) for number in range(24)))
    assert all(units <= UNITS * now + 4 * 5 * each for now, units in looks)
    assert all(now <= then for (now, _), (then, _) in pairwise(looks))
    assert clock.now < 1.5 * looks[-1][1] / UNITS  # nor does it dawdle


@pytest.mark.parametrize("kind", ["comments", "orders"])
async def test_what_is_loaded_keeps_to_its_units(table: Table, clock: Clock, kind: str) -> None:
    table.pace = Pace(UNITS)
    told: list[float] = []
    real = table.once

    async def once(operation: str, **arguments: object) -> dict[str, object]:
        with opened() as account:
            answer = await real(operation, **arguments)
        told.append(account.wcu)
        note_response(operation, answer)
        return answer

    table.once = once  # type: ignore[method-assign]
    if kind == "comments":
        await Stores(table).comments.put_many(oracle.make_comments("42", 400, seed=6))
    else:
        await Stores(table).orders.put_many([order(str(number)) for number in range(300)])
    assert sum(told) > 10 * UNITS
    begin = 4 * 1_000  # what the first are taken for until they tell
    assert sum(told) - 4 * max(told) < clock.now * UNITS < 2 * sum(told) + begin


async def test_scans_keep_to_their_units(table: Table, clock: Clock) -> None:
    rows = oracle.make_comments("42", 200, seed=6)
    await Stores(table).comments.put_many([row._replace(text="word " * 400) for row in rows])
    told: list[float] = []
    real = table.scan

    async def scan(segment: int, segments: int, start: Item | None) -> QueryResponse:
        answer = await real(segment, segments, start)
        told.append(answer.capacity)
        return answer

    table.scan = scan  # type: ignore[method-assign]
    table.read_pace = Pace(UNITS, reads=True)
    for _ in range(10):
        await count_comments(table, ignore)
    assert sum(told) > 5 * UNITS
    assert sum(told) - 4 * max(told) < clock.now * UNITS < 2 * sum(told) + 4 * 256
