"""The benchmark's requests are always the same, and as skewed as documented."""

from collections import Counter
from typing import Any

import orjson
import pytest

from dal.entities.comment import comment_position
from tools.bench.speed.dialects import shown
from tools.bench.speed.loads import (
    LARGEST,
    NAMES,
    SIZES,
    Load,
    PageAsked,
    all_loads,
    comments_of,
    lists_asked,
)

ROWS = [
    comment for product in SIZES for comment in comments_of(product, max(SIZES[product] // 20, 30))
]


def loads() -> dict[str, Load]:
    return {load.name: load for load in all_loads(ROWS, 2_000, deep=700)}


def test_rows_and_requests_are_reproducible() -> None:
    assert list(comments_of(LARGEST, 50)) == list(comments_of(LARGEST, 50))
    first, again = loads(), loads()
    assert first == again
    assert tuple(first) == NAMES


def test_the_lists_of_the_mixed_load_have_zipfs_distribution() -> None:
    asked = [one for one in loads()["mixed"].asked if isinstance(one, PageAsked)]
    counts = Counter((one.product, one.ratings, one.languages) for one in asked)
    (_, most), (_, second) = counts.most_common(2)
    harmonic = sum(1 / rank for rank in range(1, len(lists_asked()) + 1))
    assert abs(most - 2_000 / harmonic) < 60
    assert abs(second - most / 2) < 40
    assert len(counts) > 300


def test_pages_begin_at_the_start_or_after_a_row_of_their_own_list() -> None:
    held = {comment_position(row): row for row in ROWS}
    asked = [one for one in loads()["mixed"].asked if isinstance(one, PageAsked)]
    assert 0.15 < sum(one.after is None for one in asked) / len(asked) < 0.35
    for one in asked:
        if one.after is not None:
            row = held[one.after]
            assert row.product_id == one.product
            assert not one.ratings or row.rating in one.ratings
            assert not one.languages or row.language in one.languages


NODE = {"rating": 5, "language": "en", "title": "t", "text": "x", "username": "u"}


def page(instant: str, *, more: bool = True) -> dict[str, Any]:
    info = {"hasNextPage": more, "endCursor": f"of {instant}"}
    return {"nodes": [NODE | {"id": instant, "createdAt": instant}], "pageInfo": info}


def test_pages_of_two_servers_with_the_same_content_are_equal() -> None:
    def ours(**more: bool) -> tuple[Any, ...]:
        comments = page("2020-01-01T00:00:00.5+00:00", **more)
        return shown(orjson.dumps({"data": {"product": {"comments": comments}}}))

    theirs = page("2020-01-01T00:00:00.500000Z")
    assert ours() == shown(orjson.dumps({"data": {"allComments": theirs}}))
    assert ours() != ours(more=False)


def test_a_response_with_errors_is_refused() -> None:
    with pytest.raises(ValueError, match="too busy"):
        shown(b'{"data":null,"errors":[{"message":"too busy"}]}')
