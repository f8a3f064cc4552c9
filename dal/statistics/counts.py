"""Counts: how many comments of each rating a product has, and what a write changes of them.

All of it is pure. ``deltas`` alone says what counts: for writes, bulk writes, rebuilds,
verification and the table's stream alike.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple, TypeAlias

from dal.errors import NoIndexError
from dal.limits import MAX_IDENTIFIER_BYTES
from dal.model import RATINGS, Comment
from dal.model.key_parts import escape
from dal.query.plan import Filters, Query
from dal.table.ranges import UNBOUNDED


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """How many comments have each rating, from 1 to 5; in a change, counts may be negative."""

    by_rating: tuple[int, ...] = (0, 0, 0, 0, 0)

    def __add__(self, other: "RatingCounts") -> "RatingCounts":
        return RatingCounts(tuple(map(add, self.by_rating, other.by_rating)))

    def __mul__(self, times: int) -> "RatingCounts":
        return RatingCounts(tuple(times * count for count in self.by_rating))

    def of(self, ratings: Collection[int] | None = None) -> int:
        """Return how many have one of ``ratings``; None is any."""
        counts = self.by_rating
        return sum(counts if ratings is None else [counts[rating - 1] for rating in ratings])

    @property
    def fives(self) -> int:
        """How many have rating 5, which is what leaderboards go by."""
        return self.by_rating[-1]


RatingDeltas: TypeAlias = RatingCounts


COUNTED_FIELDS = frozenset({"product", "language", "rating"})
"""The fields that counts are kept by; for filters by any other field they are inexact."""


class StatisticsKey(NamedTuple):
    """Key of the counters of a product's comments in one language, or in all (None).

    The counts of all languages are a sum and have no counters. With a ``generation``, the key of
    that rebuild's counters, which no client sees.
    """

    product_id: str
    language: str | None = None
    generation: int | None = None


_ONE = {
    (sign, rating): RatingDeltas(tuple(sign * (one == rating) for one in RATINGS))
    for sign in (-1, 1)
    for rating in RATINGS
}
"""What one comment more, or less, of each rating changes."""

Deltas: TypeAlias = Mapping[StatisticsKey, RatingDeltas]
"""The counts that a write changes, and by how much; unchanged ones are left out."""


def deltas(old: Comment | None, new: Comment | None) -> Deltas:
    """Return what changes when ``old`` becomes ``new``; None is no comment."""
    return summed(counted for counted in (_counted(old, -1), _counted(new, 1)))


def summed(changes: Iterable[Deltas]) -> Deltas:
    """Return several changes as one."""
    sums: dict[StatisticsKey, RatingDeltas] = {}
    for change in changes:
        for key, counts in change.items():
            held = sums.get(key)
            sums[key] = counts if held is None else held + counts
    return {key: counts for key, counts in sums.items() if any(counts.by_rating)}


def in_generation(changes: Deltas, generation: int) -> Deltas:
    """Return the same changes, for the counters of a rebuild."""
    return {key._replace(generation=generation): change for key, change in changes.items()}


def _counted(comment: Comment | None, sign: int) -> Deltas:
    if comment is None or not _has_counters(comment):
        return {}
    counts = _ONE.get((sign, comment.rating), RatingDeltas())  # others write others
    return {StatisticsKey(comment.product_id, comment.language): counts}


def _has_counters(comment: Comment) -> bool:
    """Return whether counters can have its product and language in their keys.

    Others write any. DynamoDB refuses such a counter for good, and with it the transaction that
    changes it: a follower of the stream would never get past the comment.
    """
    names = (escape(comment.product_id), comment.language)
    return all(len(name.encode()) <= MAX_IDENTIFIER_BYTES for name in names)


@dataclass(frozen=True, slots=True)
class RatingCount:
    """How many comments have one rating."""

    rating: int
    count: int


@dataclass(frozen=True, slots=True)
class LanguageCount:
    """How many comments are in one language."""

    language: str
    count: int


@dataclass(frozen=True, slots=True)
class CommentStatistics:
    """The counts of one product, or of some of its languages: ``overall`` is their sum."""

    overall: RatingCounts
    by_language: Mapping[str, RatingCounts]
    sound: bool = True
    """Whether each of the items that these counts were read from agrees with itself."""

    @classmethod
    def summed(
        cls, by_language: Mapping[str, RatingCounts], *, sound: bool = True
    ) -> "CommentStatistics":
        """Return the statistics of these languages together."""
        return cls(reduce(add, by_language.values(), RatingCounts()), by_language, sound)

    def of(self, languages: Collection[str] | None) -> "CommentStatistics":
        """Return the statistics of some languages alone; None is all of them."""
        if languages is None:
            return self
        chosen = {one: self.by_language[one] for one in languages if one in self.by_language}
        return CommentStatistics.summed(chosen, sound=self.sound)

    def count(self, query: Query) -> int | None:
        """Return how many comments a query selects; NoIndexError where counts cannot tell.

        Of those within some dates they tell only that there is none: None for any other number.
        """
        uncounted = sorted(query.filters.keys() - COUNTED_FIELDS)
        if uncounted:
            raise NoIndexError(
                f"Comments are not counted by {' and '.join(uncounted)}: "
                "ask for them without a total."
            )
        total = self.cardinality(query.filters)
        return total if total == 0 or query.within == UNBOUNDED else None

    def cardinality(self, filters: Filters) -> int:
        """Return how many comments pass those of ``filters`` that are counted."""
        ratings, languages = filters.get("rating"), filters.get("language")
        of = None if ratings is None else list(map(int, ratings))
        if languages is None:
            return self.overall.of(of)
        counts = self.by_language
        return sum([counts[one].of(of) for one in languages if one in counts])

    @property
    def total(self) -> int:
        """How many comments there are."""
        return self.overall.of()

    @property
    def average(self) -> float | None:
        """The mean rating; None without comments."""
        points = sum(rating * self.overall.of([rating]) for rating in RATINGS)
        return points / self.total if self.total else None

    @property
    def histogram(self) -> list[RatingCount]:
        """All five ratings with their counts, 5 first as shops show them."""
        return [RatingCount(rating, self.overall.of([rating])) for rating in reversed(RATINGS)]

    @property
    def languages(self) -> list[LanguageCount]:
        """The languages that have comments, the most frequent first."""
        counts = [LanguageCount(name, counts.of()) for name, counts in self.by_language.items()]
        counts.sort(key=lambda one: (-one.count, one.language))
        return [one for one in counts if one.count]


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
