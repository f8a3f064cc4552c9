"""The optimizer's statistics of a product: its counts and the size of its rows."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from dal.counts import counter_items
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.counts.mode import MaintenanceStore
from dal.counts.reader import (
    KEPT_PRODUCTS,
    KEPT_SECONDS,
    ProductStatisticsProvider,
    StatisticsReader,
)
from dal.dynamodb.errors import ThrottledError
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, comment_position
from dal.model import Photo
from dal.query.optimizer import PageSpan, TableStatistics
from dal.query.pagination import Slice
from dal.query.plan import EqualityKey, Query, equality_keys
from dal.query.row_locations import RangeRead
from dal.query.statistics import ExecutionStatistics
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.entity import Row
from dal.table.index import BY_DATE, TABLE, QueryRequest, QueryResponse
from dal.table.items import Item
from dal.table.key_parts import format_instant
from dal.table.ranges import UNBOUNDED, Range
from tests import oracle
from tests.putting import put_comments
from tests.strategies import TIES, comment


@dataclass
class Counted:
    """Answers each Query with one item. The n-th response counts n comments rated 5."""

    requests: list[QueryRequest] = field(default_factory=list)
    pages: int = 1
    fault: Exception | None = None
    meanwhile: Callable[[], None] = lambda: None

    async def __call__(self, request: QueryRequest) -> QueryResponse:
        self.requests.append(request)
        number = len(self.requests)
        await asyncio.sleep(0)
        self.meanwhile()
        if self.fault is not None:
            raise self.fault
        item = counter_items.encode(_key(number), RatingCounts((0, 0, 0, 0, number)))
        last_key: Item | None = {"SK": item["SK"]} if number % self.pages else None
        return QueryResponse([item], last_key, 0.5)


def _key(number: int) -> StatisticsKey:
    return StatisticsKey("42", None if number == 1 else f"en-{number:03}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("dal.counts.reader.time.monotonic", lambda: now[0])
    return now


async def test_one_query_reads_all_items_of_the_product(each_table: Table) -> None:
    rows = oracle.make_comments("4/2", 40, seed=1)
    store = Stores(each_table)
    await put_comments(store.comments, rows + oracle.make_comments("4", 5, seed=2))
    spent: list[float] = []
    statistics = await StatisticsReader(each_table.query).read(
        "4/2", consistent=True, spend=spent.append
    )
    for selection in oracle.selections("4/2"):
        wanted = len(oracle.selected(rows, selection))
        assert statistics.count(selection.query()) == wanted
    assert len(spent) == 1


async def test_statistics_are_read_from_the_table_and_not_from_an_index() -> None:
    run = Counted()
    await StatisticsReader(run).read("42", consistent=True)
    (request,) = run.requests
    assert (request.index, request.partition) == (TABLE, "PRODUCT#42")
    assert request.consistent
    assert (request.range.low, request.range.high) == ("S", "S#\U0010ffff")


async def test_statistics_are_read_to_the_end_of_the_range() -> None:
    run = Counted(pages=3)
    spent: list[float] = []
    statistics = await StatisticsReader(run).read("42", consistent=False, spend=spent.append)
    assert len(statistics.by_language) == 2
    assert spent == [0.5, 0.5, 0.5]
    assert [request.start is None for request in run.requests] == [True, False, False]


async def test_recent_statistics_are_cached_for_some_seconds(clock: list[float]) -> None:
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


async def test_a_consistent_read_is_never_answered_from_memory() -> None:
    run = Counted()
    store = StatisticsReader(run)
    await store.recent("42")
    await store.read("42", consistent=True)
    assert len(run.requests) == 2


async def test_a_read_includes_the_process_own_writes() -> None:
    run = Counted()
    store = StatisticsReader(run)
    first = await store.recent("42")
    store.ended(["42", "never read"])
    assert await store.recent("42") is not first


async def test_statistics_read_during_a_write_are_not_cached() -> None:
    run = Counted()
    store = StatisticsReader(run)
    run.meanwhile = lambda: store.ended(["42"])
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


async def test_the_number_of_cached_products_is_limited() -> None:
    run = Counted()
    store = StatisticsReader(run)
    for number in range(KEPT_PRODUCTS + 1):
        await store.recent(f"p{number}")
    await store.recent(f"p{KEPT_PRODUCTS}")
    assert len(run.requests) == KEPT_PRODUCTS + 1
    await store.recent("p0")
    assert len(run.requests) == KEPT_PRODUCTS + 2


async def test_planning_uses_the_process_own_writes(table: Table) -> None:
    store = Stores(table)
    rows = oracle.make_comments("42", 3, seed=1)
    totals = []
    for row in rows:
        await store.comments.add(row)
        totals.append((await store.statistics.recent("42")).total)
    await store.comments.update(rows[0].comment_id, {"rating": 1}, lambda _: None)
    ones = Selection("42", frozenset({1})).query()
    assert (await store.statistics.recent("42")).count(ones) == (
        1 + sum(row.rating == 1 for row in rows[1:])
    )
    await store.comments.delete(rows[0].comment_id, lambda _: None)
    totals.append((await store.statistics.recent("42")).total)
    await put_comments(store.comments, rows)
    totals.append((await store.statistics.recent("42")).total)
    assert totals == [1, 2, 3, 2, 3]


async def test_each_item_is_decoded_once(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts on pages and ranks on leaderboards share the decoded item."""
    store = Stores(table)
    await put_comments(store.comments, oracle.make_comments("42", 40, seed=1))
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


QUERY = Selection("42", frozenset({1, 2}), frozenset({"en"})).query()


def keys_of(query: Query) -> list[EqualityKey]:
    return list(equality_keys(query.filters))


def provider_of(table: Table) -> ProductStatisticsProvider:
    return ProductStatisticsProvider(
        table.query, StatisticsReader(table.query), MaintenanceStore(table)
    )


async def known(
    provider: ProductStatisticsProvider, reading: ExecutionStatistics
) -> TableStatistics:
    statistics = await provider.inexact(QUERY, reading)
    assert statistics is not None
    return statistics


async def test_only_the_first_read_of_a_product_reads_rows_for_their_size(table: Table) -> None:
    rows = [comment(f"{n}", product_id="42", text="x" * 1_000, language="en") for n in range(9)]
    await put_comments(Stores(table).comments, rows)
    provider, first, second = (
        provider_of(table),
        ExecutionStatistics("AP3a"),
        ExecutionStatistics("AP3a"),
    )
    seen = await known(provider, first)
    assert 1_000 < seen.row_bytes < 1_400
    assert seen.cardinality(QUERY.filters) == sum(one.rating in {1, 2} for one in rows)
    assert (first.planning_requests, first.requests) == (2, 0)
    assert (await known(provider, second)).row_bytes == seen.row_bytes
    assert second.planning_requests == 0


async def test_a_row_has_the_same_size_in_every_index(table: Table) -> None:
    """Otherwise the estimated row size would change with the index that a page reads."""
    one = comment(product_id="42", language="en-US", rating=1, verified_purchase=True)
    one = one._replace(photos=(Photo("https://shop.example/kettle.jpg"),))
    rows = [one._replace(comment_id=f"{n}") for n in range(9)]
    await put_comments(Stores(table).comments, rows)
    provider = provider_of(table)
    before = (await known(provider, ExecutionStatistics("AP3a"))).row_bytes
    values = {"product": "42", "language": "en", "rating": "1", "author": rows[0].username}
    values |= {"verified": "true", "hasPhotos": "true", "locale": "en-US"}
    for index in (one for one in COMMENT.indexes if one.order == BY_DATE):
        answer = await table.query(QueryRequest(index, index.partition_of(values), limit=9))
        assert len(answer.items) == 9
        rows_seen = [Row(item[index.sort_key]["S"], item, values) for item in answer.items]
        provider.observe(QUERY, [RangeRead(frozenset(values.items()), Range(), rows_seen)])
        assert (await known(provider, ExecutionStatistics("AP3a"))).row_bytes == before


async def test_a_product_without_statistics_has_no_estimate(table: Table) -> None:
    reading = ExecutionStatistics("AP3a")
    assert await provider_of(table).inexact(QUERY, reading) is None
    assert reading.planning_requests == 1


async def test_row_locations_are_remembered_for_the_products_that_were_read_last(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The weight of two products' locations.
    monkeypatch.setattr("dal.counts.reader.KEPT_LOCATIONS", 50)
    provider = provider_of(table)
    store = Stores(table)
    for product in ("1", "2", "3"):
        await put_comments(store.comments, [comment(product, product_id=product, rating=5)])
    queries = [Selection(product, frozenset({5})).query() for product in ("1", "2", "3")]
    for query in queries:
        (product,) = query.filters["product"]
        provider.observe(query, [RangeRead(frozenset({("product", product)}), UNBOUNDED, [])])
    for query, known in zip(queries, (False, True, True), strict=True):
        statistics = await provider.inexact(query, ExecutionStatistics("AP3b"))
        assert statistics is not None
        page = statistics.located(keys_of(query), PageSpan(UNBOUNDED, 1, descending=True))
        assert (page is not None) == known


async def test_row_locations_are_weighed_again_when_only_their_requested_keys_have_grown(
    table: Table,
) -> None:
    provider, one = provider_of(table), comment("1", product_id="42", language="en", rating=1)
    whole = {("product", "42")}
    rows = [Row(comment_position(one), COMMENT.encode(one), dict(whole))]
    for key in (whole, whole | {("rating", "1")}, whole | {("language", "en")}):
        provider.observe(QUERY, [RangeRead(frozenset(key), UNBOUNDED, rows)])
        assert provider.locations.currsize == provider.locations["42"].weight()


async def test_sizes_equal_those_of_the_engine(table: Table) -> None:
    """The estimate is exact even if the page's rows fill exactly one block of read capacity."""
    rows = [
        comment(f"é{n}", product_id="42", text="日本" * 100, rating=5, language="ja")
        for n in range(20)
    ]
    store = Stores(table)
    await put_comments(store.comments, rows)
    several = Selection("42", frozenset({4, 5}))
    await store.comments.page(several, Slice(20))
    for limit in range(1, 20):
        reading = (await store.comments.page(several, Slice(limit))).stats
        assert reading.consumed_capacity == reading.estimated_capacity


async def test_uncounted_fields_are_neither_remembered_nor_proved_empty(table: Table) -> None:
    rows = [comment(f"{n}", product_id="42", language="en", rating=1) for n in range(3)]
    await put_comments(Stores(table).comments, rows)
    provider = provider_of(table)
    by_mood = Query("?", {**QUERY.filters, "mood": frozenset({"glad"})})
    values = {"product": "42"}
    read = [Row(comment_position(row), COMMENT.encode(row), values) for row in rows]
    provider.observe(QUERY, [RangeRead(frozenset(values.items()), UNBOUNDED, read)])
    glad = frozenset({**values, "mood": "glad"}.items())
    provider.observe(by_mood, [RangeRead(glad, UNBOUNDED, read)])
    keys = [frozenset({**values, name: "2"}.items()) for name in ("language", "rating", "mood")]
    stats = ExecutionStatistics("AP3a")
    assert set(await provider.empty(by_mood, keys, stats)) == set(keys[:2])
    assert (stats.requests, stats.consumed_capacity) == (1, 1.0)
    statistics = await provider.inexact(by_mood, stats)
    assert statistics is not None
    assert statistics.cardinality(by_mood.filters) == 3
    span = PageSpan(UNBOUNDED, 9, descending=False)
    assert statistics.located(keys_of(by_mood), span) is None
    page = (await known(provider, stats)).located(keys_of(QUERY), span)
    assert page is not None
    assert (page.rows, page.until) == (len(read), None)


async def test_the_fraction_of_rows_in_a_period_is_estimated_from_the_oldest_and_the_newest_row(
    table: Table,
) -> None:
    start = TIES[0]
    rows = [
        comment(f"{n}", product_id="42", created_at=start + timedelta(days=n)) for n in range(11)
    ]
    await put_comments(Stores(table).comments, rows)
    within = Range(
        format_instant(start + timedelta(days=2)), format_instant(start + timedelta(days=5))
    )
    query = Query("?", QUERY.filters, within)
    stats = ExecutionStatistics("AP3a")
    statistics = await provider_of(table).inexact(query, stats)
    assert statistics is not None
    assert stats.planning_requests == 4
    assert statistics.fraction(within) == pytest.approx(0.3)
    assert statistics.fraction(Range(low=within.low)) == pytest.approx(0.8)
    assert statistics.fraction(Range(high=within.low)) == pytest.approx(0.2)
    assert statistics.fraction(Range(low=format_instant(start + timedelta(days=99)))) == 0
