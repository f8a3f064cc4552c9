"""The other indexes that can answer a page, and why the optimizer rejected each."""

import pytest

from dal.entities.comment import BY_LANGUAGE_AND_RATING, COMMENT
from dal.query.errors import TooManySegmentsError
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from features.plans.alternatives import Alternative, exclusion
from features.plans.reasons import ReasonCode
from features.plans.trace import Trace
from tests import oracle
from tests.dal.known import KnownProduct
from tests.dal.paging import engine_of, read

ROWS = oracle.make_comments("42", 240, seed=3)
SEVERAL = Selection("42", frozenset({1, 2, 4, 5}), frozenset(oracle.LANGUAGES))


async def weighed(selection: Selection, product: KnownProduct) -> dict[str, Alternative]:
    page = await product.read(selection.query(), Slice(20, instruments=Trace))
    assert isinstance(page.stats.instruments, Trace)
    return {one.index: one for one in page.stats.instruments.alternatives}


async def test_the_cheapest_of_all_possible_indexes_is_chosen() -> None:
    found = await weighed(SEVERAL, KnownProduct(COMMENT, ROWS))
    costs = {name: one.cost for name, one in found.items()}
    others = ("byLocale", "byAuthor", "byVerified", "withPhotos", "byHelpful")
    assert [costs.pop(name) for name in others] == [None] * len(others)
    assert set(costs) == {"all", "byLang", "byRating", "byLangAndRating"}
    for name in others:
        del found[name]
    (chosen,) = [one for one in found.values() if one.chosen]
    assert chosen.cost == min(cost for cost in costs.values() if cost is not None)
    assert chosen.reason_code is ReasonCode.LEAST_BY_COUNTS
    exact = found["byLangAndRating"]
    assert len(exact.segments) == 4 * len(oracle.LANGUAGES)
    assert exact.reason_code in {ReasonCode.MORE_RANGES, ReasonCode.MORE_OF_BOTH}
    assert exact.reason_values[0] == str(len(exact.segments))
    for one in found.values():
        assert one.expected_rows == sum(each.expected_rows or 0 for each in one.segments)
        assert (one.estimated_capacity or 0) >= 0.5 * len(one.segments)


async def test_the_chosen_alternative_has_the_figures_of_the_plan() -> None:
    product = KnownProduct(COMMENT, ROWS)
    for code in (ReasonCode.LEAST_BY_COUNTS, ReasonCode.LEAST_BY_LOCATIONS):
        page = await product.read(SEVERAL.query(), Slice(20, instruments=Trace))
        assert isinstance(page.stats.instruments, Trace)
        chosen = page.stats.instruments.alternatives[0]
        assert chosen.reason_code is code
        assert chosen.index == page.stats.index
        assert chosen.estimated_capacity == page.stats.estimated_capacity
        assert [(one.partition_key, one.range, one.limit) for one in chosen.segments] == [
            (one.partition_key, one.range, one.limit) for one in page.stats.segments
        ]


async def test_the_reason_for_rejecting_an_index_of_equal_cost_is_that_it_is_not_cheaper() -> None:
    english = KnownProduct(COMMENT, [row._replace(language="en") for row in ROWS])
    found = await weighed(Selection("42", frozenset({1, 2}), frozenset({"en"})), english)
    assert found["byLangAndRating"].chosen
    assert found["byRating"].reason == "Not cheaper."
    assert found["byRating"].cost == found["byLangAndRating"].cost


async def test_without_statistics_the_reason_is_that_the_index_covers_the_most_filters() -> None:
    page = await read(engine_of(ROWS), SEVERAL, Slice(20, instruments=Trace))
    assert isinstance(page.stats.instruments, Trace)
    first, *others = page.stats.instruments.alternatives
    assert (first.index, first.cost) == ("byLangAndRating", None)
    assert first.reason_code is ReasonCode.NOTHING_KNOWN
    assert {(one.reason_code, *one.reason_values) for one in others} == {
        (ReasonCode.UNWEIGHED_ROWS, "byLangAndRating"),
        (ReasonCode.DIVIDED, "author"),
        (ReasonCode.DIVIDED, "locale"),
        (ReasonCode.DIVIDED, "verified"),
        (ReasonCode.DIVIDED, "hasPhotos"),
        (ReasonCode.HOLDS_OTHERS, "voted", "true"),
    }


async def test_without_statistics_an_index_that_covers_as_many_filters_has_another_reason() -> None:
    tied = Selection("42", languages=frozenset({"en", "de"}), verified_only=True, has_photos=True)
    page = await read(engine_of(ROWS), tied, Slice(20, instruments=Trace))
    assert isinstance(page.stats.instruments, Trace)
    found = {one.index: one for one in page.stats.instruments.alternatives}
    (chosen,) = [name for name, one in found.items() if one.chosen]
    for name in {"byLang", "byVerified", "withPhotos"} - {chosen}:
        assert found[name].reason_code is ReasonCode.UNWEIGHED_RANGES
        assert found[name].reason_values == [chosen]
    assert found["all"].reason_code is ReasonCode.UNWEIGHED_ROWS
    assert found["all"].reason_values == [chosen]


@pytest.mark.parametrize(
    ("selection", "index", "code", "values"),
    [
        (Selection("42"), "all", ReasonCode.ONLY_INDEX, []),
        (Selection("42"), "byRating", ReasonCode.DIVIDED, ["rating"]),
        (Selection("42"), "byLangAndRating", ReasonCode.DIVIDED, ["language, rating"]),
        (Selection("42", frozenset({5})), "byRating", ReasonCode.NOTHING_TO_WEIGH, []),
        # 66 of 240 rows pass, and 49 rows are read for a page of 20.
        (Selection("42", frozenset({1, 2})), "all", ReasonCode.MORE_ROWS, ["36", "rating"]),
        (Selection("42", frozenset()), "byRating", ReasonCode.NOTHING_TO_READ, []),
        (
            Selection(
                "42", frozenset({1, 2, 3, 4}), frozenset(f"a{c}" for c in "abcdefghijklmnop")
            ),
            "byLangAndRating",
            ReasonCode.TOO_MANY_RANGES,
            ["64", "60"],
        ),
    ],
)
async def test_each_index_has_the_reason_why_it_was_rejected(
    selection: Selection, index: str, code: ReasonCode, values: list[str]
) -> None:
    try:
        found = await weighed(selection, KnownProduct(COMMENT, ROWS))
    except TooManySegmentsError:
        reason = exclusion(BY_LANGUAGE_AND_RATING, selection.query())
        assert (reason.code, reason.values) == (code, values)
    else:
        assert (found[index].reason_code, found[index].reason_values) == (code, values)
