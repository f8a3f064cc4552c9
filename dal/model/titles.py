"""Titles of products in the form that sort keys contain, for lists by title and their search.

A title has a key for each of its first words: the folded title from the beginning of this word. So
a search by the beginning of keys finds each word, and the words that follow it.
"""

from dal.model.folding import fold
from dal.model.text_search import words_in
from dal.table.key_parts import LAST_CHARACTER

TITLE_LENGTH = 100
"""Maximum characters of a title in a sort key. DynamoDB's sort keys have at most 1,024 bytes, which
is enough for such a title and an identifier."""

MAX_KEYS = 10
"""Maximum keys of a title."""

_APOSTROPHES = ("'", "\u2019")


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
    found = list(words_in(folded)) or [(0, folded)] * bool(folded)
    keys, words = dict[str, None](), set[str]()
    for number, (start, word) in enumerate(found):
        last_letter = len(word) == 1 and folded[:start].endswith(_APOSTROPHES)
        if not number or (word not in words and not last_letter):
            keys[_cut(" ".join(word for _, word in found[number:]))] = None
        words.add(word)
    return list(keys)[:MAX_KEYS]


def _folded(title: str) -> str:
    return " ".join(fold(title.replace(LAST_CHARACTER, "")).split())


def _joined(folded: str) -> str:
    return " ".join(word for _, word in words_in(folded)) or folded


def _cut(folded: str) -> str:
    if len(folded) <= TITLE_LENGTH:
        return folded
    return _joined(folded[:TITLE_LENGTH].rstrip())  # without a point at the new end, as in ``1.``
