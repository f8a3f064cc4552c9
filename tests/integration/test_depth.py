"""The deepest pages of a large product cost as much as its first page."""

from datetime import timedelta

import pytest

from dal.catalogue import Order
from dal.dynamodb.table import Table
from dal.model import Comment
from dal.query.pagination import Slice
from dal.query.statistics import ExecutionStatistics
from dal.repositories.comments import Selection
from dal.stores import Stores
from tests import oracle
from tests.bulk import fill


def deep(count: int) -> list[Comment]:
    """Return comments of equal size, so that equal numbers of rows consume equal capacity."""
    return [
        Comment(
            comment_id=f"deep-{number:05}",
            product_id="deep",
            username="ann",
            rating=number % 5 + 1,
            language=("en", "de")[number % 2],
            title="Same size",
            text="x" * 300,
            votes_before=number % 9 + 1,
            created_at=oracle.START + timedelta(minutes=number // 3),
        )
        for number in range(count)
    ]


SELECTIONS = (
    Selection("deep"),
    Selection("deep", languages=frozenset({"en"})),
    Selection("deep", frozenset({1, 3, 4}), frozenset({"de"})),
    Selection("deep", order=Order.HIGHEST_RATING),
    Selection("deep", order=Order.MOST_HELPFUL),
)


@pytest.mark.parametrize(
    ("count", "pages"),
    [
        pytest.param(2_000, 29, id="2000-comments"),
        # The next page would begin with the next rating, which takes another request.
        pytest.param(20_000, 199, marks=pytest.mark.soak, id="20000-comments"),
    ],
)
async def test_the_cost_of_a_page_does_not_depend_on_its_depth(
    table: Table, count: int, pages: int
) -> None:
    """The costs are equal for a process without caches, and for rows that the process has
    read before.
    """
    await fill(table, deep(count))
    start = Slice(20, next_page=True)
    for selection in SELECTIONS:
        store = Stores(table).comments  # as in a server that has just started
        first = page = await store.page(selection, start)
        for _ in range(pages - 1):
            cut = Slice(20, after=page.edges[-1].position, next_page=True)
            page = await store.page(selection, cut)
        assert len(page.edges) == 20
        assert page.edges[-1].position < first.edges[-1].position
        assert _cost(page.stats) == _cost(first.stats)
        other = Stores(table).comments
        again = await other.page(selection, cut)
        assert _cost(again.stats) == _cost(first.stats)
        remembered = await other.page(selection, cut)
        await other.page(selection, start)
        assert _cost((await other.page(selection, start)).stats) == _cost(remembered.stats)
        assert remembered.stats.consumed_capacity <= again.stats.consumed_capacity


def _cost(reading: ExecutionStatistics) -> tuple[int, int, float]:
    return reading.requests, reading.items_read, reading.consumed_capacity
