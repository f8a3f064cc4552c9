"""Every page of every product of the demo data equals the oracle's, on the embedded engine."""

import asyncio
from collections import Counter

import pytest

from dal.repositories.comments import CommentRepository, Selection
from features.demo.demo_data import demo_comments
from tests import oracle
from tests.putting import put_comments

LANGUAGES = ("en", "de", "fr", "es", "ja", "ar")
CHOICES = [None, *(frozenset({one}) for one in LANGUAGES), frozenset({"en", "ar"})]
SMALL = 500
"""Products with more comments are not read with one row per page, which would take hours."""


@pytest.mark.soak
@pytest.mark.parametrize("size", [1, 3, 20, 100])
async def test_walks_over_the_demo_data_equal_the_oracles(
    comments: CommentRepository, size: int
) -> None:
    data = list(demo_comments())
    await put_comments(comments, data)
    sizes = Counter(comment.product_id for comment in data)
    gate = asyncio.Semaphore(8)

    async def check(selection: Selection, *, backward: bool) -> int:
        async with gate:
            rows = await oracle.walk(comments, selection, size, backward=backward)
        assert rows == oracle.selected(data, selection)
        return len(rows)

    walks = [
        check(Selection(product, ratings, languages), backward=backward)
        for product in sizes
        for languages in CHOICES
        for ratings in oracle.RATING_SUBSETS
        for backward in (False, True)
        if size > 1 or sizes[product] <= SMALL
    ]
    assert sum(await asyncio.gather(*walks)) > len(data)
