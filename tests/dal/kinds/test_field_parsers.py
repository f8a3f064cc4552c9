"""Parsers turn cells into values: identifiers, choices and dates."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dal.kinds import field_parsers as parsers
from dal.kinds.field_parsers import DateReader, instant
from dal.model import OrderStatus
from dal.table.errors import InvalidArgumentError

Parser = Callable[[str, object], Any]

STATUS = parsers.choice(OrderStatus)
NOON = datetime(2020, 11, 20, 12, tzinfo=UTC)


def named(value: object) -> str | None:
    """Return a parameter's name for pytest, or None for a parser, which pytest names itself."""
    return None if callable(value) else str(value)[:40]


def refuses(parse: Parser, cell: object, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse("field", cell)
    assert message in str(caught.value)
    assert caught.value.argument.startswith("field")


VALUES: list[tuple[Parser, object, list[object]]] = [
    (parsers.identifier, "12", [12, "12"]),
    (parsers.identifier, "a/b#c%", ["a/b#c%", " a/b#c%", "\ta/b#c%\n", "\ufeffa/b#c%\u3000"]),
    (parsers.identifier, "0", [0]),
    (parsers.subject, "ab", ["a\u202eb"]),
    (STATUS, OrderStatus.SHIPPED, ["SHIPPED", "shipped", " Shipped "]),
    (
        instant,
        NOON,
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
    ),
    (instant, NOON.replace(hour=0), ["2020-11-20"]),
    (instant, NOON.replace(microsecond=123456), ["1605873600.123456", 1605873600.123456]),
    (instant, NOON, ["2019-01-02\n2020-11-20T12:00:00Z"]),
    (DateReader("s"), datetime(1969, 12, 31, 23, 59, 58, 500000, tzinfo=UTC), ["-1.5"]),
    (DateReader("ms"), NOON, [1605873600000, "1605873600000.0"]),
    (DateReader("us"), NOON, ["1605873600000000"]),
    # With a unit, every number is Unix time.
    (DateReader("s"), datetime(1970, 8, 22, 19, 25, 20, tzinfo=UTC), ["20201120"]),
    (DateReader("s"), datetime(1970, 1, 1, 12, 40, 1, tzinfo=UTC), [45601]),
]


@pytest.mark.parametrize(
    ("parse", "cell", "value"),
    [(parse, cell, value) for parse, value, cells in VALUES for cell in cells],
    ids=named,
)
def test_a_cell_is_parsed(parse: Parser, cell: object, value: object) -> None:
    assert parse("field", cell) == value


DATE = "2020-11-20T12:00:00Z"

REFUSED: list[tuple[Parser, str, list[object]]] = [
    (parsers.identifier, "field ", [True, 1.5, [], {"a": 1}, "", "a\tb", "x" * 513]),
    (parsers.subject, "field is empty", [" \u202e\n"]),
    (parsers.title, "201 ", ["x" * 201]),
    (STATUS, "field is ", ["", "SENT", None, 1]),
    (
        instant,
        "--date-unit ",
        [
            *("20201120", 20201120, "2020", "202011", "202011201200"),
            *("45601", 45601, 45601.5, "45601.000", "0", 1, "-1.5", 31_535_999),
            *(4_102_444_800, 1605873600000, "-999999999999", 1e14),
        ],
    ),
    (
        instant,
        f"{DATE}.",
        ["", "yesterday", "20/11/2020", "2020-13-01", "12:00", "nan", "1e9", True, [1], "٢"],
    ),
    (DateReader("ms"), "Unix time in ms", ["yesterday", True]),
    (DateReader("s"), "the years 1 to 9999", [10**14]),
    (instant, "out of range", ["9999-12-31T23:00:00-05:00"]),
    (parsers.identifier, "field is 'a\\nb'", ["a\nb"]),
    (parsers.identifier, "the base64 of 'Product:72'", ["UHJvZHVjdDo3Mg==", " UHJvZHVjdDo3Mg==\n"]),
    (parsers.account, "the base64 of 'User:ana'", ["VXNlcjphbmE="]),
]


@pytest.mark.parametrize(
    ("parse", "cell", "message"),
    [(parse, cell, message) for parse, message, cells in REFUSED for cell in cells],
    ids=named,
)
def test_an_invalid_cell_is_refused(parse: Parser, cell: object, message: str) -> None:
    refuses(parse, cell, message)


def test_only_the_start_of_a_long_cell_is_shown() -> None:
    assert len(str(parsers.refused("text", ["x" * 5_000], "text"))) < 80


@given(st.datetimes(timezones=st.timezones()))
def test_iso_dates_keep_their_time(moment: datetime) -> None:
    try:
        expected = moment.astimezone(UTC)
    except OverflowError:
        assume(condition=False)
    # ISO texts of today have offsets in minutes. Some before 1900 have seconds, which the parser
    # keeps.
    assert instant("created_at", moment.isoformat()) == expected


@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2099, 12, 31)))  # noqa: DTZ001 - hypothesis wants naive bounds
def test_unix_seconds_keep_their_microseconds(moment: datetime) -> None:
    aware = moment.replace(tzinfo=UTC)
    since = aware - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = f"{since // timedelta(seconds=1)}.{since.microseconds:06}"
    assert instant("created_at", seconds) == aware
