"""Blocked words and phrases are found whole, in any case, width and punctuation."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.model.moderation import MAX_PHRASE, Moderation, ReviewCause, WordList, normalized
from tests.strategies import MORE

LIST = WordList(["buy now", "ASS", "straße", "垃圾", "ﬁsh", "a", "café"])


@pytest.mark.parametrize(
    "text",
    [
        "Buy now!",
        "please BUY\n\n  now",
        "buy-now.",
        "bu\u00ady n\u200bow",  # with invisible characters
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


@pytest.mark.parametrize("text", ["", "class", "assess", "buynow", "buy it now", "cafe", "fishes"])
def test_a_phrase_inside_a_word_is_not_found(text: str) -> None:
    assert not LIST.matches(text)


@MORE
@given(
    st.lists(st.text("ab ", min_size=1, max_size=6).filter(str.strip)), st.text("ab !", max_size=30)
)
def test_a_list_finds_a_text_if_a_search_for_any_phrase_does(phrases: list[str], text: str) -> None:
    found = any(
        re.search(rf"(?<!\w){re.escape(normalized(one))}(?!\w)", normalized(text))
        for one in phrases
    )
    assert WordList(phrases).matches(text) == found


@pytest.mark.parametrize("phrase", ["", " ", "!", "\u200b", "x" * (MAX_PHRASE + 1)])
def test_an_empty_or_too_long_phrase_is_refused(phrase: str) -> None:
    with pytest.raises(ValueError, match="1"):
        WordList(["fine", phrase])


def test_a_word_that_matches_many_phrases_takes_few_calls() -> None:
    calls = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    words, before = WordList("a" * length for length in range(1, 101)), sys.getprofile()
    sys.setprofile(note)
    try:
        assert not words.matches("x" + "a" * 2_000)
    finally:
        sys.setprofile(before)
    assert calls < 100_000


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
