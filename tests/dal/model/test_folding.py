"""Folding: which texts become equal, and the work for texts of marks only."""

import sys
import unicodedata
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.model.folding import INVISIBLE, fold
from dal.model.titles import fold_prefix
from tests.strategies import MORE

_REAL = unicodedata.normalize


def longest_run(text: str) -> int:
    """Return the greatest number of successive marks in the decomposed text."""
    marks = (bool(unicodedata.combining(part)) for one in text for part in _REAL("NFKD", one))
    return max((sum(run) for _, run in groupby(marks)), default=0)


@pytest.mark.parametrize(
    "marks",
    [
        "\u0301\u0316",
        "\u0344\u0316",  # of two marks
        "\u0f73\u0f71",  # a mark that counts as a base character until it is decomposed
        "\uff9e\u0316",  # a letter that becomes a mark
        "\u0301\u034f\u0316\ufe0f",  # with invisible characters between the marks
        "\u0301\U000e0100",
    ],
)
def test_no_long_run_of_marks_is_normalized(monkeypatch: pytest.MonkeyPatch, marks: str) -> None:
    """Python sorts the marks of a run in quadratic time."""
    runs = []

    def normalize(form: Any, text: str) -> str:
        runs.append(longest_run(text))
        return _REAL(form, text)

    text = "a" + marks * 500
    monkeypatch.setattr(unicodedata, "normalize", normalize)
    assert fold(text) == fold(fold(text))
    assert fold_prefix(text)
    assert 30 <= max(runs) <= 32


_LETTERS = "iIİjJaAßẞΣﬁｶﾞかΐ\u0131\u03c3\u03c2\uff21\u3099\u0307\u0301\u0323\u0f73\u034f\ufe0f"


@MORE
@given(st.text(st.sampled_from(_LETTERS)))
def test_case_form_and_invisible_characters_make_no_difference(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert not INVISIBLE.search(folded)
    assert fold("\u3164".join(text)) == folded
    assert fold(text.lower()) == fold(text.upper()) == folded
    assert fold(unicodedata.normalize("NFD", text)) == folded


def test_the_order_of_marks_makes_no_difference() -> None:
    assert fold("\u03b1\u0301\u0345") == fold("\u03b1\u0345\u0301") == "\u03ac\u03b9"


def test_invisible_are_all_characters_of_the_property() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    assert sum(map(bool, map(INVISIBLE.match, every))) == 4_174
