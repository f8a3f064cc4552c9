"""Parsers turn cells into values: texts, numbers, dates and lists."""

import json
from decimal import Decimal
from functools import partial

import pytest

from dal.composition import KINDS
from dal.model import AspectRating, Money, OrderLine, Photo, UserType
from dal.table.errors import InvalidArgumentError
from features.loading import parsers
from features.loading.column_mapping import date_reader
from features.loading.kind import COMMENTS, files_of
from server.errors import CommandError
from tests.dal.kinds.test_field_parsers import NOON, Parser, named, refuses
from tests.scans import repeats
from tests.test_linear_time import is_linear, lines_of

LINE = {"product_id": "42", "quantity": 2, "unit_price": "12.50 EUR"}
LINES = (OrderLine("42", 2, Money(Decimal("12.50"), "EUR")),)
ANA = {"username": "ana", "type": "admin"}
(ASPECTS,) = [one.parse for one in COMMENTS.fields if one.name == "aspects"]
USERS = {"ana": UserType.ADMIN, "7": UserType.MEMBER}


VALUES: list[tuple[Parser, object, list[object]]] = [
    (parsers.rating, 5, [5, 5.0, "5", "5.0", " 5 ", "+5", "05"]),
    (parsers.language, "en-US", ["EN-us", " en_us "]),
    (parsers.language, "zh-TW", ["zh_tw"]),
    (parsers.language, "zh-Hant", ["cmn_hant"]),
    (parsers.language, "he", ["iw", "HEB"]),
    (parsers.gtin, "4006381333931", [4006381333931, " 4006381333931 "]),
    (parsers.gtin, "", ["", " "]),
    (parsers.trade_name, "4711", [4711, "4711"]),
    (parsers.body, "ab", ["a\u202eb"]),
    # If empty texts are allowed, a comment may be a rating alone.
    (parsers.review, "", ["", " \u200b\n"]),
    (parsers.body, "é" * 10_000, ["é" * 10_000]),
    (parsers.boolean, True, [True, "TRUE", "yes", "Y", 1]),
    (parsers.boolean, False, ["0", "f"]),
    (parsers.order_lines, LINES, [[LINE], json.dumps([LINE]), [{**LINE, "color": "red"}]]),
    (parsers.order_lines, LINES, [[{**LINE, "product_id": 42}]]),
    (parsers.users, USERS, [[ANA, {"username": 7}], json.dumps([ANA, {"username": 7}])]),
    (parsers.users, {}, [[]]),
    (
        parsers.photos,
        (
            Photo("https://a.example/1.jpg", ""),
            Photo("/5.jpg", ""),
            Photo("https://a.example/2.jpg", "B"),
        ),
        [
            [
                "https://a.example/1.jpg",
                *["http://a.example/3.jpg", "wix:image://v1/4.jpg", "/5.jpg", "", None, 7],
                {"url": "https://a.example/2.jpg", "alt": "B"},
                *[{"url": "https://a.example/6.jpg", "alt": "x" * 201}, {"href": "7"}, {}],
            ],
        ],
    ),
    (
        ASPECTS,
        (AspectRating("fit", 5), AspectRating("value_2", 1)),
        [
            [{"name": "fit", "rating": 5}, {"name": "value_2", "rating": "1.0"}],
            '[{"name": "fit", "rating": 5}, {"name": "value_2", "rating": 1}]',
        ],
    ),
    (ASPECTS, (), [[], "[]"]),
    (parsers.photos, (), ["http://a.example/1.jpg", "//a.example/1.jpg", ["a"] * 11]),
    (date_reader(None, "%m/%d/%Y %H:%M"), NOON, ["11/20/2020 12:00"]),
    (date_reader(None, "%d.%m.%y %I %p"), NOON, ["20.11.20 12 PM"]),
    (date_reader(None, "%Y-%m-%dT%H:%M:%S%z"), NOON, ["2020-11-20T14:00:00+0200"]),
]


@pytest.mark.parametrize(
    ("parse", "cell", "value"),
    [(parse, cell, value) for parse, value, cells in VALUES for cell in cells],
    ids=named,
)
def test_a_cell_is_parsed(parse: Parser, cell: object, value: object) -> None:
    assert parse("field", cell) == value


LIST = "[{"
FIT = {"name": "fit", "rating": 5}

REFUSED: list[tuple[Parser, str, list[object]]] = [
    (
        parsers.rating,
        "whole number",
        [True, 4.5, "4.5", "five", "", "5e0", [5], 1e300, "\u0665", "9" * 20],
    ),
    (parsers.rating, "from 1 to 5", [0, 6, -1, "9"]),
    (parsers.body, "field is empty", [" \u202e\n"]),
    (parsers.body, "10,001 ", ["x" * 10_001]),
    (parsers.body, "field is 7; it must be text", [7]),
    (parsers.boolean, "'maybe'; it must be true or false", ["maybe"]),
    (
        date_reader(None, "%d.%m.%Y"),
        "%d.%m.%Y",
        ["2020-11-20", 1605873600, True],
    ),
    (parsers.name, "field is 'a\\nb'", ["a\nb"]),
    (parsers.order_lines, "field has 0 entries", [[]]),
    (parsers.order_lines, "field has 91 entries", [[LINE] * 91]),
    (parsers.order_lines, LIST, [LINE, "[{", "[" * 100_000]),
    (parsers.order_lines, "field.0 is '42'", [["42"]]),
    (
        parsers.order_lines,
        "field.1.quantity is '2'; it must be a whole number",
        [[LINE, {**LINE, "quantity": "2"}]],
    ),
    (parsers.order_lines, "field.0.quantity is True", [[{**LINE, "quantity": True}]]),
    (parsers.order_lines, "field.0.quantity is 0", [[{**LINE, "quantity": 0}]]),
    (parsers.order_lines, "unit_price is 12.5; it must be text", [[{**LINE, "unit_price": 12.5}]]),
    (parsers.order_lines, "such as '12.50 EUR'", [[{**LINE, "unit_price": "12.50"}]]),
    (parsers.order_lines, "field.0.unit_price is None", [[{"quantity": 1}]]),
    (parsers.order_lines, "EUR and USD", [[LINE, {**LINE, "unit_price": "1 USD"}]]),
    (parsers.users, "field is {'username': 'ana', 'type': 'admin'}; ", [ANA]),
    (parsers.users, LIST, ["ana", "[" * 100_000]),
    (parsers.users, "field.0 is 'ana'", [["ana"]]),
    (parsers.users, "field.1.username is None; it must be text", [[ANA, {"type": "ADMIN"}]]),
    (parsers.users, "field.0.username is empty", [[{"username": ""}]]),
    (parsers.users, "field.0.username 'erased-1a2b3c4d'", [[{"username": "erased-1a2b3c4d"}]]),
    (
        parsers.users,
        "field.0.type is 'OWNER'; it must be one of MEMBER, ADMIN",
        [[{**ANA, "type": "OWNER"}]],
    ),
    (parsers.users, "field.0.type is None; it must be text", [[{**ANA, "type": None}]]),
    (parsers.users, "field.1 repeats the username 'ana': keep one entry", [[ANA, ANA]]),
    (ASPECTS, "field.1 repeats the aspect 'fit': keep one rating", [[FIT, FIT]]),
    (ASPECTS, "field.0.rating is", [[{**FIT, "rating": one}] for one in (0, 6, 4.5)]),
    (ASPECTS, "field.0.name is 'Fit'", [[{**FIT, "name": "Fit"}]]),
    (ASPECTS, "field.0 is 'fit'", [["fit"]]),
    (ASPECTS, LIST, ["fit=5", {"fit": 5}]),
    (ASPECTS, "7", [[{"name": f"a{number}", "rating": 5} for number in range(7)]]),
]


@pytest.mark.parametrize(
    ("parse", "cell", "message"),
    [(parse, cell, message) for parse, message, cells in REFUSED for cell in cells],
    ids=named,
)
def test_an_invalid_cell_is_refused(parse: Parser, cell: object, message: str) -> None:
    refuses(parse, cell, message)


@pytest.mark.parametrize("form", ["%H:%M", "%Y", "noon", "%d.%m", "%Q", "%"])
def test_a_date_format_must_have_the_day(form: str) -> None:
    with pytest.raises(CommandError, match=f"--date-format {form!r} "):
        date_reader(None, form)


def test_a_date_format_and_a_unit_exclude_each_other() -> None:
    with pytest.raises(CommandError, match="--date-unit and --date-format"):
        date_reader("ms", "%Y-%m-%d")


@pytest.mark.parametrize("kind", ["profiles", "reports", "votes"])
def test_only_users_with_accounts_have_profiles_report_and_vote(kind: str) -> None:
    (field,) = (one for one in files_of(KINDS)[kind].fields if one.name == "username")
    assert field.parse("username", " ana") == "ana"
    with pytest.raises(InvalidArgumentError, match="account") as caught:
        field.parse("username", "erased-1a2b3c4d")
    assert caught.value.argument == "username"


def test_photos_in_one_text_take_linear_time() -> None:
    for title, text in repeats(["https://", ",", ";", "|", "[", "]", "a"]):
        assert is_linear(partial(lines_of, partial(parsers.photos, "photos")), text), title
