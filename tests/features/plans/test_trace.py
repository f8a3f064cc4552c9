"""The trace of an explained page: it has every row once, and does not change the page."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.catalogue import Order
from dal.entities.comment import COMMENT, comment_position
from dal.model import Comment
from dal.query.pagination import Page, Slice
from dal.query.statistics import Purpose
from dal.repositories.comments import Selection
from features.plans.trace import RowOutcome, Trace
from tests import oracle
from tests.dal.known import KnownProduct
from tests.dal.paging import cuts, engine_of, placed, read, row_lists, selections

ROWS = oracle.voted(oracle.make_comments("42", 240, seed=3))
SHOWN, FILTERED, AROUND = RowOutcome.SHOWN, RowOutcome.FILTERED, RowOutcome.AROUND


def traced(page: Page[Comment]) -> Trace:
    assert isinstance(page.stats.instruments, Trace)
    return page.stats.instruments


def agrees(page: Page[Comment]) -> None:
    """Check that a trace agrees with the execution statistics of its page."""
    trace, stats = traced(page), page.stats
    rows = trace.rows()
    assert len(rows) == stats.items_read
    by_segment = Counter(row.segment for row in rows)
    assert [by_segment[n] for n in range(len(stats.segments))] == [
        one.items_read for one in stats.segments
    ]
    shown = [row.position for row in rows if row.outcome is SHOWN]
    assert shown == [edge.position for edge in page.edges]
    assert sum(step.segments for step in trace.steps) == len(stats.segments)
    assert max([row.refill for row in rows], default=0) <= max(
        [one.refills for one in stats.segments], default=0
    )
    ideal, full = trace.ideal(), trace.full_pages()
    assert full is not None
    assert (ideal.requests <= stats.requests, ideal.items_read) == (True, len(shown))
    assert sum(one.chosen for one in trace.alternatives) == 1
    assert trace.alternatives[0].chosen
    every = {one.name for one in COMMENT.indexes}
    if trace.steps[0].index == "byHelpful":  # no other index has this order
        every = {"byHelpful"}
    assert {one.index for one in trace.alternatives} == every
    assert all(one.reason for one in trace.alternatives)


@given(row_lists, selections, cuts)
async def test_a_page_without_statistics_has_the_same_rows_and_a_trace_of_all_rows(
    rows: list[Comment], selection: Selection, cut: Slice
) -> None:
    cut = placed(cut, selection)
    plain, engine = await read(engine_of(rows), selection, cut), engine_of(rows, most_rows=2)
    page = await read(engine, selection, replace(cut, instruments=Trace))
    assert page.nodes == plain.nodes
    agrees(page)


@given(
    selection=st.sampled_from(list(oracle.selections("42"))),
    order=st.sampled_from([None, *Order]),
    size=st.integers(1, 60),
    backward=st.booleans(),
    reverse=st.booleans(),
)
async def test_the_trace_of_a_page_with_statistics_has_all_its_rows(
    selection: Selection, order: Order | None, size: int, backward: bool, reverse: bool
) -> None:
    """The second page is planned by row locations. The trace sends no additional request."""
    selection = replace(selection, order=order)
    product, unexplained = (KnownProduct(COMMENT, ROWS[::2]) for _ in range(2))
    cut = Slice(
        size, backward, reverse=reverse, next_page=True, previous_page=True, instruments=Trace
    )
    page = await product.read(selection.query(), cut)
    agrees(page)
    plain = await unexplained.read(selection.query(), replace(cut, instruments=None))
    assert plain.nodes == page.nodes
    assert product.engine.requests == unexplained.engine.requests
    agrees(await product.read(selection.query(), cut))


def ordered(ratings: Callable[[int], int]) -> KnownProduct:
    """Return English comments.

    ``ratings`` maps the number of a comment, from the newest, to its rating.
    """
    newest = sorted(ROWS, key=lambda row: row.created_at, reverse=True)
    rows = [one._replace(rating=ratings(n), language="en") for n, one in enumerate(newest)]
    return KnownProduct(COMMENT, rows)


async def test_the_trace_has_the_dropped_rows_and_the_plan_of_the_rest() -> None:
    """Most comments pass the filter, but the newest do not. The statistics do not show this."""
    product = ordered(lambda n: 5 if n < 60 else n % 4 + 1)
    several = Selection("42", frozenset({1, 2, 3, 4}), frozenset({"en"}))
    page = await product.read(several.query(), Slice(10, instruments=Trace))
    agrees(page)
    trace = traced(page)
    assert [(step.purpose, step.index) for step in trace.steps] == [
        (Purpose.PAGE, "byLang"),
        (Purpose.REST, "byLangAndRating"),
    ]
    outcomes = Counter((row.segment > 0, row.outcome) for row in trace.rows())
    assert outcomes[False, FILTERED] == page.stats.segments[0].items_read > 10
    assert outcomes[True, SHOWN] == 10


async def test_the_trace_has_the_rows_of_refills_and_of_flags() -> None:
    product = ordered(lambda n: 5 if n < 60 else n % 3 + 1)
    several = Selection("42", frozenset({1, 5}), frozenset({"en"}))
    cut = Slice(40, next_page=True, instruments=Trace)
    page = await product.read(replace(several, languages=None).query(), cut)
    agrees(page)
    refilled = [row for row in traced(page).rows() if row.refill]
    assert {row.outcome for row in refilled} == {SHOWN, AROUND}
    assert {row.segment for row in refilled} == {1}, "the fives run dry"


async def test_a_row_in_two_segments_is_shown_once_and_read_twice() -> None:
    first, second, moved = ROWS[:3]
    old = COMMENT.encode(moved._replace(rating=1))
    new = COMMENT.encode(moved._replace(rating=5))
    engine = engine_of([first, second])
    engine.put(old, new | {"PK": {"S": "another"}})
    page = await read(engine, Selection("42", frozenset({1, 5})), Slice(20, instruments=Trace))
    rows = [row for row in traced(page).rows() if row.position == comment_position(moved)]
    assert sorted(row.outcome for row in rows) == [AROUND, SHOWN]


@pytest.mark.parametrize("selection", [Selection("42"), Selection("42", frozenset({1, 3}))])
async def test_a_page_that_is_not_explained_keeps_no_trace(
    selection: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Counter[str]()

    def counted(name: str) -> object:
        return lambda *_, **__: calls.update([name])

    for name in ("alternatives", "full_pages"):
        monkeypatch.setattr(f"features.plans.trace.{name}", counted(name))
    for name in ("Step", "TracedQuery"):
        monkeypatch.setattr(f"features.plans.trace.{name}", counted(name))
    product = KnownProduct(COMMENT, ROWS)
    page = await product.read(selection.query(), Slice(20))
    assert (page.stats.instruments, calls) == (None, Counter())
    await product.read(selection.query(), Slice(20, instruments=Trace))
    assert calls["alternatives"] == calls["full_pages"] == calls["Step"] == 1


async def test_the_cost_of_full_pages_is_measured_if_the_page_read_full_pages() -> None:
    several = Selection("42", frozenset({1, 5}))
    page = await read(engine_of(ROWS), several, Slice(20, instruments=Trace))
    full = traced(page).full_pages()
    assert full == (page.stats.requests, page.stats.items_read, page.stats.consumed_capacity)


async def test_otherwise_the_cost_of_full_pages_is_estimated_from_the_counts() -> None:
    product = KnownProduct(COMMENT, ROWS)
    several = Selection("42", frozenset({1, 2, 3}), frozenset({"en", "de"}))
    page = await product.read(several.query(), Slice(20, instruments=Trace))
    full = traced(page).full_pages()
    assert full is not None
    held = [
        min(20, sum((row.rating, row.language) == (rating, language) for row in ROWS))
        for rating in (1, 2, 3)
        for language in ("en", "de")
    ]
    assert (page.stats.index, full.requests) == ("byRating", 6)
    assert full.items_read == pytest.approx(sum(held))
