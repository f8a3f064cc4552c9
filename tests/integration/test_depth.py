"""Depth costs nothing: page 200 of a 20,000-comment product costs what page 1 costs."""

from datetime import timedelta

import pytest

from dal.comments import CommentStore, Selection
from dal.dynamodb import Table
from dal.model import Comment
from dal.reading import Reading
from dal.slices import Slice
from tests import oracle
from tests.bulk import fill

COUNT = 20_000


@pytest.fixture(scope="module")
def deep() -> list[Comment]:
    """Comments of one size, so that equal numbers of rows are equal numbers of bytes."""
    return [
        Comment(
            comment_id=f"deep-{number:05}",
            product_id="deep",
            username="ann",
            rating=number % 5 + 1,
            language=("en", "de")[number % 2],
            title="Same size",
            text="x" * 300,
            created_at=oracle.START + timedelta(minutes=number // 3),
        )
        for number in range(COUNT)
    ]


SELECTIONS = (
    Selection("deep"),
    Selection("deep", languages=frozenset({"en"})),
    Selection("deep", frozenset({1, 3, 4}), frozenset({"de"})),
)


async def test_depth_costs_nothing(deep_table: Table) -> None:
    """Neither where rows are read for the first time, nor where they were read before."""
    start = Slice(20, next_page=True)
    for selection in SELECTIONS:
        store = CommentStore(deep_table)  # a server just started, which knows nothing yet
        first = page = await store.page(selection, start)
        for _ in range(199):
            cut = Slice(20, after=page.edges[-1].position, next_page=True)
            page = await store.page(selection, cut)
        assert len(page.edges) == 20
        assert page.edges[-1].position < first.edges[-1].position
        assert _cost(page.reading) == _cost(first.reading)
        other = CommentStore(deep_table)
        again = await other.page(selection, cut)
        assert _cost(again.reading) == _cost(first.reading)
        remembered = await other.page(selection, cut)
        await other.page(selection, start)
        assert _cost((await other.page(selection, start)).reading) == _cost(remembered.reading)
        assert remembered.reading.consumed_capacity <= again.reading.consumed_capacity


def _cost(reading: Reading) -> tuple[int, int, float]:
    return reading.requests, reading.items_read, reading.consumed_capacity


@pytest.fixture
async def deep_table(table: Table, deep: list[Comment]) -> Table:
    await fill(table, deep)
    return table
