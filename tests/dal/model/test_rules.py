import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langcodes import Language

from dal.model import Money, OrderLine, rules
from dal.model.rules import KEPT_TAGS, MAX_ADDRESS
from dal.table.errors import InvalidArgumentError
from dal.table.key_parts import MAX_IDENTIFIER_BYTES, escape
from tests.strategies import MORE, identifiers

MOST = MAX_IDENTIFIER_BYTES
BLANK = (
    " ",
    "\u00a0",
    "\u3000",
    "\u200b",
    "\u3164",
    "\u2800",
    "\ufe0f\u200d",
    "\u034f",
    "\U000e0100",
)
"""Texts without a visible character: white space, and code points that Unicode calls ignorable."""

_SUBTAGS = "en EN de zh yue sgn us US Latn Hans 419 840 1996 u co phonebk x t i klingon a 12 é gb"
tag_like = st.lists(st.sampled_from(_SUBTAGS.split()), min_size=1, max_size=5).map("-".join)


def complaint(rule: object, value: object) -> str:
    """Return a rule's error message, which must begin with the argument's name."""
    assert callable(rule)
    with pytest.raises(InvalidArgumentError) as caught:
        rule("someArgument", value)
    assert caught.value.argument == "someArgument"
    sentence = str(caught.value)
    assert sentence.startswith("someArgument ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    "value", ["1", "42/en", "a#b", "100%", "été", "商品", "😀", "❤️", "a b", "%00", "x" * MOST]
)
def test_well_formed_identifiers_stay_as_they_are(value: str) -> None:
    assert rules.identifier("productId", value) == value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "empty"),
        ("a\0b", "control character"),
        ("tab\t", "control character"),
        ("\x7f", "control character"),
        ("\x85", "control character"),
        ("\ud800", "surrogate"),
        ("\udfff!", "surrogate"),
        ("ana\u202enimda", "control character"),
        ("a\U0010ffff", "control character"),
        ("x" * (MOST + 1), f"longer than {MOST} bytes"),
        ("#" * 900_000, f"longer than {MOST} bytes"),
        ("é" * (MOST // 2 + 1), f"longer than {MOST} bytes"),
        ("/" * (MOST // 3 + 1), f"longer than {MOST} bytes"),
        *((value, "blank") for value in BLANK),
        (" kettle", "begins or ends"),
        ("kettle\u3000", "begins or ends"),
        ("\u200bkettle", "begins or ends"),
        ("kettle\ufeff", "begins or ends"),
        *((f"kettle{value}", "blank") for value in "\u034f\u061c\u115f\u1160\u2061\u2064\u206a"),
    ],
)
def test_malformed_identifiers_are_refused(value: str, why: str) -> None:
    assert why in complaint(rules.identifier, value)


@MORE
@given(st.text())
def test_an_accepted_identifier_fits_a_key(value: str) -> None:
    try:
        rules.identifier("id", value)
    except InvalidArgumentError:
        return
    assert 1 <= len(escape(value).encode()) <= MAX_IDENTIFIER_BYTES


@given(identifiers)
def test_the_identifiers_of_property_tests_are_valid(value: str) -> None:
    assert rules.identifier("id", value) == value


@pytest.mark.parametrize("value", [1, 2, 3, 4, 5])
def test_ratings_go_from_1_to_5(value: int) -> None:
    assert rules.rating("rating", value) == value


@pytest.mark.parametrize("value", [0, 6, -1, 2**31 - 1])
def test_other_ratings_are_refused(value: int) -> None:
    assert f" {value};" in complaint(rules.rating, value)
    assert f" {value};" in complaint(rules.ratings, [5, value])


@pytest.mark.parametrize(
    ("values", "distinct"), [([], set()), ([5], {5}), ([3, 1, 3], {1, 3}), ([1, 2, 3, 4, 5],) * 2]
)
def test_a_list_of_ratings_becomes_a_set(values: list[int], distinct: set[int]) -> None:
    assert rules.ratings("rating", values) == frozenset(distinct)


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ("en", "en"),
        ("EN-us", "en-US"),
        ("pt_br", "pt-BR"),
        ("ZH-HANT-tw", "zh-Hant-TW"),
        ("en-Latn-US", "en-US"),
        ("es-419", "es-419"),
        ("de-1996", "de-1996"),
        ("iw", "he"),
        ("i-klingon", "tlh"),
        ("zh-cmn", "zh"),
        ("en-US-u-co-phonebk", "en-US-u-co-phonebk"),
        ("yue", "yue"),
        ("cmn-hant", "zh-Hant"),
        ("arb-EG", "ar-EG"),
        ("ar-arb", "ar"),
        ("ar-arz-EG", "arz-EG"),
        ("sgn-ase", "ase"),
        ("sh", "sr-Latn"),
        ("en-UK", "en-GB"),
        ("en-GB-oed", "en-GB-oxendict"),
        ("no", "no"),
        ("no-bok", "nb"),
        ("nob", "nb"),
    ],
)
def test_languages_come_in_canonical_form(value: str, canonical: str) -> None:
    assert rules.language("language", value) == canonical
    assert rules.language("language", canonical) == canonical


@pytest.mark.parametrize(
    "value",
    [
        "",
        "e",
        "english",
        "en-",
        "-en",
        "en--US",
        "en US",
        " en",
        "en\n",
        "12",
        "éé",
        "ｅｎ",  # noqa: RUF001 - full-width letters, on purpose
        "en/US",
        "en1",  # the parser accepts it, but a language has no digits
        "en#",
        "en\0",
        "\ud800",
        "*",
        "en-a-aaaaaaaa-bbbbbbbb-cccccccc-dddd",  # 36 characters
    ],
)
def test_an_invalid_language_tag_is_refused(value: str) -> None:
    assert "BCP 47" in complaint(rules.language, value)
    assert "BCP 47" in complaint(rules.languages, ["en", value])


@pytest.mark.parametrize(
    "value",
    ["x-private", "en-x-l00001", "EN_X_a", "de-1996-x-y", "i-default", "und-x-a", "qaa", "qtz-US"],
)
def test_a_private_use_language_tag_is_refused(value: str) -> None:
    assert "private-use" in complaint(rules.language, value)


def test_a_language_tag_has_at_most_35_characters() -> None:
    tag = "en-a-aaaaaaaa-bbbbbbbb-cccccccc-ddd"
    assert len(tag) == 35
    assert rules.language("language", tag) == tag


def test_a_message_shows_only_the_start_of_a_long_language() -> None:
    assert len(complaint(rules.language, "en-" + "a-" * 1000)) < 300


@MORE
@given(tag_like | st.text(max_size=12))
@example("sgn-840")  # the canonical form of its canonical form differs
@example("nan-cmn-840")  # its canonical form is not a tag
def test_a_canonical_language_is_its_own_canonical_form(value: str) -> None:
    try:
        tag = rules.language("language", value)
    except InvalidArgumentError:
        return
    assert re.fullmatch("[a-z]{2,8}(-[A-Za-z0-9]{1,8})*", tag)
    assert rules.language("language", tag) == tag


def test_a_list_of_languages_becomes_a_set_of_canonical_tags() -> None:
    assert rules.languages("language", []) == frozenset()
    assert rules.languages("language", ["EN", "en", "de-de"]) == {"en", "de-DE"}


@pytest.mark.parametrize(("rule", "most"), [(rules.title, 200), (rules.text, 10_000)])
def test_a_text_has_a_maximum_length_in_characters(rule: object, most: int) -> None:
    assert callable(rule)
    for value in ("", "😀" * most, "a\nb\tc"):
        assert rule("text", value) == value
    long = complaint(rule, "x" * (most + 1))
    assert f"{most + 1:,} characters" in long
    assert f"{most:,}." in long
    assert "surrogate" in complaint(rule, "a\ud800")


@pytest.mark.parametrize(
    ("value", "in_utc"),
    [
        (datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)),  # noqa: DTZ001 - naive is the case
        (
            datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=-5))),
            datetime(2020, 1, 1, 5, tzinfo=UTC),
        ),
    ],
)
def test_instants_are_converted_to_utc(value: datetime, in_utc: datetime) -> None:
    result = rules.instant("createdAt", value)
    assert (result, result.tzinfo) == (in_utc, UTC)


@pytest.mark.parametrize(
    "value",
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    ],
)
def test_an_instant_outside_the_calendar_is_refused(value: datetime) -> None:
    assert "out of range" in complaint(rules.instant, value)


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ("12.50 EUR", "12.50 EUR"),
        ("0 EUR", "0.00 EUR"),
        ("007.5 USD", "7.50 USD"),
        ("100 JPY", "100 JPY"),
        ("100.0 JPY", "100 JPY"),
        ("1.234 KWD", "1.234 KWD"),
        ("999999999999.9999 CLF", "999999999999.9999 CLF"),
    ],
)
def test_money_is_an_amount_in_the_minor_units_of_a_currency(value: str, canonical: str) -> None:
    amount, currency = value.split()
    for written in (value, f"{currency} {amount}"):
        money = rules.money("unitPrice", written)
        assert money == Money(Decimal(amount), currency)
        assert str(money) == canonical


@pytest.mark.parametrize("value", ["1 ZZZ", "1 EEK", "1 XAU", "1 XTS", "1 XXX"])
def test_a_code_that_is_not_a_payment_currency_is_refused(value: str) -> None:
    assert "ISO 4217" in complaint(rules.money, value)


@pytest.mark.parametrize(
    ("value", "places"), [("12.505 EUR", 2), ("100.50 JPY", 0), ("1.2345 KWD", 3), ("0.001 USD", 2)]
)
def test_an_amount_with_too_many_decimal_places_is_refused(value: str, places: int) -> None:
    assert f"have {places} decimal places" in complaint(rules.money, value)


@pytest.mark.parametrize(
    "value",
    [
        *("", "12.50", "EUR", "12.50EUR", "12,50 EUR", "-1 EUR", "1e3 EUR", "1 eur", "1 EURO"),
        *("1. EUR", "1.00000 EUR", "1234567890123 EUR", "12.50 EUR ", "NaN EUR", "1 EUR\n"),
        "\u0661 EUR",
    ],
)
def test_an_invalid_amount_is_refused(value: str) -> None:
    assert "'12.50 EUR'" in complaint(rules.money, value)


@pytest.mark.parametrize("value", ["a@b", "ana.b+c@mail.example.org", "é@ü", "x" * 252 + "@b"])
def test_a_valid_email_address_is_unchanged(value: str) -> None:
    assert rules.email("email", value) == value


@pytest.mark.parametrize(
    "value", ["", "a", "@b", "a@", "a b@c", "a@b@c", "a@b\n", "x" * 253 + "@b"]
)
def test_an_invalid_email_address_is_refused(value: str) -> None:
    complaint(rules.email, value)


def test_a_quantity_has_a_minimum_and_a_maximum() -> None:
    assert [rules.quantity("quantity", value) for value in (1, 10_000)] == [1, 10_000]
    for value in (0, -1, 10_001):
        assert "from 1 to 10,000" in complaint(rules.quantity, value)


def test_an_order_has_lines_of_one_currency() -> None:
    euros, yen = (OrderLine("1", 1, Money(Decimal(1), currency)) for currency in ("EUR", "JPY"))
    assert rules.order_lines("lines", [euros] * 90) == (euros,) * 90
    for wrong in ([], [euros] * 91):
        assert "1 to 90" in complaint(rules.order_lines, wrong)
    assert "EUR and JPY" in complaint(rules.order_lines, [yen, euros])


def test_a_period_that_ends_before_it_starts_is_refused() -> None:
    noon = datetime(2023, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    ten = datetime(2023, 1, 1, 10, tzinfo=UTC)
    assert rules.period(noon, ten) == (ten, ten)
    assert rules.period(None, noon.replace(tzinfo=None)) == (None, ten + timedelta(hours=2))
    with pytest.raises(InvalidArgumentError, match="exchange the two") as fault:
        rules.period(ten + timedelta(microseconds=1), noon)
    assert fault.value.argument == "createdFrom"


def test_a_list_to_filter_by_has_at_most_a_hundred_values() -> None:
    assert rules.ratings("rating", [5] * 100) == {5}
    with pytest.raises(InvalidArgumentError, match=r"^rating .*101 .*100"):
        rules.ratings("rating", [5] * 101)
    with pytest.raises(InvalidArgumentError, match=r"^language .*30,000"):
        rules.languages("language", ["en"] * 30_000)


def test_the_number_of_cached_language_tags_is_limited() -> None:
    for number in range(KEPT_TAGS + 500):
        rules.language("language", f"en-a-{number:06}")
    assert len(Language._PARSE_CACHE) <= KEPT_TAGS + 2
    assert len(Language._INSTANCES) <= 2 * KEPT_TAGS
    assert rules.language("language", "EN-us") == "en-US"


@pytest.mark.parametrize("rule", [rules.title, rules.text, rules.stated_title, rules.stated_text])
def test_hidden_characters_never_reach_storage(rule: Callable[[str, str], str]) -> None:
    assert rule("text", "a\x00b\x1b[31m\u202egnp.exe\u2066!\x9f") == "ab[31mgnp.exe!"
    assert rule("text", "one\n\ttwo \u200d\u200f") == "one\n\ttwo \u200d\u200f"


@pytest.mark.parametrize(
    "nothing",
    ["", "  \n\t", "\u202e\x00", "\u200b\u200e\u3000\ufeff", "\u3164\u034f\ufe0f", "\u2800"],
)
@pytest.mark.parametrize("rule", [rules.stated_title, rules.stated_text])
def test_a_text_without_a_visible_character_is_refused(
    rule: Callable[[str, str], str], nothing: str
) -> None:
    assert "empty" in complaint(rule, nothing)
    assert rule("text", f"{nothing}🫖").endswith("🫖")


def test_direction_marks_are_removed_from_an_email_address() -> None:
    assert rules.email("email", "ana\u202e\x00@b.org") == "ana@b.org"


@pytest.mark.parametrize(
    "value",
    [
        "https://shop.example/kettle.jpg",
        "https://xn--mller-kva.example:8443/a%20b?size=1,2&x=(y)#top",
        "https://[2001:db8::1]/a",
        "/",
        "/static/kettle.svg?v=2",
    ],
)
def test_an_address_is_https_or_a_path_of_this_site(value: str) -> None:
    assert rules.address("url", value) == value


@pytest.mark.parametrize(
    "value",
    [
        "",
        "http://shop.example/kettle.jpg",
        "javascript:alert(1)",
        "data:image/svg+xml,<svg/>",
        "//evil.example/a",
        "/\\evil.example/a",
        "https:/evil.example",
        "https:///a",
        "https://shop.example@evil.example/a",
        "https://%73hop.example/a",
        "https://shop%2Eexample",
        "https://shop.example%2F@evil.example",
        "https://shop!.example/",
        "https://shop.example:99999/",
        "https://[::1/",
        "https://shop.example/a b",
        'https://shop.example/"onload=',
        "https://shop.example/a\nb",
        "kettle.jpg",
        "https://shop.example/" + "a" * MAX_ADDRESS,
    ],
)
def test_an_unsafe_or_invalid_url_is_refused(value: str) -> None:
    complaint(rules.address, value)


@pytest.mark.parametrize(
    "value", ["96385074", "036000291452", "4006381333931", "00012345600012", "00000000"]
)
def test_a_gtin_has_a_valid_length_and_check_digit(value: str) -> None:
    assert rules.gtin("gtin", value) == value


@pytest.mark.parametrize(
    "value",
    [
        "",
        "4006381333930",
        "400638133393",
        "36000291452",
        "4006381333931 ",
        "96385074\n",
        "٩٦٣٨٥٠٧٤",
    ],
)
def test_another_gtin_is_refused(value: str) -> None:
    complaint(rules.gtin, value)
