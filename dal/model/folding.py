"""Folds texts: two texts that differ only in case, form or invisible characters become equal.

The search by title compares folded texts, and so do searches of features.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import partial

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Characters that are not drawn: Unicode's property Default_Ignorable_Code_Point, which Python's
``unicodedata`` lacks. Source: https://www.unicode.org/Public/16.0.0/ucd/DerivedCoreProperties.txt"""

_MOST_MARKS = 30
"""Maximum successive marks (non-starters) of a character. No language needs more:
https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format"""

_KEPT_CHARACTERS = 5_000
"""Maximum characters in a table. A full table is emptied."""

_DOT_ABOVE = "\u0307"
_DOTTED = re.compile("[ij][\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
"""A letter that has a dot already, with marks of Unicode's blocks of combining marks."""


def fold(text: str) -> str:
    """Return a text case-folded, in Unicode's form NFKC, and without invisible characters.

    Texts have the same result if they match by Unicode's compatibility caseless matching:
    https://www.unicode.org/versions/latest/core-spec/chapter-3/#G33992

    The letter ``i`` with and without a dot becomes ``i``, because the lower case of ``I`` depends
    on the language.
    """
    if text.isascii():
        return text.lower()
    text = _with_few_marks(INVISIBLE.sub("", text).translate(_DECOMPOSED))
    text = unicodedata.normalize("NFKD", text).casefold()
    text = unicodedata.normalize("NFKD", text).replace("\u0131", "i")
    text = _DOTTED.sub(lambda match: match[0].replace(_DOT_ABOVE, ""), text)
    return unicodedata.normalize("NFKC", text)


class CharacterTable(dict[int, str]):
    """A table for ``str.translate``: the result of a function for each character of the texts.

    Translating a text is much faster than calling the function for each character.
    """

    def __init__(self, function: Callable[[str], str]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, code: int) -> str:
        if len(self) >= _KEPT_CHARACTERS:
            self.clear()
        found = self[code] = self._function(chr(code))
        return found


_DECOMPOSED = CharacterTable(partial(unicodedata.normalize, "NFKD"))
_MARKS = CharacterTable(lambda character: "m" if unicodedata.combining(character) else "-")


def _with_few_marks(text: str) -> str:
    """Return a decomposed text without the marks after the thirtieth mark of a character.

    Unicode's normal forms sort successive marks, and Python does so in quadratic time.
    """
    if "m" * (_MOST_MARKS + 1) not in text.translate(_MARKS):
        return text
    kept, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)
