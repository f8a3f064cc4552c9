"""A search finds the texts that a reader expects, in each script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.model.text_search import finds, search_of

FOUND = [
    ("battery", "The BATTERY lasts"),
    ("batt", "Battery"),
    ("battery life", "Its life: a good battery"),
    ("wi-fi", "No Wi-Fi here"),
    ("wi-fi", "wi fi"),
    ("don't", "I don\u2019t care"),
    ("1.7", "holds 1.7 l"),
    ("c++", "written in C"),
    ("\uff42\uff41\uff54\uff54\uff45\uff52\uff59", "battery"),
    ("STRASSE", "Straße"),
    ("café", "CAFE\u0301"),
    ("電池", "単三電池が必要"),
    ("ケトル", "銅製ケトル"),
    ("銅製ケトル", "この銅製ケトルは"),
    ("ｹﾄﾙ", "ケトル"),
    ("แบต", "ใช้แบตเตอรี่นาน"),
    ("بطارية", "البطارية جيدة"),
    ("👍", "good👍"),
    ("e", "Each"),
    ("% battery", "battery"),
]
NOT_FOUND = [
    ("attery", "battery"),
    ("battery life", "battery only"),
    ("wi-fi", "wi is not fi"),
    ("cafe", "café"),
    ("銅製ケトル", "ケトルは銅製"),
    ("e", "the"),
    ("battery", "bat tery"),
]


@pytest.mark.parametrize(("typed", "text"), FOUND)
def test_a_search_finds_words_by_their_beginning(typed: str, text: str) -> None:
    assert finds(search_of(typed), text)


@pytest.mark.parametrize(("typed", "text"), NOT_FOUND)
def test_a_search_does_not_find_other_texts(typed: str, text: str) -> None:
    assert not finds(search_of(typed), text)


def test_words_may_be_in_different_texts_but_successive_words_may_not() -> None:
    assert finds(search_of("good kettle"), "Kettle", "Good")
    assert not finds(search_of("wi-fi"), "wi", "fi")


@pytest.mark.parametrize("typed", ["", " ", "%", "?!", "- _ -", "\u200b"])
def test_a_text_without_words_is_no_search(typed: str) -> None:
    assert search_of(typed) == ""


def test_equal_searches_are_equal_in_any_order_and_spelling() -> None:
    assert search_of("Good KETTLE good") == search_of("kettle  good,") == "good\tkettle"


@given(st.text(max_size=60), st.text(max_size=60))
def test_each_word_of_a_text_finds_the_text(text: str, other: str) -> None:
    for typed in text.split():
        search = search_of(typed)
        assert not search or finds(search, text, other)
