"""Identifiers, instants and counts as parts of keys, ids and cursors.

Keys join their parts with ``#`` and ``/``. In identifiers these characters and ``%`` are
percent-encoded, so product ``42/en`` never collides with product ``42`` in language ``en``.
"""

import re
import unicodedata
from datetime import UTC, datetime
from urllib.parse import unquote

_RESERVED = re.compile("[%/#]")

LAST_CHARACTER = "\U0010ffff"
"""No identifier contains this character, so a prefix with it is the upper bound of the keys with
that prefix."""

INSTANT_LENGTH = len("2020-11-20T12:00:00.000000Z")
COUNT_LENGTH = 12


def escape(identifier: str) -> str:
    """Return ``identifier`` with ``%``, ``/`` and ``#`` percent-encoded."""
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", identifier)


def unescape(part: str) -> str:
    """Return the identifier that ``escape`` encoded as ``part``."""
    return unquote(part, errors="strict") if "%" in part else part


TITLE_LENGTH = 100
"""Characters of a title in a sort key. With an identifier they fit DynamoDB's 1,024 bytes."""


def fold(title: str) -> str:
    """Return the start of a title as keys contain it.

    Case, Unicode form and spaces make no difference.

    The text is case-folded and in Unicode's form NFKC. Each run of spaces is one space.
    https://www.unicode.org/versions/latest/core-spec/chapter-3/#G33992 (compatibility caseless)
    """
    for form in ("NFD", "NFKC"):
        title = unicodedata.normalize(form, title).casefold()
    words = unicodedata.normalize("NFKC", title).replace(LAST_CHARACTER, "").split()
    return " ".join(words)[:TITLE_LENGTH].rstrip()


def fold_prefix(text: str) -> str:
    """Return how folded titles start that begin with ``text``; a last space counts."""
    folded = fold(text)
    return f"{folded} "[:TITLE_LENGTH] if text[-1:].isspace() else folded


def format_count(count: int) -> str:
    """Return a count as 12 digits, which sort as numbers do: without zeros, 9 sorts above 10."""
    return f"{count:0{COUNT_LENGTH}}"


def parse_count(text: str) -> int:
    """Return the count of ``format_count``'s text; ValueError for other text."""
    if len(text) != COUNT_LENGTH or not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a count of {COUNT_LENGTH} digits.")
    return int(text)


def format_instant(instant: datetime) -> str:
    """Return an aware instant as 27 characters of UTC that sort as time does."""
    naive = instant.astimezone(UTC).replace(tzinfo=None)
    return f"{naive.isoformat(timespec='microseconds')}Z"


def parse_instant(text: str) -> datetime:
    """Return the instant of ``format_instant``'s text; ValueError for other text."""
    if len(text) != INSTANT_LENGTH or text[10] != "T" or text[-1] != "Z":
        raise ValueError(f"{text!r} is not an instant in UTC with microseconds.")
    return datetime.fromisoformat(text)
