"""Decides which comments wait for a moderator, and finds listed words and phrases in texts.

The search ignores case, full-width forms and invisible characters. A phrase matches only whole
words. In scripts without spaces between words, such as Thai, a phrase matches anywhere. Punctuation
and symbols separate words, like spaces. If the search ignored punctuation, 77 of 1,000 reviews
would contain a word that their authors did not write, such as ``online`` in ``on-line``.

The time of a search grows with the length of the text, but not with the number of phrases.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from dal.model.folding import fold
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
    """Finds words and phrases in texts, by the Aho-Corasick algorithm.

    Raises ValueError if a phrase is too long, or has neither a letter nor a digit. The error's
    argument is the number of this phrase, counted from 0.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._next: list[dict[str, int]] = [{}]
        self._lengths: list[list[int]] = [[]]
        """For each state of the automaton, the lengths of the phrases that end in this state."""
        for number, phrase in enumerate(phrases):
            text = normalized(phrase)
            if not text or len(phrase) > MAX_PHRASE:
                raise ValueError(number)
            state = 0
            for character in text:
                following = self._next[state].setdefault(character, len(self._next))
                if following == len(self._next):
                    self._next.append({})
                    self._lengths.append([])
                state = following
            if not self._lengths[state]:
                self._lengths[state].append(len(text))
        self._fallbacks = self._linked()

    def matches(self, text: str) -> bool:
        """Return whether a text contains one of the phrases."""
        text = normalized(text)
        state = 0
        for end, character in enumerate(text, 1):
            while state and character not in self._next[state]:
                state = self._fallbacks[state]
            state = self._next[state].get(character, 0)
            lengths = self._lengths[state]
            # The phrases of these lengths all end at the position ``end``. If this position is
            # inside a word, none of them matches.
            if lengths and _divides(text, end) and any(_divides(text, end - n) for n in lengths):
                return True
        return False

    def _linked(self) -> list[int]:
        """Return, for each state of the automaton, the state in which a failed search continues.

        A state represents the beginning of a phrase that the last characters match. If the next
        character does not match, the search continues with a shorter beginning that the last
        characters also match. A phrase that ends in the state of the shorter beginning also ends in
        the state of the longer beginning, so its length is added to the latter state.
        """
        fallbacks = [0] * len(self._next)
        waiting = deque(self._next[0].values())
        while waiting:
            state = waiting.popleft()
            for character, following in self._next[state].items():
                fallback = fallbacks[state]
                while fallback and character not in self._next[fallback]:
                    fallback = fallbacks[fallback]
                fallbacks[following] = self._next[fallback].get(character, 0)
                self._lengths[following] += self._lengths[fallbacks[following]]
                waiting.append(following)
        return fallbacks


_SYMBOLS = re.compile("[\u2120\u2122]|[\u2139\u24c2]\ufe0f|[0-9#*]\ufe0f?\u20e3")
"""Symbols that ``fold`` would turn into letters and digits: service mark, trademark, and the emoji
of letters and keys. https://www.unicode.org/reports/tr51/#def_emoji_keycap_sequence"""


def normalized(text: str) -> str:
    """Return a text as ``WordList`` compares it: letters, marks, digits and single spaces."""
    kept = [" "]
    for character in fold(_SYMBOLS.sub(" ", text)):
        compared = _compared(character)
        # A mark after a symbol, such as an emoji, is part of the symbol.
        if compared and not (kept[-1] == " " and unicodedata.category(compared)[0] == "M"):
            kept.append(compared)
    return " ".join("".join(kept).split())


@lru_cache(maxsize=5_000)
def _compared(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cf", "Me"}:  # an invisible character, or a circle around a letter
        return ""
    return character if category[0] in "LMN" else " "


_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
"""The first and last characters of scripts that have no spaces between words."""


def _divides(text: str, place: int) -> bool:
    """Return whether a word may begin or end directly before the index ``place`` of the text."""
    around = text[max(place - 1, 0) : place + 1]
    return len(around) < 2 or any(one == " " or _is_unspaced(one) for one in around)  # noqa: PLR2004


def _is_unspaced(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _UNSPACED)
