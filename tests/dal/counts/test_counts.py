"""Facets equal the oracle's: each count is the length of the list with this filter value."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.counts.counts import (
    COMBINATIONS,
    MAX_LANGUAGES,
    CommentFacets,
    CommentStatistics,
    LanguageCount,
    RatingCount,
    RatingCounts,
    StatisticsKey,
    deltas,
    sum_names,
    summed,
)
from dal.model import RATINGS, Comment
from dal.query.plan import Query
from dal.repositories.comments import Selection
from dal.table.ranges import Range
from tests import oracle
from tests.strategies import LANGUAGES, MORE, aspects, comment, identifiers

FIVE_EN = comment(product_id="p", rating=5, language="en")


def counts(*by_rating: int) -> RatingCounts:
    return RatingCounts(by_rating)


def test_a_new_text_changes_no_count() -> None:
    assert deltas(FIVE_EN, FIVE_EN._replace(text="Other", username="bob")) == {}
    assert deltas(None, None) == {}


# Only these fields affect counts. Without random texts and dates, hypothesis needs less time.
rows = st.builds(
    comment,
    product_id=identifiers,
    rating=st.sampled_from(RATINGS),
    language=st.sampled_from(LANGUAGES),
    verified_purchase=st.booleans(),
    photos=st.sampled_from([(), oracle.PHOTOS, oracle.PHOTOS * 2]),
    aspects=aspects,
)


@MORE
@given(st.lists(rows, max_size=8))
def test_changes_in_any_order_add_up_to_the_final_counts(history: list[Comment]) -> None:
    """The changes of one comment are added in reverse order."""
    steps = [deltas(old, new) for old, new in pairwise([None, *history])]
    assert summed(reversed(steps)) == deltas(None, history[-1] if history else None)


@MORE
@given(st.lists(rows, max_size=30))
def test_the_sum_of_adds_equals_a_recount(added: list[Comment]) -> None:
    sums = summed(deltas(None, row) for row in added)
    for flags in (frozenset[str](), *COMBINATIONS):
        wanted = Counter(
            (StatisticsKey(row.product_id, row.language), row.rating)
            for row in added
            if ("verified" not in flags or row.verified_purchase)
            and ("hasPhotos" not in flags or row.photos)
        )
        found = {
            (key, r): change.having(flags).of([r]) for key, change in sums.items() for r in RATINGS
        }
        assert Counter({one: number for one, number in found.items() if number}) == wanted
    ratings = Counter[tuple[StatisticsKey, str]]()
    for row in added:
        for one in row.aspects:
            count, total = sum_names("a", one.name)
            key = StatisticsKey(row.product_id, row.language)
            ratings.update({(key, count): 1, (key, total): one.rating})
    assert {(key, *one) for key, change in sums.items() for one in change.sums} == {
        (*place, number) for place, number in ratings.items()
    }


def test_a_first_and_a_last_photo_change_counts() -> None:
    """An edit that keeps a photo does not."""
    key, one, more = StatisticsKey("p", "en"), oracle.PHOTOS, oracle.PHOTOS * 2
    added = deltas(FIVE_EN, FIVE_EN._replace(photos=one))[key]
    assert added.of() == 0
    assert added.having(frozenset({"hasPhotos"})).of([5]) == 1
    assert summed([{key: added}, deltas(FIVE_EN._replace(photos=one), FIVE_EN)]) == {}
    assert deltas(FIVE_EN._replace(photos=one), FIVE_EN._replace(photos=more)) == {}


DATA = oracle.flagged(oracle.make_comments("p", 300, seed=5))


def statistics(rows: list[Comment]) -> CommentStatistics:
    sums = summed(deltas(None, row) for row in rows)
    return CommentStatistics.summed({key.language or "": one for key, one in sums.items()})


def test_counts_of_every_selection_equal_the_oracles() -> None:
    whole = statistics(DATA)
    for selection in oracle.flagged_selections("p"):
        wanted = len(oracle.selected(DATA, selection))
        assert whole.count(selection.query()) == wanted


def test_an_empty_filter_counts_zero() -> None:
    whole = statistics(DATA)
    for nothing in ({"rating": frozenset[str]()}, {"language": frozenset({"xx"})}):
        assert whole.count(Query("?", nothing)) == 0


def test_with_dates_counts_prove_only_zero() -> None:
    since = Range(low="2020")
    assert statistics(DATA).count(Query("?", {"rating": frozenset("5")}, since)) is None
    assert statistics(DATA).count(Query("?", {"language": frozenset({"xx"})}, since)) == 0


@pytest.mark.parametrize("languages", [None, frozenset({"en"}), frozenset({"de", "ar", "xx"})])
def test_average_and_histogram_are_computed_from_the_counts(
    languages: frozenset[str] | None,
) -> None:
    some = statistics(DATA).of(languages)
    rows = oracle.selected(DATA, Selection("p", languages=languages))
    assert some.total == len(rows)
    assert some.average == pytest.approx(sum(row.rating for row in rows) / len(rows))
    ratings = Counter(row.rating for row in rows)
    assert some.histogram == [RatingCount(one, ratings[one]) for one in (5, 4, 3, 2, 1)]
    assert {one.language for one in some.languages} == oracle.language_choices(
        row.language for row in rows
    )


def test_a_product_without_comments_has_no_average_and_five_zeros() -> None:
    none = CommentStatistics(RatingCounts(), {"en": RatingCounts()})
    assert none.average is None
    assert none.histogram == [RatingCount(one, 0) for one in (5, 4, 3, 2, 1)]
    assert none.languages == []


def test_the_most_frequent_language_comes_first_and_ties_by_name() -> None:
    whole = CommentStatistics(
        counts(0, 0, 0, 0, 5),
        {"fr": counts(1, 0, 0, 0, 0), "en": counts(0, 0, 0, 3, 0), "de": counts(0, 1, 0, 0, 0)},
    )
    assert whole.languages == [
        LanguageCount("en", 3),
        LanguageCount("de", 1),
        LanguageCount("fr", 1),
    ]


def of_tags(**tags: int) -> CommentStatistics:
    return CommentStatistics.summed(
        {tag.replace("_", "-"): counts(0, 0, 0, 0, count) for tag, count in tags.items()}
    )


def test_regions_follow_their_language_if_it_has_several() -> None:
    whole = of_tags(de_AT=1, en=2, en_GB=3, en_US=4, fr_CA=5, nb=1, nn_NO=1)
    assert [(one.language, one.count, one.parent) for one in whole.languages] == [
        ("en", 9, None),
        ("en-US", 4, "en"),
        ("en-GB", 3, "en"),
        ("fr", 5, None),
        ("no", 2, None),
        ("nb", 1, "no"),
        ("nn", 1, "no"),
        ("de", 1, None),
    ]


def test_a_script_stands_for_its_regions() -> None:
    whole = of_tags(zh_Hant_TW=2, zh_Hant_HK=1, zh_Hans_CN=4)
    assert [(one.language, one.count) for one in whole.languages] == [
        ("zh", 7),
        ("zh-Hans", 4),
        ("zh-Hant", 3),
    ]
    assert [one.language for one in of_tags(zh_Hant_TW=2, zh_Hant_HK=1).languages] == ["zh"]


def test_the_least_frequent_regions_are_left_out() -> None:
    whole = of_tags(en_US=3, en_GB=1, **{f"a{chr(97 + n)}": 2 for n in range(MAX_LANGUAGES - 2)})
    assert [one.language for one in whole.languages][:3] == ["en", "en-US", "aa"]
    assert len(whole.languages) == MAX_LANGUAGES


comments = st.lists(
    st.builds(
        comment,
        rating=st.sampled_from(RATINGS),
        language=st.sampled_from(LANGUAGES) | oracle.tags,
    ),
    max_size=40,
)
filters = st.builds(
    Selection,
    st.just("p"),
    st.none() | st.frozensets(st.sampled_from(RATINGS)),
    st.none() | st.frozensets(st.sampled_from([*LANGUAGES, "xx"]) | oracle.tags, max_size=6),
)


@MORE
@given(comments, filters)
def test_the_count_of_a_facet_is_the_length_of_its_list(
    rows: list[Comment], chosen: Selection
) -> None:
    rows = [row._replace(product_id="p") for row in rows]
    found = CommentFacets(statistics(rows), chosen.ratings, chosen.languages)
    shown = oracle.selected(rows, chosen)
    assert found.total == len(shown)
    assert found.average == (sum(row.rating for row in shown) / len(shown) if shown else None)
    assert {one.rating: one.count for one in found.ratings} == {
        rating: len(oracle.selected(rows, replace(chosen, ratings=frozenset({rating}))))
        for rating in RATINGS
    }
    assert {one.language: one.count for one in found.languages} == {
        tag: len(oracle.selected(rows, replace(chosen, languages=frozenset({tag}))))
        for tag in oracle.language_choices(row.language for row in rows)
        | (chosen.languages or set())
    }
    assert {one.rating for one in found.ratings if one.selected} == (chosen.ratings or set())
    assert {one.language for one in found.languages if one.selected} == (chosen.languages or set())


@MORE
@given(comments, filters)
def test_the_statistics_of_languages_are_those_of_their_lists(
    rows: list[Comment], chosen: Selection
) -> None:
    rows = [row._replace(product_id="p") for row in rows]
    held = statistics(rows).of(chosen.languages)
    shown = oracle.selected(rows, replace(chosen, ratings=None))
    assert held.total == len(shown)
    assert {one.language for one in held.languages} == oracle.language_choices(
        row.language for row in shown
    )
    assert sum(one.count for one in held.languages if one.parent is None) == len(shown)
    assert statistics(rows).count(chosen.query()) == len(oracle.selected(rows, chosen))


def test_a_selected_value_does_not_change_the_counts_of_its_own_facet() -> None:
    held = CommentStatistics.summed(
        {
            "en": RatingCounts((0, 0, 0, 0, 9)),
            "de": RatingCounts((5, 0, 0, 0, 0)),
            "fr": RatingCounts((6, 0, 0, 0, 0)),
        }
    )
    for ratings in (None, {1}, {5}, set[int]()):
        found = CommentFacets(held, ratings, {"xx", "de"})
        assert [one.rating for one in found.ratings] == [5, 4, 3, 2, 1]
        assert [one.language for one in found.languages] == ["en", "fr", "de", "xx"]
