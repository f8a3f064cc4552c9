"""Titles of products in the form that sort keys contain, for lists by title and their search.

A title has a key for each of its first words: the folded title from the beginning of this word. So
a search by the beginning of keys finds each word, and the words that follow it.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from dal.model.folding import fold
from dal.table.key_parts import LAST_CHARACTER

TITLE_LENGTH = 100
"""Maximum characters of a title in a sort key. DynamoDB's sort keys have at most 1,024 bytes, which
is enough for such a title and an identifier."""

MAX_KEYS = 10
"""Maximum keys of a title."""

_APOSTROPHES = ("'", "\u2019")

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
"""Matches a word in a text of the classes of characters that ``_class`` returns."""

_CLASSES = (
    ("h", re.compile("[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003fffd]")),
    ("k", re.compile("[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]")),
    ("g", re.compile("[\u3041-\u3096\u309d-\u309f]")),
    (".", re.compile("[.,]")),
    (" ", re.compile(" ")),
    ("e", re.compile("[\U0001f3fb-\U0001f3ff]")),
)
"""Classes of characters, and their characters."""


def fold_title(title: str) -> str:
    """Return the beginning of a folded title in the form that sort keys contain.

    This form has the title's words with single spaces, without punctuation. A title without words,
    such as ``!``, keeps its punctuation.
    """
    return _cut(_joined(_folded(title)))


def fold_prefix(text: str) -> str:
    """Return the folded form of ``text``, for a search by the first characters of keys.

    A caller searches for keys that begin with the result. Unlike ``fold_title``, this function
    keeps a space at the end of ``text``, so that ``red `` does not find ``redwood``.
    """
    folded = fold_title(text)
    return f"{folded} "[:TITLE_LENGTH] if text[-1:].isspace() else folded


def is_folded(title: str) -> bool:
    """Return whether ``title`` is a title as in a sort key."""
    return len(title) <= TITLE_LENGTH and fold_title(title) == title


def title_keys(title: str) -> list[str]:
    """Return the keys by which a search finds a title: at most ten, all different.

    The first key is the folded title. Each further word adds a key, unless the title has the same
    word before, or the word is the last letter after an apostrophe, as in ``men's``. For example,
    ``Copper kettle`` has the keys ``copper kettle`` and ``kettle``. In Japanese and Chinese, a word
    also begins where Han or Katakana follows another script.
    """
    folded = _folded(title)
    found = list(_words(folded)) or [(0, folded)] * bool(folded)
    keys, words = dict[str, None](), set[str]()
    for number, (start, word) in enumerate(found):
        last_letter = len(word) == 1 and folded[:start].endswith(_APOSTROPHES)
        if not number or (word not in words and not last_letter):
            keys[_cut(" ".join(word for _, word in found[number:]))] = None
        words.add(word)
    return list(keys)[:MAX_KEYS]


def _folded(title: str) -> str:
    return " ".join(fold(title.replace(LAST_CHARACTER, "")).split())


def _words(folded: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a folded text, each with its start."""
    for found in _WORD.finditer("".join(map(_class, folded))):
        yield found.start(), folded[found.start() : found.end()]


def _joined(folded: str) -> str:
    return " ".join(word for _, word in _words(folded)) or folded


def _cut(folded: str) -> str:
    if len(folded) <= TITLE_LENGTH:
        return folded
    return _joined(folded[:TITLE_LENGTH].rstrip())  # without a point at the new end, as in ``1.``


@lru_cache(maxsize=5_000)
def _class(character: str) -> str:
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
