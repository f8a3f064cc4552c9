"""How many Queries a page in order of rating takes. ``test_pagination`` compares its rows."""

from collections.abc import Sequence

import pytest

from dal.entities.comment import COMMENT
from dal.model import Comment
from dal.query.pagination import Slice
from dal.query.plan import Order, PlanBasis
from dal.query.trace import Purpose
from dal.repositories.comments import Selection
from tests import oracle
from tests.dal.known import KnownProduct
from tests.dal.paging import PRODUCT, dense, engine_of, read

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


async def test_a_page_across_two_ratings_asks_the_second_only_for_what_is_missing() -> None:
    product = KnownProduct(COMMENT, MANY)
    start = oracle.position_in(BEST.order, oracle.selected(MANY, BEST)[49])
    page = await product.read(BEST.query(), Slice(20, after=start, explain=True))
    assert ratings(page.nodes) == [5] * 10 + [4] * 10
    reads = [one for one in product.engine.requests if one.index.name == "byRating"]
    assert [request.limit for request in reads] == [20, 10]
    trace = page.stats.trace
    assert trace is not None
    assert [step.purpose for step in trace.steps] == [Purpose.PAGE, Purpose.PAGE]
    assert trace.full_pages() is not None


@pytest.mark.parametrize("plan_by", [None, PlanBasis.NOTHING])
@pytest.mark.parametrize("comments", [FEW, []], ids=["seven comments", "none"])
async def test_few_comments_take_the_remaining_ratings_in_parallel(
    comments: list[Comment], plan_by: PlanBasis | None
) -> None:
    product = KnownProduct(COMMENT, comments)
    page = await product.read(BEST.query(), Slice(20, next_page=True, plan_by=plan_by))
    assert ratings(page.nodes) == sorted(ratings(comments), reverse=True)
    assert page.stats.requests == 5
    assert product.engine.most_running == 4


async def test_a_comment_that_is_rated_anew_while_it_is_read_is_shown_once() -> None:
    engine = engine_of([dense("1", rating=5), dense("0", rating=4)])

    def rate_anew() -> None:
        # A global index applies a write some time after another does: for a while both have it.
        engine.items["twin", "twin"] = COMMENT.encode(dense("1", rating=4))

    engine.changes = {1: rate_anew}
    page = await read(engine, BEST, Slice(2))
    assert [node.comment_id for node in page.nodes] == ["1", "0"]


@pytest.mark.parametrize("comments", [FEW, MANY], ids=len)
async def test_no_ratings_are_no_rows(comments: list[Comment]) -> None:
    engine = engine_of(comments)
    nothing = Selection(PRODUCT, frozenset(), order=Order.LOWEST_RATING)
    page = await read(engine, nothing, Slice(2, next_page=True, explain=True))
    assert (page.nodes, page.page_info.has_next_page, engine.requests) == ([], False, [])
    assert page.stats.index == "byRating"
