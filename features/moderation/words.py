"""Decides which comments wait for a moderator, and finds listed words and phrases in texts.

The search ignores case, full-width forms and invisible characters. A phrase matches only whole
words. In scripts without spaces between words, such as Thai, a phrase matches anywhere. Punctuation
and symbols separate words, like spaces. If the search ignored punctuation, 77 of 1,000 reviews
would contain a word that their authors did not write, such as ``online`` in ``on-line``.

The time of a search grows with the length of the text, but hardly with the number of phrases: from
each beginning of a word, the search compares the text with a few phrases of a sorted list.
"""

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dal.model.folding import CharacterTable, fold
from dal.model.submissions import ReviewCause

MAX_PHRASE = 100
"""Maximum characters of a phrase."""


@dataclass(frozen=True, slots=True)
class Moderation:
    """The server's rule: which new texts wait for a moderator before they are published.

    All texts wait if ``before_publishing`` is true. Otherwise only texts that contain a word or
    phrase of ``words`` wait.
    """

    missing: ClassVar[str] = "This server has no moderation."

    before_publishing: bool = False
    words: "WordList | None" = None
    review_at: int = 5
    """The number of reports after which a published comment waits for a moderator."""

    def cause(self, *texts: str) -> ReviewCause | None:
        """Return why this rule requires a comment with these texts to wait; None if it does not."""
        if self.before_publishing:
            return ReviewCause.SETTING
        if self.words is not None and any(map(self.words.matches, texts)):
            return ReviewCause.WORDS
        return None


class WordList:
    """Finds words and phrases in texts.

    Raises ValueError if a phrase is too long, or has neither a letter nor a digit. The error's
    argument is the number of this phrase, counted from 0.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        divided = []
        for number, phrase in enumerate(phrases):
            text = normalized(phrase)
            if not text or len(phrase) > MAX_PHRASE:
                raise ValueError(number)
            divided.append(_divided(text))
        self._phrases: list[str] = []
        """The phrases in order, without phrases that begin with another phrase. So if a text begins
        with one of the phrases, this phrase is the last one that is not after the text."""
        for phrase in sorted(divided):
            if not (self._phrases and phrase.startswith(self._phrases[-1])):
                self._phrases.append(phrase)
        self._longest = max(map(len, divided), default=0)

    def matches(self, text: str) -> bool:
        """Return whether a text contains one of the phrases."""
        text = _divided(normalized(text))
        for found in _WORD.finditer(text):
            rest = text[found.start() : found.start() + self._longest]
            place = bisect(self._phrases, rest)
            if place and rest.startswith(self._phrases[place - 1]):
                return True
        return False


_SYMBOLS = re.compile("[\u2120\u2122]|[\u2139\u24c2]\ufe0f|[0-9#*]\ufe0f?\u20e3")
"""Symbols that ``fold`` would turn into letters and digits: service mark, trademark, and the emoji
of letters and keys. https://www.unicode.org/reports/tr51/#def_emoji_keycap_sequence"""


def normalized(text: str) -> str:
    """Return a text as ``WordList`` compares it: letters, marks, digits and single spaces."""
    text = fold(_SYMBOLS.sub(" ", text)).translate(_COMPARED)
    # A mark after a symbol, such as an emoji, is part of the symbol.
    marks = "".join(one for one in set(text) if unicodedata.category(one)[0] == "M")
    return " ".join(filter(None, [word.lstrip(marks) for word in text.split()]))


def _compared(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cf", "Me"}:  # an invisible character, or a circle around a letter
        return ""
    return character if category[0] in "LMN" else " "


_COMPARED = CharacterTable(_compared)

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u9fff"  # Han
    "\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Ranges of characters of scripts that have no spaces between words."""

_BOUNDARY = re.compile(f"(?<![^ {_UNSPACED}])|(?![^ {_UNSPACED}])")
"""Matches where a word may begin or end: at both ends of the text, and before and after each space
and each character of a script without spaces."""

_WORD = re.compile(r"\|(?! )")
"""Matches the boundary before a word in a text from ``_divided``."""


def _divided(text: str) -> str:
    """Return a normalized text with ``|`` at each boundary, so that only whole words are equal."""
    return _BOUNDARY.sub("|", text)
