"""Titles of products in the form that sort keys contain, for lists by title and their search."""

from dal.model.folding import fold
from dal.table.key_parts import LAST_CHARACTER

TITLE_LENGTH = 100
"""Maximum characters of a title in a sort key. DynamoDB's sort keys have at most 1,024 bytes, which
is enough for such a title and an identifier."""


def fold_title(title: str) -> str:
    """Return the beginning of a folded title in the form that sort keys contain.

    Each run of spaces becomes one space.
    """
    words = fold(title.replace(LAST_CHARACTER, "")).split()
    return " ".join(words)[:TITLE_LENGTH].rstrip()


def fold_prefix(text: str) -> str:
    """Return the folded form of ``text``, for a search by the first characters of titles.

    A caller searches for folded titles that begin with the result. Unlike ``fold_title``, this
    function keeps a space at the end of ``text``, so that ``red `` does not find ``redwood``.
    """
    folded = fold_title(text)
    return f"{folded} "[:TITLE_LENGTH] if text[-1:].isspace() else folded


def is_folded(title: str) -> bool:
    """Return whether ``title`` is a title as in a sort key."""
    return len(title) <= TITLE_LENGTH and fold_title(title) == title
