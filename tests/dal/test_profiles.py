"""What the planner knows of a product: its counts and how large its rows are."""

from dal.comments import CommentStore, Selection
from dal.counting import CountingStore
from dal.dynamodb import Table
from dal.indexes import COMMENT_INDEXES
from dal.plans import Profile
from dal.positions import UNBOUNDED, Range
from dal.profiles import CommentProfiles
from dal.reading import Reading
from dal.requests import QueryRequest
from dal.slices import Slice
from dal.statistics_store import StatisticsStore
from dal.timelines import Sighting
from tests.strategies import comment

QUERY = Selection("42", frozenset({1, 2}), frozenset({"en"})).query()


def profiles_of(table: Table) -> CommentProfiles:
    return CommentProfiles(table.query, StatisticsStore(table.query), CountingStore(table))


async def known(profiles: CommentProfiles, reading: Reading) -> Profile:
    profile = await profiles.recent(QUERY, reading)
    assert profile is not None
    return profile


async def test_the_first_look_measures_rows_and_the_next_does_not(table: Table) -> None:
    rows = [comment(f"{n}", product_id="42", text="x" * 1_000, language="en") for n in range(9)]
    await CommentStore(table).put_many(rows)
    profiles, first, second = profiles_of(table), Reading("AP3a"), Reading("AP3a")
    seen = await known(profiles, first)
    assert 1_000 < seen.row_bytes < 1_400
    assert seen.count(QUERY.filters) == sum(one.rating in {1, 2} for one in rows)
    assert (first.planning_requests, first.requests) == (2, 0)
    assert (await known(profiles, second)).row_bytes == seen.row_bytes
    assert second.planning_requests == 0


async def test_a_row_has_one_size_whichever_index_it_is_read_from(table: Table) -> None:
    """Otherwise the pages of one list would be planned by sizes that creep."""
    rows = [comment(f"{n}", product_id="42", language="en", rating=1) for n in range(9)]
    await CommentStore(table).put_many(rows)
    profiles = profiles_of(table)
    before = (await known(profiles, Reading("AP3a"))).row_bytes
    values = {"product": "42", "language": "en", "rating": "1"}
    for index in COMMENT_INDEXES:
        partition = (index.partition_key, index.partition_of(values))
        answer = await table.query(
            QueryRequest(index.name, partition, index.sort_key, Range(), True, 9)
        )
        assert len(answer.items) == 9
        rows_seen = [(row[index.sort_key]["S"], row) for row in answer.items]
        profiles.learn(QUERY, [Sighting(frozenset(values.items()), Range(), rows_seen)])
        assert (await known(profiles, Reading("AP3a"))).row_bytes == before


async def test_nothing_is_known_of_a_product_without_statistics(table: Table) -> None:
    reading = Reading("AP3a")
    assert await profiles_of(table).recent(QUERY, reading) is None
    assert reading.planning_requests == 1


async def test_what_was_read_is_remembered_of_the_products_read_last(table: Table) -> None:
    profiles = CommentProfiles(
        table.query, StatisticsStore(table.query), CountingStore(table), timelines=2
    )
    store = CommentStore(table)
    for product in ("1", "2", "3"):
        await store.put_many([comment(product, product_id=product, rating=5)])
    queries = [Selection(product, frozenset({5})).query() for product in ("1", "2", "3")]
    for query in queries:
        profiles.learn(query, [Sighting(frozenset(), UNBOUNDED, [])])
    for query, known in zip(queries, (False, True, True), strict=True):
        profile = await profiles.recent(query, Reading("AP3b"))
        assert profile is not None
        page = profile.timeline.page(query.filters, UNBOUNDED, descending=True, count=1)
        assert page == ([] if known else None)


async def test_sizes_are_those_that_the_engine_counts(table: Table) -> None:
    """A page of rows remembered to fill a block costs just that block."""
    rows = [
        comment(f"é{n}", product_id="42", text="日本" * 100, rating=5, language="ja")
        for n in range(20)
    ]
    store = CommentStore(table)
    await store.put_many(rows)
    several = Selection("42", frozenset({4, 5}))
    await store.page(several, Slice(20))
    for limit in range(1, 20):
        reading = (await store.page(several, Slice(limit))).reading
        assert reading.consumed_capacity == reading.estimated_capacity
