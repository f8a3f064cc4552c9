"""The questions about all comments, and their results. Datetimes are timezone-aware, in UTC.

A period is a day, a week that starts on Monday (ISO 8601), or a month. Each period has a number:
see ``number_of``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from dal.model import RATINGS, Product
from dal.table.errors import InvalidArgumentError

MAX_POINTS = 400
"""Maximum points of a trend, which shows a product's comments by day, week or month. 400 points are
13 months of days, 7 years of weeks or 33 years of months."""

AT_LEAST = 5
"""The default of ``MoversQuestion.at_least``: the minimum number of a product's comments in each of
the two periods. With fewer comments, one comment can change the average by a whole star."""


class Interval(StrEnum):
    """The length of a period."""

    DAY = "DAY"
    WEEK = "WEEK"
    MONTH = "MONTH"


_DAYS = {Interval.DAY: 1, Interval.WEEK: 7}
"""The days of each period. Weeks start on Monday, because day 1 of Python's calendar is one."""


@dataclass(frozen=True, slots=True)
class Period:
    """The instants from ``start`` (included) to ``end`` (excluded)."""

    start: datetime
    end: datetime


def number_of(interval: Interval, instant: datetime) -> int:
    """Return the number of the period that contains an instant.

    Consecutive periods have consecutive numbers.
    """
    instant = instant.astimezone(UTC)
    if interval is Interval.MONTH:
        return (instant.year - 1) * 12 + instant.month - 1
    return (instant.toordinal() - 1) // _DAYS[interval]


def start_of(interval: Interval, number: int) -> datetime:
    """Return the start of a period. For a period after the year 9999, return ``datetime.max``."""
    try:
        if interval is Interval.MONTH:
            return datetime(number // 12 + 1, number % 12 + 1, 1, tzinfo=UTC)
        return datetime.fromordinal(number * _DAYS[interval] + 1).replace(tzinfo=UTC)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)


def period(interval: Interval, number: int) -> Period:
    """Return the period that has this number."""
    return Period(start_of(interval, number), start_of(interval, number + 1))


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive periods from number ``first`` to ``last`` (included). None means no limit."""

    interval: Interval
    first: int | None = None
    last: int | None = None

    @classmethod
    def of(cls, interval: Interval, start: datetime | None, end: datetime | None) -> "Span":
        """Return the periods that overlap the time from ``start`` (included) to ``end`` (excluded).

        Raises InvalidArgumentError if ``start`` is not before ``end``, or if there are more than
        MAX_POINTS periods.
        """
        if start is not None and end is not None and start >= end:
            raise InvalidArgumentError("from", "`from` must be earlier than `to`.")
        first = None if start is None else number_of(interval, start)
        last = None if end is None else number_of(interval, _before(end))
        if first is not None and last is not None:
            refuse_many(interval, last - first + 1)
        return cls(interval, first, last)


def refuse_many(interval: Interval, points: int) -> None:
    """Raise InvalidArgumentError if ``points`` is more than MAX_POINTS."""
    if points > MAX_POINTS:
        raise InvalidArgumentError(
            "from",
            f"The trend has {points:,} points, one per {interval}; the maximum is {MAX_POINTS}: "
            "use a later `from`, an earlier `to`, or a longer interval.",
        )


def _before(end: datetime) -> datetime:
    return end - timedelta(microseconds=1) if end > datetime.min.replace(tzinfo=UTC) else end


@dataclass(frozen=True, slots=True)
class TrendQuestion:
    """How do the number and the ratings of a product's comments change over time?

    If ``languages`` is None, the trend includes all languages.
    """

    product_id: str
    span: Span
    languages: frozenset[str] | None = None


class MovedBy(StrEnum):
    """What changed: a product's average rating, or its number of comments (volume)."""

    AVERAGE = "AVERAGE"
    VOLUME = "VOLUME"


@dataclass(frozen=True, slots=True)
class MoversQuestion:
    """Which products changed most between the periods ``earlier`` and ``later``?

    ``earlier`` and ``later`` are instants within these periods. By default, the later period is the
    last period that ended before the export of the comments to the store began, and the earlier
    period is the period before it. With MovedBy.AVERAGE, a product is left out if it has fewer than
    ``at_least`` comments in either period.
    """

    interval: Interval
    by: MovedBy = MovedBy.VOLUME
    earlier: datetime | None = None
    later: datetime | None = None
    limit: int = 20
    at_least: int = AT_LEAST


@dataclass(frozen=True, slots=True)
class RatingCount:
    """Number of comments with one rating."""

    rating: int
    count: int


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The comments of the period that begins at ``start``, counted by rating from 1 to 5."""

    start: datetime
    counts: Sequence[int] = (0,) * len(RATINGS)

    @property
    def count(self) -> int:
        """Number of comments of all ratings."""
        return sum(self.counts)

    @property
    def average(self) -> float | None:
        """The mean rating; None without comments."""
        stars = sum(rating * count for rating, count in zip(RATINGS, self.counts, strict=True))
        return stars / self.count if self.count else None

    @property
    def ratings(self) -> list[RatingCount]:
        """The count of each rating, beginning with rating 5."""
        pairs = zip(RATINGS, self.counts, strict=True)
        return [RatingCount(rating, count) for rating, count in pairs][::-1]


@dataclass(frozen=True, slots=True)
class Source:
    """How a result was made: the store, the SQL, numbers of rows, and the query's duration.

    The store's copy of all comments has ``rows_exported`` rows. The query read ``rows_read`` rows.
    """

    store: str
    sql: str
    rows_exported: int
    rows_read: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Trend:
    """A product's comments over time: a point for each period, also for periods without comments.

    The trend includes every comment written before ``as_of``.
    """

    interval: Interval
    points: Sequence[TrendPoint]
    as_of: datetime
    source: Source = field(compare=False)


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of a product's comments in a period, and the sum of their ratings."""

    count: int
    stars: int

    @property
    def average(self) -> float | None:
        """The mean rating; None without comments."""
        return self.stars / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Mover:
    """A product, with its totals in the two periods."""

    product: Product
    earlier: Totals
    later: Totals


@dataclass(frozen=True, slots=True)
class Movers:
    """The products that changed most, with the largest change first.

    Products with equal changes are in order of their ids.
    """

    earlier: Period
    later: Period
    products: Sequence[Mover]
    as_of: datetime
    source: Source = field(compare=False)
