"""Words of folded texts, and searches for texts that contain words.

A search has one or several terms, separated by spaces. A text has a term if the term is the
beginning of a word, or of several successive words: ``batt`` and ``battery li`` find ``Battery
life``. A text must have all terms, in any order. In scripts without spaces between words, and in
scripts whose words begin with particles, a term may begin anywhere: ``電池`` finds ``単三電池``.
"""

import re
import unicodedata
from collections.abc import Iterator

from dal.model.folding import CharacterTable, fold

_WORD = re.compile(
    """
    h[hm]*[gm]*  # Han, and the Hiragana that follows it
    | k[km]*[gm]*  # Katakana, likewise
    | [ad](?:[adm]|(?<=d)[.](?=d))*[gm]*  # as in 1.7l
    | g[gm]*
    | (?<![^ ])e[em]*
    """,
    re.VERBOSE,
)
"""Matches a word in a text of the classes of characters that ``_class_of`` returns."""

_CLASSES = (
    ("h", re.compile("[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003fffd]")),
    ("k", re.compile("[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]")),
    ("g", re.compile("[\u3041-\u3096\u309d-\u309f]")),
    (".", re.compile("[.,]")),
    (" ", re.compile(" ")),
    ("e", re.compile("[\U0001f3fb-\U0001f3ff]")),
)
"""Classes of characters, and their characters."""


_BEGINS_ANYWHERE = re.compile(
    "[\u0590-\u08ff"  # Hebrew, Arabic and Syriac
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese and Khmer
    "\u3005\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003fffd]"
)
"""The first characters of the terms that may begin within a word. Emoji may do so, too."""

_BETWEEN = "\t"
"""The character between the terms of a search."""


def words_in(folded: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a folded text, each with its start."""
    for found in _WORD.finditer(folded.translate(_CLASS)):
        yield found.start(), folded[found.start() : found.end()]


def search_of(text: str) -> str:
    """Return the search for the terms of ``text``; empty if ``text`` has no word.

    Searches for the same terms are equal, in any order and spelling.
    """
    return _BETWEEN.join(sorted({term for one in fold(text).split() if (term := _plain(one))}))


def finds(search: str, *texts: str) -> bool:
    """Return whether ``texts`` together have all terms of a search."""
    folded = list(map(fold, texts))
    terms = search.split(_BETWEEN)
    # Most texts lack a term. Finding this out by the characters alone is much faster.
    if not all(any(_has_words(one, term) for one in folded) for term in terms):
        return False
    anywhere = {
        term for term in terms if _BEGINS_ANYWHERE.match(term) or _CLASS[ord(term[0])] == "e"
    }
    begins = [f" {term}" for term in terms if term not in anywhere]
    successive = [term for term in anywhere if " " in term]
    if not (begins or successive):
        return True
    plain = "\n".join([f" {_plain(one)}" for one in folded])
    return all(term in plain for term in (*begins, *successive))


def _has_words(folded: str, term: str) -> bool:
    return all(word in folded for word in term.split(" "))


def _plain(folded: str) -> str:
    """Return the words of a folded text with single spaces between them."""
    return " ".join([word for _, word in words_in(folded)])


def _class_of(character: str) -> str:
    """Return the class of a character, as a letter of ``_WORD``.

    The classes are letter, digit, mark, Han, Katakana, Hiragana, and emoji or similar symbol.
    Other characters belong to no word.
    """
    for name, characters in _CLASSES:
        if characters.match(character):
            return name
    category = unicodedata.category(character)
    if category == "So":
        return "e" if character > "\xff" else "-"
    return {"L": "a", "N": "d", "M": "m"}.get(category[0], "-")


_CLASS = CharacterTable(_class_of)
