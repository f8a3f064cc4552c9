from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dal.errors import InvalidArgumentError
from server.importer.instants import instant

NOON = datetime(2020, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "cell",
    [
        "2020-11-20T12:00:00Z",
        "2020-11-20T12:00:00.000000Z",
        "2020-11-20 12:00",
        "2020-11-20T13:00:00+01:00",
        "20201120T120000Z",
        1605873600,
        1605873600.0,
        "1605873600",
        " 1605873600.000 ",
    ],
)
def test_one_instant_in_many_forms(cell: object) -> None:
    assert instant("created_at", cell) == NOON


def test_a_date_alone_is_its_midnight_in_utc() -> None:
    assert instant("created_at", "2020-11-20") == NOON.replace(hour=0)


@pytest.mark.parametrize("cell", ["1605873600.123456", 1605873600.123456])
def test_decimal_seconds_are_exact_to_the_microsecond(cell: object) -> None:
    assert instant("created_at", cell) == NOON.replace(microsecond=123456)


def test_seconds_before_1970() -> None:
    assert instant("created_at", "-1.5") == datetime(1969, 12, 31, 23, 59, 58, 500000, tzinfo=UTC)


@pytest.mark.parametrize("cell", ["20201120", 20201120, "2020", "202011"])
def test_digits_that_may_be_a_date_or_seconds_are_refused(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match="written as 2020-11-20"):
        instant("created_at", cell)


@pytest.mark.parametrize(
    "cell", ["", "yesterday", "20/11/2020", "2020-13-01", "12:00", "nan", "1e9", True, [1], "٢"]
)
def test_what_is_no_date(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match="it must be a date such as"):
        instant("created_at", cell)


@pytest.mark.parametrize("cell", [1605873600000, "-999999999999", 1e14])
def test_milliseconds_are_out_of_the_calendar(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"out of the calendar: unix time in milli"):
        instant("created_at", cell)


def test_a_date_that_leaves_the_calendar_in_utc() -> None:
    with pytest.raises(InvalidArgumentError, match="out of the calendar"):
        instant("created_at", "9999-12-31T23:00:00-05:00")


@given(st.datetimes(timezones=st.timezones()))
def test_iso_dates_keep_their_instant(moment: datetime) -> None:
    try:
        expected = moment.astimezone(UTC)
    except OverflowError:
        assume(condition=False)
    # The text has minutes of zone at least; zones before 1900 had seconds, which it keeps too.
    assert instant("created_at", moment.isoformat()) == expected


@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(9999, 1, 1)))  # noqa: DTZ001 - hypothesis wants naive bounds
def test_seconds_keep_their_microsecond(moment: datetime) -> None:
    aware = moment.replace(tzinfo=UTC)
    since = aware - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = f"{since // timedelta(seconds=1)}.{since.microseconds:06}"
    assert instant("created_at", seconds) == aware
