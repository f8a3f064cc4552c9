"""Facets: how many comments each value of a filter would show, the other filter as it stands.

They are sums of the counters that were read already. All of it is pure.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dal.model import RATINGS
from dal.statistics.counts import CommentStatistics, RatingCounts


@dataclass(frozen=True, slots=True)
class RatingFacet:
    """The comments with one rating, in the chosen languages."""

    rating: int
    count: int
    selected: bool


@dataclass(frozen=True, slots=True)
class LanguageFacet:
    """The comments in one language, with the chosen ratings."""

    language: str
    count: int
    selected: bool


@dataclass(frozen=True, slots=True)
class CommentFacets:
    """What a filter by ratings and languages shows, and what each value of either would.

    ``ratings`` are all five, 5 first. ``languages`` are those of the product, the most frequent
    first whatever is chosen, then chosen ones without comments: no value moves when one is chosen.
    """

    total: int
    average: float | None
    ratings: list[RatingFacet]
    languages: list[LanguageFacet]


def facets(
    statistics: CommentStatistics,
    ratings: Collection[int] | None,
    languages: Collection[str] | None,
) -> CommentFacets:
    """Return the facets of a filter; None is any value, and an empty collection none."""
    of_languages = statistics.of(languages).overall
    shown = CommentStatistics(_with(of_languages, ratings), {})
    return CommentFacets(
        shown.total,
        shown.average,
        [
            RatingFacet(rating, of_languages.of([rating]), rating in (ratings or ()))
            for rating in reversed(RATINGS)
        ],
        [
            LanguageFacet(one, _in(statistics, one).of(ratings), one in (languages or ()))
            for one in _listed(statistics, languages or ())
        ],
    )


def _with(counts: RatingCounts, ratings: Collection[int] | None) -> RatingCounts:
    if ratings is None:
        return counts
    return RatingCounts(tuple(counts.of([one]) if one in ratings else 0 for one in RATINGS))


def _in(statistics: CommentStatistics, language: str) -> RatingCounts:
    return statistics.by_language.get(language, RatingCounts())


def _listed(statistics: CommentStatistics, chosen: Collection[str]) -> Iterator[str]:
    known = [one.language for one in statistics.languages]
    yield from known
    yield from sorted(set(chosen).difference(known))
