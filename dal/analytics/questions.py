"""What can be asked of all comments, and the answers; instants are aware and in UTC."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from dal.analytics.periods import Interval, Period, Span
from dal.model import RATINGS, Product

AT_LEAST = 5
"""Comments that a product needs in both periods for its average to count as moved: of fewer, one
comment moves it a star."""


@dataclass(frozen=True, slots=True)
class TrendQuestion:
    """The comments of a product over time, in some languages or in any."""

    product_id: str
    span: Span
    languages: frozenset[str] | None = None


class MovedBy(StrEnum):
    """What of a product moves."""

    AVERAGE = "AVERAGE"
    VOLUME = "VOLUME"


@dataclass(frozen=True, slots=True)
class MoversQuestion:
    """The products that moved most between the period of ``earlier`` and that of ``later``.

    None is the period before ``later``'s, and the last one that is over.
    """

    interval: Interval
    by: MovedBy = MovedBy.VOLUME
    earlier: datetime | None = None
    later: datetime | None = None
    limit: int = 20
    at_least: int = AT_LEAST


@dataclass(frozen=True, slots=True)
class RatingCount:
    """How many comments have one rating."""

    rating: int
    count: int


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The comments that were made in the period from ``start`` on; ``counts`` are by rating."""

    start: datetime
    counts: Sequence[int] = (0,) * len(RATINGS)

    @property
    def count(self) -> int:
        """Of all ratings."""
        return sum(self.counts)

    @property
    def average(self) -> float | None:
        """The mean rating; None without comments."""
        stars = sum(rating * count for rating, count in zip(RATINGS, self.counts, strict=True))
        return stars / self.count if self.count else None

    @property
    def ratings(self) -> list[RatingCount]:
        """All five, 5 first."""
        pairs = zip(RATINGS, self.counts, strict=True)
        return [RatingCount(rating, count) for rating, count in pairs][::-1]


@dataclass(frozen=True, slots=True)
class Source:
    """The store and SQL of an answer, and what it took; ``rows_exported`` are all rows there."""

    store: str
    sql: str
    rows_exported: int
    rows_read: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Trend:
    """A product's points without gaps: all comments up to ``as_of`` are surely in."""

    interval: Interval
    points: Sequence[TrendPoint]
    as_of: datetime
    source: Source = field(compare=False)


@dataclass(frozen=True, slots=True)
class Totals:
    """The comments of a product in a period."""

    count: int
    stars: int

    @property
    def average(self) -> float | None:
        """The mean rating; None without comments."""
        return self.stars / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Mover:
    """A product that moved."""

    product: Product
    earlier: Totals
    later: Totals


@dataclass(frozen=True, slots=True)
class Movers:
    """The products that moved most, the one that did first; of equals the lesser id."""

    earlier: Period
    later: Period
    products: Sequence[Mover]
    as_of: datetime
    source: Source = field(compare=False)
