"""Pages with filters that few rows pass are right, and take few Queries.

Verified purchases, photos and votes are not counted. So the optimizer can only estimate how many
rows pass a filter by these fields, and the estimate can be wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dal.catalogue import Order
from dal.entities.comment import COMMENT
from dal.model import RATINGS, Comment, Photo
from dal.query.pagination import Page, Slice
from dal.query.plan import PlanBasis
from dal.query.statistics import Purpose
from dal.repositories.comments import Selection
from tests import oracle
from tests.dal.known import KnownProduct
from tests.dal.read_pages import ReadPage

FURTHER = 4
"""Maximum Queries of a page in addition to one for each segment of its plans. If a further read
finds out whether rows follow or precede the page, this read has the same maximum. A search has the
maximum in each part of a list that is sorted by rating or votes."""

PHOTO = (Photo("https://shop.example/kettle.jpg", "On my stove"),)
ALL = Selection("42")

PATTERNS: dict[str, Callable[[int, int], bool]] = {
    "none": lambda _, __: False,
    "newest": lambda number, count: number == count - 1,
    "oldest": lambda number, _: number == 0,
    "newest eight": lambda number, count: number >= count - 8,
    "a tenth": lambda number, _: number % 10 == 3,
    "a half": lambda number, _: number % 2 == 0,
    "other half": lambda number, _: number % 2 == 1,
    "all": lambda _, __: True,
}
"""Functions that return whether the comment with a number, the oldest first, has a flag."""


@cache
def rows_of(
    count: int, weights: tuple[int, ...], flags: tuple[tuple[str, str, str], ...]
) -> Sequence[Comment]:
    """Return comments whose flags depend on their rating.

    The ratings 1 to 5 have these weights. For each rating, ``flags`` has the patterns of verified
    purchases, photos and votes.
    """
    chance = Random(count)
    rows = []
    for number, one in enumerate(oracle.make_comments("42", count, seed=count)):
        (rating,) = chance.choices(RATINGS, weights)
        verified, photos, votes = [PATTERNS[name](number, count) for name in flags[rating - 1]]
        rows.append(
            one._replace(
                rating=rating,
                verified_purchase=verified,
                photos=PHOTO if photos else (),
                votes_before=1 + number % 3 if votes else 0,
            )
        )
    return rows


def planned(page: Page[Comment], further: int = 0) -> int:
    """Return the number of Queries of the page's plans, and ``further`` for the page and its flags.

    A list with an order has a plan for each stage. Plans for the rest of a page are not included.
    """
    assert isinstance(page.stats.instruments, ReadPage)
    plans = [one for one in page.stats.instruments.plans if one[0] is not Purpose.REST]
    segments = sum(len(plan.segments) for _, plan in plans)
    searches = any(plan.index.searches.keys() & plan.residual.keys() for _, plan in plans)
    return segments + further * (len(plans) if searches else len({one for one, _ in plans}))


patterns = st.tuples(*[st.sampled_from(sorted(PATTERNS))] * 3)
products = st.tuples(
    st.sampled_from([30, 300, 900]),
    st.tuples(*[st.sampled_from([1, 10, 100])] * 5),
    patterns.map(lambda one: (one,) * 5) | st.tuples(*[patterns] * 5),
)
dates = st.integers(-2, 300).map(lambda hours: oracle.START + timedelta(hours=hours))
selections = st.builds(
    Selection,
    st.just("42"),
    st.none() | st.frozensets(st.sampled_from([1, 2, 5]), min_size=1),
    st.sampled_from(oracle.LANGUAGE_CHOICES),
    st.none() | dates,
    st.none() | dates,
    verified_only=st.booleans(),
    has_photos=st.booleans(),
    search=st.sampled_from(["", "", *oracle.SEARCHES]),
    order=st.sampled_from([None, None, *Order]),
)
sizes = st.just(1) | st.integers(1, 20)


SKEWED = (900, (1, 100, 1, 100, 1), (("a half",) * 3, ("newest",) * 3, *[("a half",) * 3] * 3))
"""Data of a product whose rating 2 has few rows with flags, contrary to the other ratings."""


@example(
    data=SKEWED,
    earlier=[],
    selection=Selection("42", frozenset({1, 2, 5}), frozenset({"fr"}), verified_only=True),
    size=1,
    backward=False,
    from_row=None,
    plan_by=None,
    both=False,
)
@given(
    data=products,
    earlier=st.lists(st.tuples(selections, sizes, st.booleans()), max_size=3),
    selection=selections,
    size=sizes,
    backward=st.booleans(),
    from_row=st.none() | st.integers(0, 899),
    plan_by=st.sampled_from([None, None, *PlanBasis]),
    both=st.booleans(),
)
async def test_a_page_is_right_and_takes_few_queries_after_any_earlier_reads(
    data: tuple[int, tuple[int, ...], tuple[tuple[str, str, str], ...]],
    earlier: list[tuple[Selection, int, bool]],
    selection: Selection,
    size: int,
    backward: bool,
    from_row: int | None,
    plan_by: PlanBasis | None,
    both: bool,
) -> None:
    rows = rows_of(*data)
    product = KnownProduct(COMMENT, rows)
    for before, count, reverse in [(ALL, 20, False), *earlier]:
        await product.read(before.query(), Slice(count, reverse, next_page=True))
    start = None
    if from_row is not None:
        start = oracle.position_in(selection.order, rows[from_row % len(rows)])
    cut = Slice(size, backward, instruments=ReadPage, plan_by=plan_by)
    cut = replace(cut, before=start) if backward else replace(cut, after=start)
    cut = replace(cut, next_page=both or not backward, previous_page=both or backward)
    product.engine.requests.clear()
    page = await product.read(selection.query(), cut)
    assert page.nodes == oracle.page(rows, selection, cut)
    assert page.stats.requests <= planned(page, FURTHER)


@pytest.mark.parametrize(
    "filtered", [replace(ALL, verified_only=True), replace(ALL, has_photos=True)]
)
@pytest.mark.parametrize("order", [None, *Order])
@pytest.mark.parametrize("size", [1, 20])
async def test_after_a_view_of_the_whole_list_an_index_without_rows_takes_one_query(
    filtered: Selection, order: Order | None, size: int
) -> None:
    rows = [
        one._replace(verified_purchase=False) for one in oracle.make_comments("42", 900, seed=1)
    ]
    product = KnownProduct(COMMENT, rows)
    await product.read(ALL.query(), Slice(20, next_page=True))
    selection = replace(filtered, order=order)
    page = await product.read(selection.query(), Slice(size, next_page=True, instruments=ReadPage))
    assert page.nodes == []
    assert page.stats.requests == planned(page)
