"""Lists bounded in time: exact, and read in few Queries where little stands in the time."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.entities.comment import COMMENT, comment_position
from dal.query.pagination import Slice
from dal.query.query import Query
from dal.repositories.comments import Selection
from dal.table.keys import format_instant
from dal.table.ranges import Range
from tests import oracle
from tests.dal.known import KnownProduct

ROWS = oracle.make_comments("42", 240, seed=3)
FIRST = oracle.START
PRODUCT = KnownProduct(COMMENT, ROWS)
WIDE = Selection("42", frozenset({1, 2, 3}), frozenset(oracle.LANGUAGES)).query()


def within(start: datetime | None, end: datetime | None) -> Range:
    low = None if start is None else format_instant(start)
    high = None if end is None else format_instant(end)
    return Range(low, high, high_open=True)


instants = st.none() | st.integers(-20, 260).map(lambda hours: FIRST + timedelta(hours=hours))


@given(
    selection=st.sampled_from(list(oracle.selections("42"))),
    start=instants,
    end=instants,
    size=st.integers(7, 60),
    backward=st.booleans(),
)
async def test_a_list_bounded_in_time_is_exact(
    selection: Selection, start: datetime | None, end: datetime | None, size: int, backward: bool
) -> None:
    query = Query("?", selection.query().filters, within(start, end))
    wanted = [
        row
        for row in oracle.selected(ROWS, selection)
        if (start is None or row.created_at >= start) and (end is None or row.created_at < end)
    ]
    assert await PRODUCT.walk(query, size, backward=backward) == wanted


@pytest.mark.parametrize(
    "start", [FIRST + timedelta(days=3, minutes=5), datetime(1999, 1, 1, tzinfo=UTC)]
)
async def test_an_empty_five_minutes_take_one_query(start: datetime) -> None:
    product = KnownProduct(COMMENT, ROWS)
    query = Query("?", WIDE.filters, within(start, start + timedelta(minutes=5)))
    page = await product.read(query, Slice(20, next_page=True))
    assert page.edges == []
    assert (page.stats.requests, page.stats.index) == (1, "all")


async def test_a_busy_time_is_read_by_its_own_partitions() -> None:
    """What stands in it is dense enough that other ratings would cost more than a Query each."""
    product = KnownProduct(COMMENT, ROWS)
    few = Selection("42", frozenset({2})).query()
    query = Query("?", few.filters, within(FIRST, FIRST + timedelta(hours=200)))
    page = await product.read(query, Slice(20))
    assert page.stats.index == "byRating"
    positions = [comment_position(row) for row in page.nodes]
    assert positions == sorted(positions, reverse=True)
