import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from dal.client.table import Table
from dal.errors import ThrottledError
from dal.repositories.comments import CommentRepository, Selection
from dal.statistics import counter_items
from dal.statistics.counts import RatingCounts, StatisticsKey
from dal.statistics.reader import KEPT_PRODUCTS, KEPT_SECONDS, StatisticsReader
from dal.table.index import TABLE
from dal.table.items import Item
from dal.table.requests import QueryAnswer, QueryRequest
from tests import oracle


@dataclass
class Counted:
    """Answers each Query with as many fives as Queries were asked before; one item a Query."""

    requests: list[QueryRequest] = field(default_factory=list)
    pages: int = 1
    fault: Exception | None = None
    meanwhile: Callable[[], None] = lambda: None

    async def __call__(self, request: QueryRequest) -> QueryAnswer:
        self.requests.append(request)
        number = len(self.requests)
        await asyncio.sleep(0)
        self.meanwhile()
        if self.fault is not None:
            raise self.fault
        item = counter_items.encode(_key(number), RatingCounts((0, 0, 0, 0, number)))
        last_key: Item | None = {"SK": item["SK"]} if number % self.pages else None
        return QueryAnswer([item], last_key, 0.5)


def _key(number: int) -> StatisticsKey:
    return StatisticsKey("42", None if number == 1 else f"en-{number:03}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("dal.statistics.reader.time.monotonic", lambda: now[0])
    return now


async def test_one_query_reads_all_items_of_the_product(each_table: Table) -> None:
    rows = oracle.make_comments("4/2", 40, seed=1)
    store = CommentRepository(each_table)
    await store.put_many(rows + oracle.make_comments("4", 5, seed=2))
    spent: list[float] = []
    statistics = await StatisticsReader(each_table.query).read(
        "4/2", consistent=True, spend=spent.append
    )
    for selection in oracle.selections("4/2"):
        wanted = len(oracle.selected(rows, selection))
        assert statistics.count(selection.query()) == wanted
    assert len(spent) == 1


async def test_reading_consistently_costs_twice(table: Table) -> None:
    store = StatisticsReader(table.query)
    spent: list[float] = []
    for consistent in (False, True):
        await store.read("42", consistent=consistent, spend=spent.append)
    assert spent == [0.5, 1.0]


async def test_it_asks_the_table_itself() -> None:
    run = Counted()
    await StatisticsReader(run).read("42", consistent=True)
    (request,) = run.requests
    assert (request.index, request.partition) == (TABLE, "PRODUCT#42")
    assert request.consistent
    assert (request.range.low, request.range.high) == ("S", "S#\U0010ffff")


async def test_it_reads_on_to_the_end() -> None:
    run = Counted(pages=3)
    spent: list[float] = []
    statistics = await StatisticsReader(run).read("42", consistent=False, spend=spent.append)
    assert len(statistics.by_language) == 2
    assert spent == [0.5, 0.5, 0.5]
    assert [request.start is None for request in run.requests] == [True, False, False]


async def test_recent_statistics_are_read_once_in_a_while(clock: list[float]) -> None:
    run = Counted()
    store = StatisticsReader(run)
    spent: list[float] = []
    first = await store.recent("42", spend=spent.append)
    clock[0] += KEPT_SECONDS - 0.1
    assert await store.recent("42", spend=spent.append) is first
    assert spent == [0.5]
    clock[0] += 0.1
    assert await store.recent("42") is not first
    assert len(run.requests) == 2


async def test_a_read_is_never_answered_from_memory() -> None:
    run = Counted()
    store = StatisticsReader(run)
    await store.recent("42")
    await store.read("42", consistent=True)
    assert len(run.requests) == 2


async def test_an_own_write_is_seen_at_once() -> None:
    run = Counted()
    store = StatisticsReader(run)
    first = await store.recent("42")
    store.forget(["42", "never read"])
    assert await store.recent("42") is not first


async def test_what_was_read_while_a_write_ended_is_not_kept() -> None:
    run = Counted()
    store = StatisticsReader(run)
    run.meanwhile = lambda: store.forget(["42"])
    await store.recent("42")
    run.meanwhile = lambda: None
    await store.recent("42")
    await store.recent("42")
    assert len(run.requests) == 2


async def test_a_failed_read_is_read_again() -> None:
    run = Counted(fault=ThrottledError("Busy."))
    store = StatisticsReader(run)
    with pytest.raises(ThrottledError):
        await store.recent("42")
    run.fault = None
    await store.recent("42")
    assert len(run.requests) == 2


async def test_so_many_products_are_kept() -> None:
    run = Counted()
    store = StatisticsReader(run)
    for number in range(KEPT_PRODUCTS + 1):
        await store.recent(f"p{number}")
    await store.recent(f"p{KEPT_PRODUCTS}")
    assert len(run.requests) == KEPT_PRODUCTS + 1
    await store.recent("p0")
    assert len(run.requests) == KEPT_PRODUCTS + 2


async def test_a_stores_own_writes_reach_its_planning(table: Table) -> None:
    store = CommentRepository(table)
    rows = oracle.make_comments("42", 3, seed=1)
    totals = []
    for row in rows:
        await store.add(row)
        totals.append((await store.statistics.recent("42")).total)
    await store.update(rows[0].comment_id, {"rating": 1}, lambda _: None)
    ones = Selection("42", frozenset({1})).query()
    assert (await store.statistics.recent("42")).count(ones) == (
        1 + sum(row.rating == 1 for row in rows[1:])
    )
    await store.delete(rows[0].comment_id, lambda _: None)
    totals.append((await store.statistics.recent("42")).total)
    await store.put_many(rows)
    totals.append((await store.statistics.recent("42")).total)
    assert totals == [1, 2, 3, 2, 3]


async def test_each_item_is_decoded_once(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is shown and for places on leaderboards alike."""
    store = CommentRepository(table)
    await store.put_many(oracle.make_comments("42", 40, seed=1))
    decoded: list[Item] = []
    decode = counter_items.decode

    def counted(item: Item) -> tuple[StatisticsKey, RatingCounts]:
        decoded.append(item)
        return decode(item)

    monkeypatch.setattr(counter_items, "decode", counted)
    statistics, _ = await store.statistics.read_with_details("42")
    assert statistics.total == 40
    names = [item["SK"]["S"] for item in decoded]
    assert {f"S#{language}" for language in statistics.by_language} <= set(names)
    assert len(names) == len(set(names))
