"""What the planner knows of a product: its counts and how large its rows are."""

from datetime import timedelta

import pytest

from dal.client.table import Table
from dal.entities.comment import COMMENT, comment_position
from dal.entities.entity import Row
from dal.model.key_parts import format_instant
from dal.query.pagination import Slice
from dal.query.plan import EqualityKey, Query, equality_keys
from dal.query.protocols import RangeRead, TableStatistics
from dal.query.trace import ExecutionStatistics
from dal.repositories.comments import CommentRepository, Selection
from dal.statistics.maintenance_mode import MaintenanceStore
from dal.statistics.reader import StatisticsReader
from dal.statistics.table_statistics import ProductStatisticsProvider
from dal.table.ranges import UNBOUNDED, Range
from dal.table.requests import QueryRequest
from tests.strategies import TIES, comment

QUERY = Selection("42", frozenset({1, 2}), frozenset({"en"})).query()
QUERY_KEY = frozenset({("product", "42")})


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


async def test_the_first_look_measures_rows_and_the_next_does_not(table: Table) -> None:
    rows = [comment(f"{n}", product_id="42", text="x" * 1_000, language="en") for n in range(9)]
    await CommentRepository(table).put_many(rows)
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


async def test_a_row_has_one_size_whichever_index_it_is_read_from(table: Table) -> None:
    """Otherwise the pages of one list would be planned by sizes that creep."""
    rows = [comment(f"{n}", product_id="42", language="en", rating=1) for n in range(9)]
    await CommentRepository(table).put_many(rows)
    provider = provider_of(table)
    before = (await known(provider, ExecutionStatistics("AP3a"))).row_bytes
    values = {"product": "42", "language": "en", "rating": "1", "author": rows[0].username}
    for index in COMMENT.indexes:
        answer = await table.query(QueryRequest(index, index.partition_of(values), limit=9))
        assert len(answer.items) == 9
        rows_seen = [Row(item[index.sort_key]["S"], item, values) for item in answer.items]
        provider.observe(QUERY, [RangeRead(frozenset(values.items()), Range(), rows_seen)])
        assert (await known(provider, ExecutionStatistics("AP3a"))).row_bytes == before


async def test_nothing_is_known_of_a_product_without_statistics(table: Table) -> None:
    reading = ExecutionStatistics("AP3a")
    assert await provider_of(table).inexact(QUERY, reading) is None
    assert reading.planning_requests == 1


async def test_what_was_read_is_remembered_of_the_products_read_last(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dal.statistics.table_statistics.KEPT_LOCATIONS", 50)  # two lists' weight
    provider = provider_of(table)
    store = CommentRepository(table)
    for product in ("1", "2", "3"):
        await store.put_many([comment(product, product_id=product, rating=5)])
    queries = [Selection(product, frozenset({5})).query() for product in ("1", "2", "3")]
    for query in queries:
        provider.observe(query, [RangeRead(frozenset(), UNBOUNDED, [])])
    for query, known in zip(queries, (False, True, True), strict=True):
        statistics = await provider.inexact(query, ExecutionStatistics("AP3b"))
        assert statistics is not None
        page = statistics.located(keys_of(query), UNBOUNDED, descending=True, count=1)
        assert (page is not None) == known


async def test_sizes_are_those_that_the_engine_counts(table: Table) -> None:
    """A page of rows remembered to fill a block costs just that block."""
    rows = [
        comment(f"é{n}", product_id="42", text="日本" * 100, rating=5, language="ja")
        for n in range(20)
    ]
    store = CommentRepository(table)
    await store.put_many(rows)
    several = Selection("42", frozenset({4, 5}))
    await store.page(several, Slice(20))
    for limit in range(1, 20):
        reading = (await store.page(several, Slice(limit))).stats
        assert reading.consumed_capacity == reading.estimated_capacity


async def test_what_is_not_counted_by_is_neither_remembered_nor_proved(table: Table) -> None:
    rows = [comment(f"{n}", product_id="42", language="en", rating=1) for n in range(3)]
    await CommentRepository(table).put_many(rows)
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
    assert statistics.located(keys_of(by_mood), UNBOUNDED, descending=True, count=1) is None
    page = statistics.located(keys_of(QUERY), UNBOUNDED, descending=False, count=9)
    assert page is not None
    assert (page.rows, page.until) == (len(read), None)


async def test_the_part_of_a_time_is_guessed_from_the_oldest_and_the_newest(table: Table) -> None:
    start = TIES[0]
    rows = [
        comment(f"{n}", product_id="42", created_at=start + timedelta(days=n)) for n in range(11)
    ]
    await CommentRepository(table).put_many(rows)
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
