"""Blocked words and phrases are found whole, in any case, width and punctuation."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.model.submissions import ReviewCause
from features.moderation.words import MAX_PHRASE, Moderation, WordList, normalized
from tests.steps import lines
from tests.strategies import MORE

LIST = WordList(["buy now", "ASS", "straße", "垃圾", "ﬁsh", "a", "café", "casino"])


@pytest.mark.parametrize(
    "text",
    [
        "Buy now!",
        "please BUY\n\n  now",
        "buy-now.",
        "bu\u00ady n\u200bow",  # with invisible characters
        "b\u034fu\ufe0fy\u3164 n\U000e0100o\u2066w\U000e0041\ufff0",
        "\u1160c\u115fa\u180fsino\u17b4",
        "\u2764\ufe0fcasino\u2764\ufe0f\u200d\U0001f525",  # with emoji
        "#\ufe0f\u20e3casino1\ufe0f\u20e3",
        "\u2122casino\u2122\ufe0f",
        "\u24c2\ufe0fcasino\u2139\ufe0f",
        "\u24d2\u24d0\u24e2\u24d8\u24dd\u24de",
        "ca\u20ddsino\u20e0",
        "\u2764\u0301casino",  # the mark belongs to the emoji
        "CASINO",
        "CAS\u0130NO",
        "cas\u0131no",
        "casi\u0307no",
        "an ass",
        "ASS",
        "STRASSE",
        "这是垃圾产品",
        "\uff46\uff49\uff53\uff48",
        "cafe\u0301",
        "A",
    ],
)
def test_a_phrase_is_found(text: str) -> None:
    assert LIST.matches(text)


@pytest.mark.parametrize(
    "text", ["", "class", "assess", "buynow", "buy it now", "cafe", "fishes", "cas-ino"]
)
def test_a_phrase_inside_a_word_is_not_found(text: str) -> None:
    assert not LIST.matches(text)


def _words(text: str) -> list[str]:
    """Split a text into words and spaces. Each Chinese character is a word."""
    return re.findall("[ab\u0301\U00010428]+|.", normalized(text))


@MORE
@given(
    st.lists(st.text("ab 很\U00020000", min_size=1, max_size=6).filter(str.strip)),
    st.text("aB !很\U00020000\u0301\U00010400\U0001f525\u200b", max_size=30),
)
def test_a_list_finds_a_text_if_a_search_for_any_phrase_does(phrases: list[str], text: str) -> None:
    words = _words(text)
    found = any(
        words[place : place + len(wanted)] == wanted
        for wanted in map(_words, phrases)
        for place in range(len(words))
    )
    assert WordList(phrases).matches(text) == found


@pytest.mark.parametrize("phrase", ["", " ", "!", "\u200b", "x" * (MAX_PHRASE + 1)])
def test_an_empty_or_too_long_phrase_is_refused(phrase: str) -> None:
    with pytest.raises(ValueError, match="1"):
        WordList(["fine", phrase])


@pytest.mark.parametrize(
    ("phrases", "text"),
    [
        (["a" * length for length in range(1, 101)], "x" + "a" * 2_000),
        (["很" * 99 + "好"], "很" * 2_000),
        (["很" * length + "好" for length in range(1, 100)], "很" * 2_000),
    ],
)
def test_a_text_that_nearly_matches_phrases_takes_few_steps(phrases: list[str], text: str) -> None:
    words = WordList(phrases)
    with lines() as counted:
        assert not words.matches(text)
    assert counted.count < 100_000


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0301\u034f\u0316\ufe0f"])
def test_a_word_after_many_marks_is_found(marks: str) -> None:
    assert WordList(["casino"]).matches(f"a{marks * 500} casino")


def test_with_a_list_of_every_word_every_text_with_a_word_waits() -> None:
    every = Moderation(
        words=WordList(["the", "a", *map(str, range(10)), *map(chr, range(0x3041, 0x3097))])
    )
    assert every.cause("", "The kettle, 1 l") is ReviewCause.WORDS
    assert every.cause("とてもいい") is ReviewCause.WORDS
    assert every.cause("", "!") is None


def test_the_rule_decides_whether_all_some_or_no_comments_wait() -> None:
    assert Moderation().cause("ass", "ass") is None
    assert Moderation(before_publishing=True).cause("", "x") is ReviewCause.SETTING
    assert Moderation(words=LIST).cause("fine", "an ass") is ReviewCause.WORDS
    assert Moderation(words=LIST).cause("buy", "now") is None
