"""Periods in UTC: days, weeks that start on Monday (ISO 8601), and months; each has a number."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from dal.errors import InvalidArgumentError
from dal.limits import MAX_POINTS


class Interval(StrEnum):
    """How long a period is."""

    DAY = "DAY"
    WEEK = "WEEK"
    MONTH = "MONTH"


@dataclass(frozen=True, slots=True)
class Period:
    """From ``start`` on, and before ``end``."""

    start: datetime
    end: datetime


def number_of(interval: Interval, instant: datetime) -> int:
    """Return the number of the period that an instant is in; the next period has the next one."""
    instant = instant.astimezone(UTC)
    match interval:
        case Interval.DAY:
            return instant.toordinal() - 1
        case Interval.WEEK:
            return (instant.toordinal() - 1) // 7  # the calendar's first day is a Monday
        case Interval.MONTH:
            return (instant.year - 1) * 12 + instant.month - 1


def start_of(interval: Interval, number: int) -> datetime:
    """Return when a period begins; beyond the calendar's end, that end."""
    try:
        match interval:
            case Interval.DAY:
                return datetime.fromordinal(number + 1).replace(tzinfo=UTC)
            case Interval.WEEK:
                return datetime.fromordinal(number * 7 + 1).replace(tzinfo=UTC)
            case Interval.MONTH:
                return datetime(number // 12 + 1, number % 12 + 1, 1, tzinfo=UTC)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)


def period(interval: Interval, number: int) -> Period:
    """Return the period of a number."""
    return Period(start_of(interval, number), start_of(interval, number + 1))


@dataclass(frozen=True, slots=True)
class Span:
    """Whole periods in a row: from number ``first`` to ``last``, None being open."""

    interval: Interval
    first: int | None = None
    last: int | None = None

    @classmethod
    def of(cls, interval: Interval, start: datetime | None, end: datetime | None) -> "Span":
        """Return the periods that hold any instant from ``start`` on and before ``end``.

        InvalidArgumentError when there is none, or there are more than a trend may have.
        """
        if start is not None and end is not None and start >= end:
            raise InvalidArgumentError("from", "from must lie before to.")
        first = None if start is None else number_of(interval, start)
        last = None if end is None else number_of(interval, _before(end))
        if first is not None and last is not None:
            refuse_many(interval, last - first + 1)
        return cls(interval, first, last)


def refuse_many(interval: Interval, points: int) -> None:
    """Raise InvalidArgumentError for more periods than a trend may have."""
    if points > MAX_POINTS:
        raise InvalidArgumentError(
            "from",
            f"from and to span {points:,} points by {interval}; the most is {MAX_POINTS}: "
            "ask for a shorter time or a longer interval.",
        )


def _before(end: datetime) -> datetime:
    return end - timedelta(microseconds=1) if end > datetime.min.replace(tzinfo=UTC) else end
