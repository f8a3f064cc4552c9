from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dal.model.titles import MAX_KEYS, fold_prefix, fold_title, is_folded, title_keys
from dal.table.key_parts import (
    INSTANT_LENGTH,
    LAST_CHARACTER,
    escape,
    format_instant,
    parse_instant,
    unescape,
)
from tests.strategies import MORE, identifiers, instants, texts

zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@MORE
@given(identifiers)
def test_unescape_undoes_escape(identifier: str) -> None:
    escaped = escape(identifier)
    assert unescape(escaped) == identifier
    assert not set("/#") & set(escaped)


@pytest.mark.parametrize(
    ("identifier", "escaped"),
    [
        ("B000G6RYNE", "B000G6RYNE"),
        ("42/en", "42%2Fen"),
        ("a#b", "a%23b"),
        ("100%", "100%25"),
        ("%2F", "%252F"),
        ("été 😀", "été 😀"),
    ],
)
def test_only_the_separators_and_the_escape_sign_are_encoded(identifier: str, escaped: str) -> None:
    assert escape(identifier) == escaped
    assert unescape(escaped) == identifier


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2020, 11, 20, 12, tzinfo=UTC), "2020-11-20T12:00:00.000000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59.999999Z"),
        (
            datetime(2021, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2))),
            "2020-12-31T23:30:00.000000Z",
        ),
    ],
)
def test_instants_are_written_in_utc(instant: datetime, text: str) -> None:
    assert format_instant(instant) == text
    assert parse_instant(text) == instant


@MORE
@given(instants, instants)
def test_instants_have_one_length_and_sort_by_time(one: datetime, other: datetime) -> None:
    texts = format_instant(one), format_instant(other)
    assert [len(text) for text in texts] == [INSTANT_LENGTH] * 2
    assert (texts[0] < texts[1]) == (one < other)
    assert parse_instant(texts[0]) == one


@MORE
@given(st.datetimes(timezones=zones))
def test_a_time_zone_does_not_change_the_instant(instant: datetime) -> None:
    try:
        in_utc = instant.astimezone(UTC)
    except OverflowError:  # `rules.instant` refuses this time before a key is made
        return
    assert parse_instant(format_instant(instant)) == in_utc


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2020-11-20",
        "2020-11-20T12:00:00Z",
        "2020-11-20T12:00:00.000000",
        "2020-11-20T12:00:00.000000+00:00",
        "2020-11-20 12:00:00.000000Z",
        "2020-13-20T12:00:00.000000Z",
        "٢٠٢٠-11-20T12:00:00.000000Z",
    ],
)
def test_only_texts_of_format_instant_are_parsed(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_instant(text)


@pytest.mark.parametrize(
    ("text", "folded", "prefix"),
    [
        ("Red kettle", "red kettle", "red kettle"),
        ("  RED\t\nKettle ", "red kettle", "red kettle "),
        ("\N{FULLWIDTH LATIN CAPITAL LETTER A}\N{IDEOGRAPHIC SPACE}", "a", "a "),
        ("Straße", "strasse", "strasse"),
        ("\N{LATIN CAPITAL LETTER SHARP S}", "ss", "ss"),
        ("ὈΔΥΣΣΕΎΣ", "ὀδυσσεύσ", "ὀδυσσεύσ"),
        ("ὀδυσσεύς", "ὀδυσσεύσ", "ὀδυσσεύσ"),
        ("e\u0301", "é", "é"),
        ("\u0130stanbul", "istanbul", "istanbul"),
        ("I\u0307STANBUL", "istanbul", "istanbul"),
        ("\u0131sparta", "isparta", "isparta"),
        ("\U0001d6a4", "i", "i"),
        ("i\u0307\u0301j\u0303\u0307", "íj\u0303", "íj\u0303"),
        ("\u2764\ufe0f t\u3164e\u034fa\u00ad", "\u2764 tea", "\u2764 tea"),
        ("\N{LATIN SMALL LIGATURE FI}ne", "fine", "fine"),
        (f"a{LAST_CHARACTER}b", "ab", "ab"),
        ("x" * 99 + " yz", "x" * 99, "x" * 99),
        ("x" * 200 + " ", "x" * 100, "x" * 100),
        ("", "", ""),
    ],
)
def test_titles_that_differ_in_case_form_or_spaces_have_the_same_key(
    text: str, folded: str, prefix: str
) -> None:
    assert fold_title(text) == folded
    assert fold_prefix(text) == prefix


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("", []),
        ("Kettle", ["kettle"]),
        ("Copper kettle 1.7 l", ["copper kettle 1.7 l", "kettle 1.7 l", "1.7 l", "l"]),
        ("Copper kettle, 1.7 l", ["copper kettle 1.7 l", "kettle 1.7 l", "1.7 l", "l"]),
        ("T-shirt (red)", ["t shirt red", "shirt red", "red"]),
        ("#1 kettle", ["1 kettle", "kettle"]),
        ("!", ["!"]),
        ("'s", ["s"]),
        ("Red, red", ["red red"]),
        ("Men\u2019s d'oro 1.5", ["men s d oro 1.5", "d oro 1.5", "oro 1.5", "1.5"]),
        ("Kettle® 😀 🇪🇺", ["kettle 😀 🇪🇺", "😀 🇪🇺", "🇪🇺"]),
        ("🔥Hot🔥 pot", ["🔥 hot pot", "hot pot", "pot"]),
        ("銅製ケトル 1.7L", ["銅製 ケトル 1.7l", "ケトル 1.7l", "1.7l"]),
        ("お茶の急須・ﾎﾟｯﾄ", ["お 茶の 急須 ポット", "茶の 急須 ポット", "急須 ポット", "ポット"]),
        ("غلاية نُحاس، كبيرة", ["غلاية نُحاس كبيرة", "نُحاس كبيرة", "كبيرة"]),
        ("चाय केतली", ["चाय केतली", "केतली"]),
        ("x" * 98 + " 1.5", ["x" * 98 + " 1", "1.5"]),
        (" ".join("abcdefghijkl"), [" ".join("abcdefghijkl"[n:]) for n in range(10)]),
        ("x" * 150 + " y", ["x" * 100, "y"]),
        ("x y " + "x" * 98 + " 1", ["x y " + "x" * 96, "y " + "x" * 98, "x" * 98 + " 1", "1"]),
    ],
)
def test_each_word_of_a_title_begins_a_key(title: str, keys: list[str]) -> None:
    assert title_keys(title) == keys


@MORE
@given(texts)
@example("x " * 200)
def test_the_keys_of_a_title_are_few_folded_and_different(text: str) -> None:
    keys = title_keys(text)
    assert keys[:1] == [one for one in [fold_title(text)] if one]
    assert len({*keys}) == len(keys) <= MAX_KEYS
    assert all(map(is_folded, keys))


@MORE
@given(texts)
@example(f"i{LAST_CHARACTER}\u0307")
@example("\u0344" * 40)
def test_a_folded_title_stays_as_it_is(text: str) -> None:
    """Decoding a cursor checks that its title is folded, so folding again must change nothing."""
    assert fold_title(fold_title(text)) == fold_title(text)
    assert "\t" not in fold_title(text)
