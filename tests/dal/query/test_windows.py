"""Lists between two dates are exact, and need few Queries if few rows are between the dates."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.catalogue import Order
from dal.entities.comment import COMMENT, comment_position
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from tests import oracle
from tests.dal.known import KnownProduct

ROWS = oracle.voted(oracle.make_comments("42", 240, seed=3))
FIRST = oracle.START
PRODUCT = KnownProduct(COMMENT, ROWS)
WIDE = Selection("42", frozenset({1, 2, 3}), frozenset(oracle.LANGUAGES))

instants = st.none() | st.integers(-20, 260).map(lambda hours: FIRST + timedelta(hours=hours))


@given(
    selection=st.sampled_from(list(oracle.selections("42"))),
    start=instants,
    end=instants,
    order=st.sampled_from([None, *Order]),
    size=st.integers(7, 60),
    backward=st.booleans(),
    reverse=st.booleans(),
)
async def test_a_list_between_two_dates_is_exact(
    selection: Selection,
    start: datetime | None,
    end: datetime | None,
    order: Order | None,
    size: int,
    backward: bool,
    reverse: bool,
) -> None:
    dated = replace(selection, created_from=start, created_before=end, order=order)
    rows = await PRODUCT.walk(dated.query(), size, backward=backward, reverse=reverse)
    assert rows == oracle.selected(ROWS, dated)[:: -1 if reverse else 1]


@pytest.mark.parametrize(
    "start", [FIRST + timedelta(days=3, minutes=5), datetime(1999, 1, 1, tzinfo=UTC)]
)
async def test_five_minutes_without_comments_take_one_query(start: datetime) -> None:
    product = KnownProduct(COMMENT, ROWS)
    short = replace(WIDE, created_from=start, created_before=start + timedelta(minutes=5))
    page = await product.read(short.query(), Slice(20, next_page=True))
    assert page.edges == []
    assert (page.stats.requests, page.stats.index) == (1, "all")


async def test_a_period_after_the_newest_known_row_uses_later_rows() -> None:
    """The process caches the date of the newest comment, and newer comments are added."""
    product = KnownProduct(COMMENT, ROWS)
    await product.read(replace(WIDE, created_before=FIRST + timedelta(hours=9)).query(), Slice(20))
    later = [row._replace(created_at=row.created_at + timedelta(hours=240)) for row in ROWS]
    product.engine.put(*map(COMMENT.encode, later))
    await product.read(replace(WIDE, ratings=None).query(), Slice(1))
    lately = replace(WIDE, created_from=FIRST + timedelta(hours=300))
    page = await product.read(lately.query(), Slice(20))
    assert len(page.edges) == 20
    assert page.stats.requests <= 3


async def test_a_segment_with_more_rows_than_expected_doubles_its_limit() -> None:
    product = KnownProduct(COMMENT, ROWS)
    lately = replace(WIDE, created_from=FIRST + timedelta(hours=300))
    await product.read(replace(WIDE, created_before=FIRST + timedelta(hours=9)).query(), Slice(20))
    later = [row._replace(created_at=row.created_at + timedelta(hours=240)) for row in ROWS]
    product.engine.put(*map(COMMENT.encode, later))
    page = await product.read(lately.query(), Slice(20))
    assert len(page.edges) == 20
    assert page.stats.requests <= 15


@pytest.mark.parametrize("end", [FIRST, FIRST - timedelta(days=1)])
async def test_an_empty_period_takes_no_request(end: datetime) -> None:
    product = KnownProduct(COMMENT, ROWS)
    never = replace(WIDE, created_from=FIRST, created_before=end)
    page = await product.read(never.query(), Slice(20, True, None, None, True, True))
    assert (page.edges, product.engine.requests) == ([], [])


async def test_a_period_with_many_comments_is_read_from_finer_partitions() -> None:
    """Because of the many rows, reading other ratings too would cost more than several Queries."""
    product = KnownProduct(COMMENT, ROWS)
    few = Selection("42", frozenset({2}), None, FIRST, FIRST + timedelta(hours=200))
    page = await product.read(few.query(), Slice(20))
    assert page.stats.index == "byRating"
    positions = [comment_position(row) for row in page.nodes]
    assert positions == sorted(positions, reverse=True)
