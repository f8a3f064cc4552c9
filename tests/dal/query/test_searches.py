"""A search for words drops rows up to a maximum, and remembers which share of the rows matches."""

from collections.abc import Sequence

import pytest

from dal.catalogue import Order
from dal.entities.comment import COMMENT
from dal.query.errors import NoIndexError, TooManySegmentsError
from dal.query.pagination import Slice
from dal.query.plan import PlanBasis
from dal.repositories.comments import Selection
from dal.table.entity import Row
from dal.table.index import QueryResponse
from tests import oracle
from tests.dal.known import KnownProduct
from tests.dal.read_pages import ReadPage

MOST = 100
"""The maximum of dropped rows in a test."""

ROWS = [
    one._replace(text="x" * 300 + (" rare" if number in {3, 650} else ""))
    for number, one in enumerate(oracle.voted(oracle.make_comments("42", 700, seed=1)))
]
TWENTIETH = [
    one._replace(text="x" * 300 + (" battery" if number % 20 == 3 else ""))
    for number, one in enumerate(oracle.make_comments("42", 3_000, seed=1))
]


class ReadRows(ReadPage):
    """Counts the rows of all Queries of a page."""

    rows = 0

    def read(self, segment: int, rows: Sequence[Row], response: QueryResponse) -> None:
        del segment, response
        self.rows += len(rows)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("query.optimizer.MAX_DROPPED", "sorted_lists.MAX_SORTED_ROWS"):
        monkeypatch.setattr(f"dal.{name}", MOST)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("plan_by", [None, PlanBasis.NOTHING, PlanBasis.FULL_PAGES])
@pytest.mark.parametrize("order", [None, *Order])
@pytest.mark.parametrize("ratings", [None, frozenset({1, 3, 5})])
async def test_a_page_of_a_search_that_few_rows_match_ends_at_the_maximum_of_dropped_rows(
    plan_by: PlanBasis | None, order: Order | None, ratings: frozenset[int] | None
) -> None:
    """Two plans may drop the maximum, and their last Queries may read as many rows again."""
    product = KnownProduct(COMMENT, ROWS)
    selection = Selection("42", ratings, order=order, search="rare")
    counted = ReadRows()
    cut = Slice(20, next_page=True, plan_by=plan_by, instruments=lambda: counted)
    with pytest.raises((TooManySegmentsError, NoIndexError)):
        await product.read(selection.query(), cut)
    assert counted.rows < 4 * MOST


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("order", [None, *Order])
async def test_a_search_of_few_rows_is_read_to_its_end(order: Order | None) -> None:
    rows = ROWS[:MOST]
    selection = Selection("42", order=order, search="rare")
    page = await KnownProduct(COMMENT, rows).read(selection.query(), Slice(20, next_page=True))
    assert page.nodes == [ROWS[3]]


async def test_after_its_first_page_a_search_takes_one_or_two_queries() -> None:
    product = KnownProduct(COMMENT, TWENTIETH)
    query = Selection("42", search="battery").query()
    page = await product.read(query, Slice(20))
    for _ in range(3):
        page = await product.read(query, Slice(20, after=page.edges[-1].position))
        assert len(page.nodes) == 20
        assert page.stats.requests <= 2
        assert page.stats.items_read < 800


async def test_a_word_of_all_rows_costs_at_most_twice_its_page() -> None:
    product = KnownProduct(COMMENT, ROWS)
    page = await product.read(Selection("42", search="title").query(), Slice(20))
    assert (page.stats.requests, page.stats.items_read <= 40) == (1, True)
