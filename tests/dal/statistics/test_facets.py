"""Facets against the oracle: each count is the length of the list that its value would show."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dal.model import RATINGS, Comment
from dal.repositories.comments import Selection
from dal.statistics.counts import CommentStatistics, RatingCounts, deltas, summed
from dal.statistics.facets import facets
from tests import oracle
from tests.strategies import LANGUAGES, MORE, comment

comments = st.lists(
    st.builds(comment, rating=st.sampled_from(RATINGS), language=st.sampled_from(LANGUAGES)),
    max_size=40,
)
filters = st.builds(
    Selection,
    st.just("p"),
    st.none() | st.frozensets(st.sampled_from(RATINGS)),
    st.none() | st.frozensets(st.sampled_from([*LANGUAGES, "xx"])),
)


def statistics_of(rows: list[Comment]) -> CommentStatistics:
    counted = summed(deltas(None, row) for row in rows)
    return CommentStatistics.summed({key.language or "": one for key, one in counted.items()})


@MORE
@given(comments, filters)
def test_a_count_is_what_its_value_would_show(rows: list[Comment], chosen: Selection) -> None:
    rows = [row._replace(product_id="p") for row in rows]
    found = facets(statistics_of(rows), chosen.ratings, chosen.languages)
    shown = oracle.selected(rows, chosen)
    assert found.total == len(shown)
    assert found.average == (sum(row.rating for row in shown) / len(shown) if shown else None)
    assert {one.rating: one.count for one in found.ratings} == {
        rating: len(oracle.selected(rows, replace(chosen, ratings=frozenset({rating}))))
        for rating in RATINGS
    }
    assert {one.language: one.count for one in found.languages} == {
        tag: len(oracle.selected(rows, replace(chosen, languages=frozenset({tag}))))
        for tag in {row.language for row in rows} | (chosen.languages or set())
    }
    assert {one.rating for one in found.ratings if one.selected} == (chosen.ratings or set())
    assert {one.language for one in found.languages if one.selected} == (chosen.languages or set())


def test_no_value_moves_when_one_is_chosen() -> None:
    statistics = CommentStatistics.summed(
        {
            "en": RatingCounts((0, 0, 0, 0, 9)),
            "de": RatingCounts((5, 0, 0, 0, 0)),
            "fr": RatingCounts((6, 0, 0, 0, 0)),
        }
    )
    for ratings in (None, {1}, {5}, set[int]()):
        found = facets(statistics, ratings, {"xx", "de"})
        assert [one.rating for one in found.ratings] == [5, 4, 3, 2, 1]
        assert [one.language for one in found.languages] == ["en", "fr", "de", "xx"]
