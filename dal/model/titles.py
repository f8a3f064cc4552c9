"""Titles of products in the form that sort keys contain, for lists by title and their search.

A title has a key for each of its first words: the folded title from the beginning of this word. So
a search by the beginning of keys finds each word, and the words that follow it.
"""

import re
import unicodedata
from functools import lru_cache

from dal.model.folding import fold
from dal.table.key_parts import LAST_CHARACTER

TITLE_LENGTH = 100
"""Maximum characters of a title in a sort key. DynamoDB's sort keys have at most 1,024 bytes, which
is enough for such a title and an identifier."""

MAX_KEYS = 10
"""Maximum keys of a title."""

_WORD = re.compile(
    """
    h[hm]*[gm]*  # Han, and the Hiragana that follows it
    | k[km]*[gm]*  # Katakana, likewise
    | [ad](?:[adm]|(?<=d)[.](?=d)|q(?=[ad]m*(?![adm])))*[gm]*  # as in 1.7l and men's, not d'oro
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
    ("q", re.compile("['\u2019]")),
    (".", re.compile("[.,]")),
    (" ", re.compile(" ")),
    ("e", re.compile("[\U0001f3fb-\U0001f3ff]")),
)
"""Classes of characters, and their characters."""


def fold_title(title: str) -> str:
    """Return the beginning of a folded title in the form that sort keys contain.

    Each run of spaces becomes one space.
    """
    return _cut(_whole(title))


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

    The first key is the folded title. Each word after the title's beginning adds a key, unless the
    title has the same word before. A word is a run of letters and digits. In Japanese and Chinese,
    a word also begins where Han or Katakana follows another script. For example, ``Copper kettle``
    has the keys ``copper kettle`` and ``kettle``.
    """
    folded = _whole(title)
    keys: dict[str, None] = dict.fromkeys([folded] if folded else [])
    words: set[str] = set()
    for found in _WORD.finditer("".join(map(_class, folded))):
        start, end = found.span()
        word = folded[start:end]
        if word not in words:
            words.add(word)
            keys[folded[start:]] = None
    return list(dict.fromkeys(map(_cut, keys)))[:MAX_KEYS]


def _whole(title: str) -> str:
    return " ".join(fold(title.replace(LAST_CHARACTER, "")).split())


def _cut(folded: str) -> str:
    return folded[:TITLE_LENGTH].rstrip()


@lru_cache(maxsize=5_000)
def _class(character: str) -> str:
    """Return the class of a character: one letter of ``_WORD``.

    They are: letter, digit, mark, Han, Katakana, Hiragana, apostrophe, emoji or similar symbol.
    """
    for name, characters in _CLASSES:
        if characters.match(character):
            return name
    category = unicodedata.category(character)
    if category == "So":
        return "e" if character > "\xff" else "-"
    return {"L": "a", "N": "d", "M": "m"}.get(category[0], "-")
