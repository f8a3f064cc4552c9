"""Cells become values: text, numbers, dates and lists."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dal.errors import InvalidArgumentError
from dal.model import Money, OrderLine, OrderStatus, UserType
from server.errors import CommandError
from server.importer import field_parsers
from server.importer.field_parsers import (
    DateReader,
    DateUnit,
    date_reader,
    instant,
    order_lines,
    users,
)


@pytest.mark.parametrize("cell", [5, 5.0, "5", "5.0", " 5 ", "+5", "05"])
def test_a_rating_is_a_whole_number_however_it_is_written(cell: object) -> None:
    assert field_parsers.rating("rating", cell) == 5


@pytest.mark.parametrize(
    "cell", [True, 4.5, "4.5", "five", "", "5e0", [5], 1e300, "\u0665", "9" * 20]
)
def test_anything_else_is_no_rating(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match="it must be a whole number from 1 to 5"):
        field_parsers.rating("rating", cell)


@pytest.mark.parametrize("cell", [0, 6, -1, "9"])
def test_an_unknown_rating_is_named(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match=f"rating is {cell}; it goes from 1 to 5"):
        field_parsers.rating("rating", cell)


@pytest.mark.parametrize(("cell", "value"), [(12, "12"), ("a/b#c%", "a/b#c%"), (0, "0")])
def test_an_identifier_is_text_or_a_whole_number(cell: object, value: str) -> None:
    assert field_parsers.identifier("id", cell) == value


@pytest.mark.parametrize("cell", [True, 1.5, [], {"a": 1}, "", "a\tb", "x" * 513])
def test_anything_else_is_no_identifier(cell: object) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        field_parsers.identifier("product_id", cell)
    assert caught.value.argument == "product_id"


@pytest.mark.parametrize(
    ("cell", "value"), [("EN-us", "en-US"), (" de ", "de"), ("zh_tw", "zh-TW")]
)
def test_a_language_is_canonical(cell: str, value: str) -> None:
    assert field_parsers.language("language", cell) == value


@pytest.mark.parametrize("parse", [field_parsers.body, field_parsers.subject])
def test_a_text_says_something(parse: Callable[[str, object], str]) -> None:
    assert parse("text", "a\u202eb") == "ab"
    with pytest.raises(InvalidArgumentError, match="text is empty: write something"):
        parse("text", " \u202e\n")


def test_a_loaded_comment_may_be_a_rating_alone() -> None:
    assert field_parsers.review("text", "") == ""


def test_text_has_a_most() -> None:
    assert len(field_parsers.body("text", "é" * 10_000)) == 10_000
    with pytest.raises(InvalidArgumentError, match="10,001 characters long; the most is 10,000"):
        field_parsers.body("text", "x" * 10_001)
    with pytest.raises(InvalidArgumentError, match="201 characters long; the most is 200"):
        field_parsers.title("title", "x" * 201)
    with pytest.raises(InvalidArgumentError, match="text is 7; it must be text"):
        field_parsers.body("text", 7)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (True, True),
        ("TRUE", True),
        ("yes", True),
        ("Y", True),
        (1, True),
        ("0", False),
        ("f", False),
    ],
)
def test_truth_values(cell: object, value: bool) -> None:
    assert field_parsers.boolean("verified_purchase", cell) is value


def test_anything_else_is_no_truth_value() -> None:
    with pytest.raises(InvalidArgumentError, match="'maybe'; it must be true or false"):
        field_parsers.boolean("verified_purchase", "maybe")


def test_a_long_cell_is_shown_by_its_start() -> None:
    assert len(str(field_parsers.refused("text", ["x" * 5_000], "text"))) < 80


@pytest.mark.parametrize("cell", ["SHIPPED", "shipped", " Shipped "])
def test_a_choice_is_read_in_any_case(cell: str) -> None:
    assert field_parsers.choice(OrderStatus)("status", cell) is OrderStatus.SHIPPED


@pytest.mark.parametrize("cell", ["", "SENT", None, 1])
def test_another_choice_is_refused(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match="status is "):
        field_parsers.choice(OrderStatus)("status", cell)


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


LINE = {"product_id": "42", "quantity": 2, "unit_price": "12.50 EUR"}
READ = (OrderLine("42", 2, Money(Decimal("12.50"), "EUR")),)
ANA = {"username": "ana", "type": "admin"}


@pytest.mark.parametrize("cell", [[LINE], json.dumps([LINE]), [{**LINE, "color": "red"}]])
def test_lines_are_a_list_or_its_text(cell: object) -> None:
    assert order_lines("lines", cell) == READ


def test_a_product_may_be_a_number() -> None:
    assert order_lines("lines", [{**LINE, "product_id": 42}]) == READ


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ([], "lines has 0 entries"),
        ([LINE] * 91, "lines has 91 entries"),
        (LINE, "it must be a list such as"),
        ("[{", "it must be a list such as"),
        ("[" * 100_000, "it must be a list such as"),
        (["42"], "lines.0 is '42'; it must be an object"),
        ([LINE, {**LINE, "quantity": "2"}], "lines.1.quantity is '2'; it must be a whole number"),
        ([{**LINE, "quantity": True}], "lines.0.quantity is True"),
        ([{**LINE, "quantity": 0}], "lines.0.quantity is 0; it goes from 1"),
        ([{**LINE, "unit_price": 12.5}], "lines.0.unit_price is 12.5; it must be text"),
        ([{**LINE, "unit_price": "12.50"}], "such as '12.50 EUR'"),
        ([{"quantity": 1}], "lines.0.unit_price is None"),
        ([LINE, {**LINE, "unit_price": "1 USD"}], "EUR and USD"),
    ],
)
def test_what_is_no_list_of_lines_is_refused(cell: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as fault:
        order_lines("lines", cell)
    assert sentence in str(fault.value)


@pytest.mark.parametrize("cell", [[ANA, {"username": 7}], json.dumps([ANA, {"username": 7}])])
def test_users_are_a_list_or_its_text(cell: object) -> None:
    assert users("users", cell) == {"ana": UserType.ADMIN, "7": UserType.MEMBER}
    assert users("users", []) == {}


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (ANA, "users is {'username': 'ana', 'type': 'admin'}; it must be a list such as [{"),
        ("ana", "users is 'ana'; it must be a list such as"),
        ("[" * 100_000, "it must be a list such as"),
        (["ana"], "users.0 is 'ana'; it must be an object with username and type"),
        ([ANA, {"type": "ADMIN"}], "users.1.username is None; it must be text"),
        ([{"username": ""}], "users.0.username is empty"),
        ([{**ANA, "type": "OWNER"}], "users.0.type is 'OWNER'; it must be one of MEMBER, ADMIN"),
        ([{**ANA, "type": None}], "users.0.type is None; it must be text"),
        ([ANA, ANA], "users.1 has the username of an earlier one"),
    ],
)
def test_what_is_no_list_of_users_is_refused(cell: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as fault:
        users("users", cell)
    assert sentence in str(fault.value)
