import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dal.errors import InvalidArgumentError
from server.errors import CommandError
from server.importer.instants import DateReader, DateUnit, date_reader, instant

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
        "2020-11-20 12:00:00 UTC",
        "2020-11-20 12:00:00UTC",
        "2020-11-20 12:00:00 GMT",
        "2020-11-20 12:00:00 Z",
        "2020-11-20 13:00:00 +0100",
        "2020-11-20T07:00:00.000 -05:00",
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


@pytest.mark.parametrize(
    ("unit", "cell"), [("ms", 1605873600000), ("us", "1605873600000000"), ("ms", "1605873600000.0")]
)
def test_unix_time_in_other_units(unit: DateUnit, cell: object) -> None:
    assert DateReader(unit)("created_at", cell) == NOON


def test_a_unit_says_that_digits_are_no_date() -> None:
    assert DateReader("s")("created_at", "20201120").year == 1970


@pytest.mark.parametrize(
    ("form", "cell"),
    [
        ("%m/%d/%Y %H:%M", "11/20/2020 12:00"),
        ("%d.%m.%y %I %p", "20.11.20 12 PM"),
        ("%Y-%m-%dT%H:%M:%S%z", "2020-11-20T14:00:00+0200"),
    ],
)
def test_dates_of_a_form(form: str, cell: str) -> None:
    read = date_reader(None, form)
    assert read("created_at", cell) == NOON
    with pytest.raises(InvalidArgumentError, match=f"must be a date of the form {re.escape(form)}"):
        read("created_at", "2020-11-20 noon")


@pytest.mark.parametrize("form", ["%H:%M", "%Y", "noon", "%d.%m", "%Q", "%"])
def test_a_form_that_does_not_tell_the_day(form: str) -> None:
    with pytest.raises(CommandError, match="does not tell the day: write it as of strptime"):
        date_reader(None, form)


def test_a_form_leaves_no_unit_to_tell() -> None:
    with pytest.raises(CommandError, match="exclude each other"):
        date_reader("ms", "%Y-%m-%d")


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
