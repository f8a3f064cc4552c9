"""Counts of a product's comments by rating, language and flags, and how a write changes them.

A *flag* is a filter by ``true``: for buyers' comments, and for comments with photos. For each
rating, there is a count of all comments, and a count for each combination of flags. So the counts
contain the total of each list without dates.

A field with numbers by name, such as ratings of ``fit``, has two *sums* for each name: how many
comments have a number of this name, and the sum of these numbers.

Only ``deltas`` decides which comments are counted. Writes, bulk writes, rebuilds, verification and
the stream's follower all use it. All functions here are pure.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from operator import add, mul
from typing import NamedTuple, TypeAlias

from dal.model import RATINGS, Comment
from dal.model.comment_fields import FIELDS, FILTERS, CommentField, flag
from dal.model.languages import (
    LANGUAGE_FIELDS,
    coarser,
    disjoint_ranges,
    finds,
    language_of,
    ranges_of,
    tag_of,
)
from dal.query.plan import Filters, Query
from dal.table.key_parts import MAX_IDENTIFIER_BYTES, escape
from dal.table.ranges import UNBOUNDED

MAX_LANGUAGES = 100
"""Maximum languages in the statistics of a product or a group: the most frequent ones. Users choose
the language of their comments, so a product can have thousands."""


FLAGS: Mapping[str, CommentField] = {name: one for name, one in FILTERS.items() if one.counter}
"""The fields that are flags, by the filter's name. Their filter's value is that of ``flag``."""

COMBINATIONS: Sequence[frozenset[str]] = [
    frozenset(names) for size in range(1, len(FLAGS) + 1) for names in combinations(FLAGS, size)
]
"""The combinations of flags, in the order of their counts."""

_UNFLAGGED = (0,) * (len(COMBINATIONS) * len(RATINGS))


NUMBERED = [(one.name, one.counter, one.numbers) for one in FIELDS if one.numbers]
"""The name, the counter and the function of each field with numbers by name."""

Sums: TypeAlias = tuple[tuple[str, int], ...]
"""Pairs of a sum's name and the sum, sorted, without sums of zero."""


def sum_names(counter: str, name: str) -> tuple[str, str]:
    """Return the names of the two sums of the numbers of one name.

    ``counter`` is the letter of the field.
    """
    return f"{counter}_{name}_n", f"{counter}_{name}_s"


def sum_parts(sum_name: str) -> tuple[str, bool]:
    """Return a number's name, and whether the sum is how many comments have it.

    ``sum_name`` is one of ``sum_names``.
    """
    return sum_name[2:-2], sum_name.endswith("_n")


def _added(several: Iterable[Sums]) -> Sums:
    sums: dict[str, int] = {}
    for name, number in chain.from_iterable(several):
        sums[name] = sums.get(name, 0) + number
    return tuple(sorted([one for one in sums.items() if one[1]]))


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """The number of comments with each rating from 1 to 5. In a delta, a number may be negative."""

    by_rating: tuple[int, ...] = (0, 0, 0, 0, 0)
    flagged: tuple[int, ...] = _UNFLAGGED
    """For each of COMBINATIONS, the five numbers of comments that have all of its flags."""
    sums: Sums = ()

    def __add__(self, other: "RatingCounts") -> "RatingCounts":
        return RatingCounts(
            tuple(map(add, self.by_rating, other.by_rating)),
            tuple(map(add, self.flagged, other.flagged)),
            _added([self.sums, other.sums]) if self.sums or other.sums else (),
        )

    def __mul__(self, times: int) -> "RatingCounts":
        return RatingCounts(
            tuple([times * count for count in self.by_rating]),
            tuple([times * count for count in self.flagged]),
            tuple([(name, times * number) for name, number in self.sums if times]),
        )

    def __bool__(self) -> bool:
        return any(self.by_rating) or any(self.flagged) or bool(self.sums)

    @property
    def without_negatives(self) -> "RatingCounts":
        """The same counts, with 0 instead of each negative number."""
        least = [number for _, number in self.sums]
        if min(*self.by_rating, *self.flagged, *least) >= 0:
            return self
        return RatingCounts(
            tuple([max(0, count) for count in self.by_rating]),
            tuple([max(0, count) for count in self.flagged]),
            tuple([one for one in self.sums if one[1] > 0]),
        )

    def having(self, flags: frozenset[str]) -> "RatingCounts":
        """Return the counts of the comments that have all ``flags``, a set of names in FLAGS.

        With flags, the result has no sums.
        """
        if not flags:
            return self
        start = COMBINATIONS.index(flags) * len(RATINGS)
        return RatingCounts(self.flagged[start : start + len(RATINGS)])

    def of(self, ratings: Collection[int] | None = None) -> int:
        """Return the number of comments with one of ``ratings``; None includes all ratings."""
        counts = self.by_rating
        return sum(counts if ratings is None else [counts[rating - 1] for rating in ratings])

    @property
    def fives(self) -> int:
        """The number of comments rated 5. Leaderboards rank products by this count."""
        return self.by_rating[-1]


COUNTED_FIELDS = frozenset({"product", "rating", *LANGUAGE_FIELDS})
"""The fields, besides flags, by which comments are counted. Only filters by these fields have exact
counts in plans."""

TOTAL_FIELDS = COUNTED_FIELDS | FLAGS.keys()
"""The fields with filters that can have an exact total."""


class StatisticsKey(NamedTuple):
    """Names the counters of a product's comments in one language.

    A key without a language names the sum of all languages. No item stores this sum. A key with a
    ``generation`` names the counters of the rebuild with this number. Clients never see these
    counters.
    """

    product_id: str
    language: str | None = None
    generation: int | None = None


_TRUE = frozenset({flag(True)})

_ONE = {
    (sign, rating, flags): RatingCounts(
        tuple(sign * (one == rating) for one in RATINGS),
        tuple(sign * (one == rating and held <= flags) for held in COMBINATIONS for one in RATINGS),
    )
    for sign in (-1, 1)
    for rating in RATINGS
    for flags in (frozenset[str](), *COMBINATIONS)
}
"""The delta of adding (sign 1) or removing (sign -1) a comment with a rating and flags."""

Deltas: TypeAlias = Mapping[StatisticsKey, RatingCounts]
"""How a write changes counts. Maps the key of each counter to the change of its counts."""


class CounterRule:
    """Follows the writes that change counters. Each method does nothing by default."""

    def counted(self, changes: Deltas) -> None:
        """Receive the changed counters of a write, whatever its outcome."""

    def ended(self, products: Collection[str]) -> None:
        """Receive the ids of a write's products, whatever its outcome."""


def deltas(old: Comment | None, new: Comment | None) -> Deltas:
    """Return how the counts change when ``old`` becomes ``new``. None means no comment."""
    if old is None:
        return _counted(new, 1)
    removed = _counted(old, -1)
    return removed if new is None else summed([removed, _counted(new, 1)])


def summed(changes: Iterable[Deltas]) -> Deltas:
    """Return the sum of several changes. Counters with a sum of zero are left out."""
    sums: dict[StatisticsKey, RatingCounts] = {}
    for change in changes:
        for key, counts in change.items():
            held = sums.get(key)
            sums[key] = counts if held is None else held + counts
    return {key: counts for key, counts in sums.items() if counts}


def in_generation(changes: Deltas, generation: int) -> Deltas:
    """Return ``changes`` as changes of a rebuild's counters; ``generation`` is its number."""
    return {key._replace(generation=generation): change for key, change in changes.items()}


def _counted(comment: Comment | None, sign: int) -> Deltas:
    # Another program may write a product id or language of any length. If a counter's key is too
    # long, DynamoDB rejects the whole transaction at every attempt, and a stream's follower could
    # never apply the comment's stream record. So a comment with such a key is not counted.
    if comment is None or (
        max(len(escape(comment.product_id).encode()), len(comment.language.encode()))
        > MAX_IDENTIFIER_BYTES
    ):
        return {}
    flags = frozenset([name for name, one in FLAGS.items() if getattr(comment, one.name)])
    counts = _ONE.get((sign, comment.rating, flags))
    if counts is None:
        return {}
    for field, counter, numbers in NUMBERED:
        if value := getattr(comment, field):
            sums = list(counts.sums)
            for name, number in numbers(value).items():
                count, total = sum_names(counter, name)
                sums += (count, sign), (total, sign * number)
            counts = replace(counts, sums=tuple(sorted(sums)))
    return {StatisticsKey(comment.product_id, comment.language): counts}


@dataclass(frozen=True, slots=True)
class RatingCount:
    """The number of comments with one rating.

    In ``CommentFacets``, ``count`` includes only comments in the selected languages.
    """

    rating: int
    count: int
    selected: bool = False
    """Whether the filter includes this rating."""


@dataclass(frozen=True, slots=True)
class LanguageCount:
    """The number of comments that a filter by one language finds.

    In ``CommentFacets``, ``count`` includes only comments with the selected ratings.
    """

    language: str
    """The tag of a range, such as ``en``, which finds comments in ``en-GB`` too."""

    count: int
    selected: bool = False
    """Whether the filter includes this tag."""

    @property
    def parent(self) -> str | None:
        """The language of a region or script: ``en`` for ``en-GB``. None for a whole language."""
        whole = language_of(self.language)
        return None if whole == self.language else whole


@dataclass(frozen=True)
class CommentStatistics:
    """The counts of one or several products, in all or some languages.

    ``overall`` is the sum of these languages.
    """

    overall: RatingCounts
    by_language: Mapping[str, RatingCounts]
    sound: bool = True
    """True if no item has a count below 0, and the total of each item is the sum of its counts."""

    @classmethod
    def summed(
        cls, by_language: Mapping[str, RatingCounts], *, sound: bool = True
    ) -> "CommentStatistics":
        """Return the statistics of these languages, with their sum."""
        # Sums of columns take a third of the time of adding the counts of two languages at a time.
        columns = zip(*[one.by_rating for one in by_language.values()], strict=True)
        flagged = zip(*[one.flagged for one in by_language.values()], strict=True)
        sums = _added([one.sums for one in by_language.values()])
        overall = RatingCounts(tuple(map(sum, columns)), tuple(map(sum, flagged)), sums)
        return cls(overall if by_language else RatingCounts(), by_language, sound)

    @classmethod
    def together(cls, products: Sequence["CommentStatistics"]) -> "CommentStatistics":
        """Return the statistics of several products, added as if they were one product."""
        if len(products) == 1:
            return products[0]
        sums: dict[str, RatingCounts] = {}
        for one in products:
            for language, counts in one.by_language.items():
                sums[language] = sums.get(language, RatingCounts()) + counts
        return cls.summed(sums, sound=all(one.sound for one in products))

    def of(self, languages: Collection[str] | None) -> "CommentStatistics":
        """Return the statistics of the languages that these tags find; None finds all languages."""
        if languages is None:
            return self
        ranges = disjoint_ranges(languages)
        chosen = {tag: counts for tag, counts in self.by_language.items() if finds(ranges, tag)}
        return CommentStatistics.summed(chosen, sound=self.sound)

    def having(self, flags: frozenset[str]) -> "CommentStatistics":
        """Return the statistics of the comments that have all ``flags``, names in FLAGS."""
        if not flags:
            return self
        chosen = {one: counts.having(flags) for one, counts in self.by_language.items()}
        return CommentStatistics.summed(chosen, sound=self.sound)

    def count(self, query: Query) -> int | None:
        """Return the number of comments that a query selects.

        The query filters by fields of TOTAL_FIELDS only. Counters do not store dates. So for a
        query with dates, the result is 0 if no comment of any date passes the filters, otherwise
        None.
        """
        flags = frozenset([one for one in FLAGS if query.filters.get(one) == _TRUE])
        total = self.having(flags).cardinality(query.filters)
        return total if total == 0 or query.within == UNBOUNDED else None

    def cardinality(self, filters: Filters) -> int:
        """Return the number of comments that pass the filters.

        Filters by flags and by uncounted fields are ignored.
        """
        ratings, counts = filters.get("rating"), [self.overall]
        wanted = [filters[name] for name in LANGUAGE_FIELDS if name in filters]
        if wanted:
            ranges: Collection[str] = wanted[0]
            for others in wanted[1:]:  # for example, the language of one segment
                ranges = [one for one in ranges if not others.isdisjoint(coarser(one))]
            held = self._by_range
            counts = [held[one] for one in ranges if one in held]
        if ratings is None:
            return sum([one.of() for one in counts])
        return sum([one.by_rating[int(rating) - 1] for one in counts for rating in ratings])

    @cached_property
    def _by_range(self) -> Mapping[str, RatingCounts]:
        """The counts of each range that finds comments."""
        sums: dict[str, RatingCounts] = {}
        for tag, counts in self.by_language.items():
            for one in ranges_of(tag):
                before = sums.get(one)
                sums[one] = counts if before is None else before + counts
        return sums

    @property
    def total(self) -> int:
        """The number of comments."""
        return self.overall.of()

    @property
    def average(self) -> float | None:
        """The mean rating; None without comments."""
        points, total = sum(map(mul, RATINGS, self.overall.by_rating)), self.total
        return points / total if total else None

    @property
    def histogram(self) -> list[RatingCount]:
        """The counts of all five ratings, rating 5 first."""
        return [RatingCount(rating, self.overall.of([rating])) for rating in reversed(RATINGS)]

    # Cached, because a client can select the languages of the same statistics many times.
    @cached_property
    def languages(self) -> list[LanguageCount]:
        """The languages that have comments, the most frequent first.

        Each language is followed by its regions and scripts (the ranges of two subtags), unless all
        its comments are in one of them. The list has at most MAX_LANGUAGES languages, regions and
        scripts, and leaves out the least frequent.
        """
        totals = {one: counts.of() for one, counts in self._by_range.items()}
        found = []
        for one, count in totals.items():
            whole, *rest = coarser(one)
            if count and (not rest or (len(rest) == 1 and count < totals[whole])):
                found.append((-count, whole, one))
        # A region has fewer comments than its language, so the language is not left out before it.
        frequent = sorted(found)[:MAX_LANGUAGES]
        frequent.sort(key=lambda one: (-totals[one[1]], one[1], one[2] != one[1], one))
        return [LanguageCount(tag_of(one), -count) for count, _, one in frequent]


@dataclass(frozen=True, slots=True)
class CommentFacets:
    """The number of comments for each rating and each language that a filter can select.

    None selects every value, and an empty collection selects no value. The count of a rating
    includes only the selected languages. The count of a language includes only the selected
    ratings.
    """

    statistics: CommentStatistics
    selected_ratings: Collection[int] | None
    selected_languages: Collection[str] | None

    @property
    def _of_languages(self) -> RatingCounts:
        return self.statistics.of(self.selected_languages).overall

    @property
    def _of_both(self) -> CommentStatistics:
        counts, ratings = self._of_languages, self.selected_ratings
        if ratings is not None:
            chosen = (counts.of([one]) if one in ratings else 0 for one in RATINGS)
            counts = RatingCounts(tuple(chosen))
        return CommentStatistics(counts, {})

    @property
    def total(self) -> int:
        """The number of comments that match both filters."""
        return self._of_both.total

    @property
    def average(self) -> float | None:
        """The mean rating of these comments; None without comments."""
        return self._of_both.average

    @property
    def ratings(self) -> list[RatingCount]:
        """The counts of all five ratings, rating 5 first."""
        counts, selected = self._of_languages, self.selected_ratings or ()
        return [RatingCount(one, counts.of([one]), one in selected) for one in reversed(RATINGS)]

    @property
    def languages(self) -> list[LanguageCount]:
        """The languages of ``CommentStatistics.languages``, then other selected languages."""
        selected = self.selected_languages or ()
        listed = [one.language for one in self.statistics.languages]
        listed += sorted(set(selected).difference(listed))
        filters: dict[str, frozenset[str]] = {}
        if self.selected_ratings is not None:
            filters["rating"] = frozenset(map(str, self.selected_ratings))
        return [
            LanguageCount(
                one,
                self.statistics.cardinality({**filters, "tag": disjoint_ranges([one])}),
                one in selected,
            )
            for one in listed
        ]
