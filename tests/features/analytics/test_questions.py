"""Periods are whole, in UTC, with weeks from Monday. Spans are limited."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.table.errors import InvalidArgumentError
from features.analytics.questions import MAX_POINTS, Interval, Span, number_of, period
from tests.features.analytics import oracle

instants = st.datetimes(
    datetime(1, 1, 3),  # noqa: DTZ001 - hypothesis adds the zone
    datetime(9999, 12, 1),  # noqa: DTZ001
    timezones=st.sampled_from([UTC]),
) | st.datetimes(
    datetime(1900, 1, 1),  # noqa: DTZ001
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(timezone(timedelta(hours=-9))),
)


@given(interval=st.sampled_from(Interval), instant=instants)
def test_every_instant_is_in_one_period_and_periods_are_adjacent(
    interval: Interval, instant: datetime
) -> None:
    number = number_of(interval, instant)
    found = period(interval, number)
    assert found.start <= instant < found.end
    assert found.start.date() == oracle.day_of(interval, instant)
    assert found.end == period(interval, number + 1).start


def test_the_last_period_of_the_calendar_ends_with_the_calendar() -> None:
    for interval in Interval:
        found = period(interval, number_of(interval, datetime.max.replace(tzinfo=UTC)))
        assert found.end == datetime.max.replace(tzinfo=UTC)


@given(interval=st.sampled_from(Interval), start=instants, end=instants)
def test_a_span_contains_its_instants_or_is_refused(
    interval: Interval, start: datetime, end: datetime
) -> None:
    if start >= end or number_of(interval, end) - number_of(interval, start) > MAX_POINTS:
        with pytest.raises(InvalidArgumentError):
            Span.of(interval, start, end)
        return
    span = Span.of(interval, start, min(end, start + timedelta(days=MAX_POINTS - 2)))
    end = min(end, start + timedelta(days=MAX_POINTS - 2))
    assert span.first is not None
    assert span.last is not None
    assert period(interval, span.first).start <= start < period(interval, span.first).end
    last = period(interval, span.last)
    assert last.start < end <= last.end
    assert 1 <= span.last - span.first + 1 <= MAX_POINTS


def test_a_trend_with_too_many_points_is_refused_with_the_maximum() -> None:
    start, end = datetime(1020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC)
    with pytest.raises(
        InvalidArgumentError, match=r"365,243 points, one per DAY; the maximum is 400"
    ):
        Span.of(Interval.DAY, start, end)
