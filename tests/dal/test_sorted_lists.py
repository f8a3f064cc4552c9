"""The number of Queries of a page sorted by rating or votes.

``test_pagination`` compares the rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dal import sorted_lists
from dal.catalogue import Order
from dal.entities.comment import COMMENT
from dal.model import Comment
from dal.query.errors import NoIndexError
from dal.query.pagination import Slice
from dal.query.plan import PlanBasis
from dal.query.statistics import Purpose
from dal.repositories.comments import Selection
from tests import oracle
from tests.dal.known import KnownProduct
from tests.dal.paging import PRODUCT, dense, engine_of, read
from tests.dal.read_pages import ReadPage

BEST = Selection(PRODUCT, order=Order.HIGHEST_RATING)
MANY = [dense(f"{number:03}", rating=number % 5 + 1) for number in range(300)]
FEW = [dense(str(number), rating=number % 5 + 1) for number in range(7)]


def ratings(comments: Sequence[Comment]) -> list[int]:
    return [comment.rating for comment in comments]


@pytest.mark.parametrize("rank", [1, 3, 5])
async def test_a_page_of_one_rating_takes_one_query_at_any_depth(rank: int) -> None:
    product = KnownProduct(COMMENT, MANY)
    rows = oracle.selected(MANY, BEST)
    start = oracle.position_in(BEST.order, rows[60 * (5 - rank) + 20])
    page = await product.read(BEST.query(), Slice(20, after=start, next_page=True))
    assert ratings(page.nodes) == [rank] * 20
    assert [request.limit for request in product.engine.requests] == [21]


async def test_a_page_across_two_ratings_reads_from_the_second_only_the_missing_rows() -> None:
    product = KnownProduct(COMMENT, MANY)
    start = oracle.position_in(BEST.order, oracle.selected(MANY, BEST)[49])
    page = await product.read(BEST.query(), Slice(20, after=start, instruments=ReadPage))
    assert ratings(page.nodes) == [5] * 10 + [4] * 10
    reads = [one for one in product.engine.requests if one.index.name == "byRating"]
    assert [request.limit for request in reads] == [20, 10]
    assert isinstance(page.stats.instruments, ReadPage)
    assert [purpose for purpose, _ in page.stats.instruments.plans] == [Purpose.PAGE, Purpose.PAGE]


@pytest.mark.parametrize("plan_by", [None, PlanBasis.NOTHING])
@pytest.mark.parametrize("comments", [FEW, []], ids=["seven comments", "none"])
async def test_if_few_comments_remain_the_remaining_ratings_are_read_in_parallel(
    comments: list[Comment], plan_by: PlanBasis | None
) -> None:
    product = KnownProduct(COMMENT, comments)
    page = await product.read(BEST.query(), Slice(20, next_page=True, plan_by=plan_by))
    assert ratings(page.nodes) == sorted(ratings(comments), reverse=True)
    assert page.stats.requests == 5
    assert product.engine.most_running == 4


@pytest.mark.parametrize("size", [2, 3])
async def test_a_comment_whose_rating_changes_during_the_read_is_shown_once(size: int) -> None:
    """The second read ends after the changed comment or one row later. The page still has all rows.

    It reads the other ratings in parallel.
    """
    engine = engine_of([dense("1", rating=5), dense("0", rating=4), dense("2", rating=3)])

    def rate_anew() -> None:
        # Global indexes apply a write at different times, so for a while both partitions may
        # contain the row.
        engine.items["twin", "twin"] = COMMENT.encode(dense("1", rating=4))

    engine.changes = {1: rate_anew}
    page = await read(engine, BEST, Slice(size))
    assert [node.comment_id for node in page.nodes] == ["1", "0", "2"][:size]


@pytest.mark.parametrize("comments", [FEW, MANY], ids=len)
async def test_a_list_without_ratings_has_no_rows(comments: list[Comment]) -> None:
    engine = engine_of(comments)
    nothing = Selection(PRODUCT, frozenset(), order=Order.LOWEST_RATING)
    page = await read(engine, nothing, Slice(2, next_page=True))
    assert (page.nodes, page.page_info.has_next_page, engine.requests) == ([], False, [])
    assert page.stats.index == "byRating"


USEFUL = Selection(PRODUCT, order=Order.MOST_HELPFUL)
VOTED = [
    dense(
        f"{number:03}",
        rating=number % 5 + 1,
        votes_before=max(0, number - 150),
        created_at=oracle.START + timedelta(hours=number),
    )
    for number in range(300)
]


def read_from(product: KnownProduct) -> list[tuple[str | None, int]]:
    """Return the index and limit of each Query that reads rows."""
    requests = [one for one in product.engine.requests if one.index.name]
    return [(request.index.name, request.limit) for request in requests]


async def test_a_page_of_voted_comments_takes_one_query_at_any_depth() -> None:
    product = KnownProduct(COMMENT, VOTED)
    start = oracle.position_in(USEFUL.order, oracle.selected(VOTED, USEFUL)[99])
    page = await product.read(USEFUL.query(), Slice(20, after=start, next_page=True))
    assert [node.helpful_count for node in page.nodes] == list(range(49, 29, -1))
    assert read_from(product) == [("byHelpful", 21)]


async def test_comments_without_votes_follow_in_the_order_of_their_dates() -> None:
    product = KnownProduct(COMMENT, VOTED)
    rows = oracle.selected(VOTED, USEFUL)
    start = oracle.position_in(USEFUL.order, rows[139])
    page = await product.read(USEFUL.query(), Slice(20, after=start))
    assert page.nodes == rows[140:160]
    indexes = [index for index, _ in read_from(product)]
    assert (indexes[0], {*indexes[1:]}) == ("byHelpful", {"all"})


async def test_a_filter_that_many_comments_pass_is_applied_to_the_rows_of_the_index_by_votes() -> (
    None
):
    product = KnownProduct(COMMENT, VOTED)
    often = Selection(PRODUCT, frozenset({2, 3, 4, 5}), order=Order.MOST_HELPFUL)
    page = await product.read(often.query(), Slice(20))
    assert page.nodes == oracle.selected(VOTED, often)[:20]
    # The Query reads more rows than the page has, because the filter drops some.
    assert ("byHelpful", 20) not in read_from(product)
    assert page.stats.requests == 1
    assert page.stats.index == "byHelpful"


@pytest.mark.parametrize("few", [{"ratings": frozenset({2})}, {"created_from": oracle.START}])
async def test_lists_with_dates_or_a_filter_that_few_comments_pass_are_sorted_in_memory(
    few: Any,
) -> None:
    comments = VOTED[::5] + VOTED[1:40:5]
    product = KnownProduct(COMMENT, comments)
    rare = replace(USEFUL, **few)
    page = await product.read(rare.query(), Slice(5, next_page=True))
    assert page.nodes == oracle.selected(comments, rare)[:5]
    assert page.page_info.has_next_page
    assert "byHelpful" not in {index for index, _ in read_from(product)}


async def test_too_many_comments_to_sort_are_refused_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sorted_lists, "MAX_SORTED_ROWS", 100)
    product = KnownProduct(COMMENT, VOTED)
    dated = replace(USEFUL, created_from=oracle.START)
    with pytest.raises(NoIndexError, match=sorted_lists._TOO_MANY):
        await product.read(dated.query(), Slice(5))
    assert {limit for _, limit in read_from(product)} <= {1, 8}  # statistics alone


async def test_a_page_stops_after_twice_the_maximum_of_expected_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page is the last of a product.

    Each comment has a vote, but the statistics count no votes.
    """
    monkeypatch.setattr(sorted_lists, "MAX_SORTED_ROWS", 100)
    engine = engine_of([one._replace(votes_before=1) for one in VOTED])
    with pytest.raises(NoIndexError, match="another order"):
        await read(engine, USEFUL, Slice(5, backward=True))
    assert engine.rows_answered <= 205
