"""Statistics: how many comments of each rating a product has, and what a write changes of them.

All of it is pure. ``deltas`` says what a write changes, whoever applies it: the write's own
transaction, a loader, or a reader of the table's stream.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TypeAlias

from dal.model import RATINGS, Comment


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """How many comments have each rating, from 1 to 5; in a change, counts may be negative."""

    by_rating: tuple[int, ...] = (0, 0, 0, 0, 0)

    def __add__(self, other: "RatingCounts") -> "RatingCounts":
        return RatingCounts(tuple(map(add, self.by_rating, other.by_rating)))

    def of(self, ratings: Collection[int] | None = None) -> int:
        """Return how many have one of ``ratings``; None is any."""
        return sum(self.by_rating if ratings is None else (self.by_rating[r - 1] for r in ratings))

    @property
    def fives(self) -> int:
        """How many have rating 5, which is what leaderboards go by."""
        return self.by_rating[-1]


RatingDeltas: TypeAlias = RatingCounts


@dataclass(frozen=True, slots=True)
class StatisticsKey:
    """A product's comments in one language, or in all of them (None).

    With a ``generation``, as one rebuild has counted them so far, apart from what is shown.
    """

    product_id: str
    language: str | None = None
    generation: int | None = None


Deltas: TypeAlias = Mapping[StatisticsKey, RatingDeltas]
"""What changes, without what does not."""


def deltas(old: Comment | None, new: Comment | None) -> Deltas:
    """Return what changes when ``old`` becomes ``new``; None is no comment."""
    return summed(counted for counted in (_counted(old, -1), _counted(new, 1)))


def summed(changes: Iterable[Deltas]) -> Deltas:
    """Return several changes as one."""
    sums: dict[StatisticsKey, RatingDeltas] = {}
    for change in changes:
        for key, counts in change.items():
            sums[key] = sums.get(key, RatingDeltas()) + counts
    return {key: counts for key, counts in sums.items() if any(counts.by_rating)}


def recounted(changes: Deltas, generation: int) -> Deltas:
    """Return changes as they are for the counters of a rebuild."""
    return {replace(key, generation=generation): change for key, change in changes.items()}


def _counted(comment: Comment | None, sign: int) -> Deltas:
    if comment is None:
        return {}
    counts = RatingDeltas(tuple(sign * (rating == comment.rating) for rating in RATINGS))
    keys = (None, comment.language)
    return {StatisticsKey(comment.product_id, language): counts for language in keys}


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
class Statistics:
    """The counts of one product, or of some of its languages."""

    overall: RatingCounts
    by_language: Mapping[str, RatingCounts]
    sound: bool = True
    """Whether the items that these counts were read from agree with each other."""

    def of(self, languages: Collection[str] | None) -> "Statistics":
        """Return the statistics of some languages alone; None is all of them."""
        if languages is None:
            return self
        chosen = {one: self.by_language[one] for one in languages if one in self.by_language}
        return Statistics(reduce(add, chosen.values(), RatingCounts()), chosen, self.sound)

    def counts_of(
        self, languages: Collection[str] | None = None, ratings: Collection[int] | None = None
    ) -> int:
        """Return how many comments have one of the languages and one of the ratings."""
        return self.of(languages).overall.of(ratings)

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
