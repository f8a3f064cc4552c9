"""With any statistics, pages equal the oracle's. Only their cost differs."""

import re
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.counts import counter_items
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.counts.reader import StatisticsReader
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.model import RATINGS, Comment
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from tests import oracle
from tests.engines import ROOT
from tests.putting import put_comments
from tests.strategies import FEW

SELECTIONS = list(oracle.selections("42"))[::7]
"""Each rating, each language, and most sets of ratings. The other sets are similar."""

some_ratings = st.none() | st.sets(st.sampled_from(RATINGS), min_size=1).map(frozenset)
some_languages = st.none() | st.sets(st.sampled_from(oracle.LANGUAGES), min_size=1, max_size=3).map(
    frozenset
)
counts = st.sampled_from([0, 0, 0, 1, 2, 7, 40, 10_000])
wrong = st.fixed_dictionaries(
    {language: st.tuples(*[counts] * 5).map(RatingCounts) for language in (None, *oracle.LANGUAGES)}
)


async def lie(table: Table, product: str, said: dict[str | None, RatingCounts]) -> None:
    """Store counts that contradict the comments and their own totals."""
    items = [
        counter_items.encode(StatisticsKey(product, language), counts)
        | {"count_total": {"N": str(counts.of() + 1)}}
        for language, counts in said.items()
    ]
    await table.put_many(items)


@FEW
@given(said=wrong, ratings=some_ratings, languages=some_languages, size=st.sampled_from([3, 20]))
async def test_wrong_statistics_do_not_change_a_page(
    table: Table,
    said: dict[str | None, RatingCounts],
    ratings: frozenset[int] | None,
    languages: frozenset[str] | None,
    size: int,
) -> None:
    product = uuid.uuid4().hex
    data = oracle.make_comments(product, 24, seed=len(str(said)))
    store = Stores(table).comments
    await put_comments(store, data)
    await lie(table, product, said)
    selection = Selection(product, ratings, languages)
    reader = Stores(table).comments
    for backward in (False, True):
        rows = await oracle.walk(reader, selection, size, backward=backward)
        assert rows == oracle.selected(data, selection)


@pytest.mark.parametrize("factor", [0, 3], ids=["too low", "too high"])
async def test_statistics_changed_by_hand_do_not_change_a_page(table: Table, factor: int) -> None:
    """Ratings 1 and 3 have a count of zero, and the totals differ from the sums of the counts."""
    data = oracle.make_comments("42", 60, seed=1)
    await put_comments(Stores(table).comments, data)
    held = await StatisticsReader(table.query).read("42", consistent=True)
    assert held.sound
    for language, counts in [(None, held.overall), *held.by_language.items()]:
        said = RatingCounts((0, factor * counts.of([2]), 0, *counts.by_rating[3:]))
        item = counter_items.encode(StatisticsKey("42", language), said)
        await table.put_many([item | {"count_total": {"N": str(counts.of())}}])
    store = Stores(table).comments
    for selection in SELECTIONS:
        page = await store.page(selection, Slice(20))
        assert page.nodes == oracle.selected(data, selection)[:20]
    page = await store.page(Selection("42", frozenset({1, 3})), Slice(20))
    assert not any(segment.skipped for segment in page.stats.segments)


@pytest.mark.parametrize(
    "said", [{"mode": MaintenanceMode.STREAM}, {"rebuilding": True}, {"complete": False}], ids=str
)
async def test_a_count_of_zero_does_not_skip_a_range_with_uncounted_comments(
    table: Table, said: dict[str, Any]
) -> None:
    data = [one for one in oracle.make_comments("42", 80, seed=1) if one.rating in {1, 5}]
    await put_comments(Stores(table).comments, data)
    counting = MaintenanceStore(table)
    await counting.announce(await counting.read(), **said)
    uncounted = data[0]._replace(comment_id="uncounted", rating=3)
    await table.put_many([COMMENT.encode(uncounted)])
    page = await Stores(table).comments.counted_page(
        Selection("42", frozenset({2, 3, 4})), Slice(20)
    )
    assert (page.nodes, page.total_count) == ([uncounted], None)
    assert not any(segment.skipped for segment in page.stats.segments)


async def test_missing_statistics_do_not_change_a_page(table: Table) -> None:
    data = oracle.make_comments("42", 60, seed=1)
    store = Stores(table).comments
    await put_comments(store, data)
    keys = [counter_items.item_key(StatisticsKey("42", one)) for one in (None, *oracle.LANGUAGES)]
    await table.write([{"Delete": {"Key": key}} for key in keys])
    for selection in SELECTIONS:
        page = await Stores(table).comments.page(selection, Slice(20))
        assert page.nodes == oracle.selected(data, selection)[:20]
        assert page.stats.estimated_capacity is None


async def test_a_page_includes_a_comment_that_another_process_has_just_added(table: Table) -> None:
    """There was no comment with this rating, and the reading process has cached older
    statistics.
    """
    data = [one for one in oracle.make_comments("42", 80, seed=1) if one.rating in {1, 5}]
    here, there = Stores(table).comments, Stores(table).comments
    await put_comments(here, data)
    none_yet = Selection("42", frozenset({2, 3, 4}))
    assert (await here.page(none_yet, Slice(20))).nodes == []
    for rating in (2, 3, 4):
        new = data[0]._replace(comment_id=f"new-{rating}", rating=rating)
        await there.add(new)
        data.append(new)
        for selection in SELECTIONS:
            page = await here.page(selection, Slice(20))
            assert page.nodes == oracle.selected(data, selection)[:20]


async def test_segments_are_skipped_if_exact_statistics_prove_them_empty(table: Table) -> None:
    data = [one for one in oracle.make_comments("42", 80, seed=1) if one.rating in {1, 5}]
    store = Stores(table).comments
    await put_comments(store, data)
    page = await store.page(Selection("42", frozenset({2, 3, 4})), Slice(20))
    assert page.nodes == []
    assert [segment.skipped for segment in page.stats.segments] == [True] * 3
    assert page.stats.requests == 1


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
async def test_a_read_that_drops_too_many_rows_is_planned_again(table: Table, share: float) -> None:
    """The newest comments do not pass the filter, so the first read drops more rows than
    expected.
    """
    rows = oracle.make_comments("42", 400, seed=2)
    newest = oracle.newest_first(rows)
    data: list[Comment] = [
        one._replace(rating=3 if number > len(rows) * share else 1, language="en")
        for number, one in enumerate(newest)
    ]
    store = Stores(table).comments
    await put_comments(store, data)
    selection = Selection("42", frozenset({2, 3, 4, 5}))
    page = await store.page(selection, Slice(20))
    assert page.nodes == oracle.selected(data, selection)[:20]
    assert page.stats.items_read < 200


@pytest.mark.parametrize("backward", [False, True])
async def test_a_page_that_was_read_before_reads_only_its_rows(
    table: Table, *, backward: bool
) -> None:
    data = oracle.make_comments("42", 200, seed=3)
    store = Stores(table).comments
    await put_comments(store, data)
    selection = Selection("42", frozenset({1, 4}))
    cut = Slice(20, backward=backward)
    first = await store.page(selection, cut)
    again = await store.page(selection, cut)
    assert again.nodes == first.nodes
    assert not any(segment.refills for segment in again.stats.segments)
    assert again.stats.items_read == 20
    assert again.stats.consumed_capacity == again.stats.estimated_capacity
    assert again.stats.consumed_capacity <= first.stats.consumed_capacity
    await oracle.walk(store, Selection("42"), 100, backward=False)
    by_others = await store.page(Selection("42", frozenset({2, 3, 5})), cut)
    assert by_others.nodes == oracle.page(data, Selection("42", frozenset({2, 3, 5})), cut)
    assert by_others.stats.consumed_capacity == by_others.stats.estimated_capacity


@pytest.mark.parametrize("backward", [False, True])
async def test_outdated_row_locations_do_not_change_a_page(table: Table, *, backward: bool) -> None:
    """The remembered rows at both ends are deleted, and then replaced by more rows."""
    data = oracle.make_comments("42", 120, seed=5)
    writer = Stores(table).comments
    await put_comments(writer, data)
    stores = {
        selection: Stores(table).comments for selection in list(oracle.selections("42"))[2::23]
    }
    for store in stores.values():
        await oracle.walk(store, Selection("42"), 100, backward=False)
    newest = oracle.newest_first(data)
    gone, kept = [*newest[:25], *newest[-25:]], newest[25:-25]
    for comment in gone:
        await writer.delete(comment.comment_id, lambda _: None)
    cut = Slice(20, backward=backward)
    for selection, store in stores.items():
        assert (await store.page(selection, cut)).nodes == oracle.page(kept, selection, cut)
    more = [
        comment._replace(comment_id=f"{comment.comment_id}-{number}", rating=number)
        for comment in gone
        for number in RATINGS
    ]
    await put_comments(writer, more)
    for selection, store in stores.items():
        assert (await store.page(selection, cut)).nodes == oracle.page(
            [*kept, *more], selection, cut
        )


GROUPS = [
    (int(products), int(queries), float(capacity))
    for products, queries, capacity in re.findall(
        r"^\| (\d+) \| (\d+) \| ([\d.]+) \|$", (ROOT / "docs/costs.md").read_text(), re.MULTILINE
    )
]
"""The rows of the table of groups in docs/costs.md: products, Queries and capacity."""


def test_the_costs_of_groups_of_five_sizes_are_documented() -> None:
    assert [products for products, *_ in GROUPS] == [2, 5, 10, 30, 60]


@pytest.mark.parametrize(("products", "queries", "capacity"), GROUPS)
async def test_a_page_of_a_group_costs_what_the_documentation_says(
    table: Table, products: int, queries: int, capacity: float
) -> None:
    """The process has read the counts of the products, so each Query reads a part of the page."""
    names = [f"variant-{number:02}" for number in range(products)]
    data = [
        comment._replace(text="x" * 300)
        for seed, name in enumerate(names)
        for comment in oracle.make_comments(name, 60 // products + 4, seed=seed)
    ]
    store = Stores(table).comments
    await put_comments(store, data)
    group = Selection(names[0], variants=frozenset(names))
    first = await Stores(table).comments.page(group, Slice(20))
    # One request for each product's counts, and one for the size of some rows.
    assert first.stats.planning_requests == products + 1
    reader = Stores(table).comments
    await reader.page(group, Slice(20))
    page = await reader.page(group, Slice(20, after=first.edges[-1].position))
    assert page.nodes == oracle.newest_first(data)[20:40]
    assert page.stats.planning_requests == 0
    assert (page.stats.requests, page.stats.consumed_capacity) == (queries, capacity)
