"""Converts identifiers, instants and counts to parts of keys, ids and cursors, and back.

Keys join their parts with ``#`` and ``/``. In identifiers these characters and ``%`` are
percent-encoded, so product ``42/en`` never collides with product ``42`` in language ``en``.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import unquote

_RESERVED = re.compile("[%/#]")

LAST_CHARACTER = "\U0010ffff"
"""The last character of Unicode, which no identifier contains. So a prefix followed by this
character is an upper bound of all keys that begin with the prefix."""

INSTANT_LENGTH = len("2020-11-20T12:00:00.000000Z")
COUNT_LENGTH = 12


MAX_IDENTIFIER_BYTES = 512
"""Maximum bytes in UTF-8 of an escaped identifier. An identifier of this size and a date fit
together in a sort key of DynamoDB, whose maximum is 1,024 bytes."""

TURNING = r"\u202a-\u202e\u2066-\u2069"
"""The range of a regular expression with the characters that change the direction of text. A text
with such characters can look like a different text: https://trojansource.codes/"""

UNFIT_FOR_KEYS = re.compile(rf"[\x00-\x1f\x7f-\x9f{TURNING}\ud800-\udfff{LAST_CHARACTER}]")
"""Matches the characters that an identifier must not contain: control characters, characters that
change the direction of text, surrogates, and LAST_CHARACTER."""


def can_be_escaped(part: str) -> bool:
    """Return whether ``part`` is the escaped form of an identifier that a key can contain."""
    identifier = unescape(part)
    fits = identifier and len(part.encode()) <= MAX_IDENTIFIER_BYTES
    return bool(fits) and escape(identifier) == part and not UNFIT_FOR_KEYS.search(identifier)


@lru_cache(maxsize=1_000)  # a write escapes the product's id a dozen times
def escape(identifier: str) -> str:
    """Return ``identifier`` with ``%``, ``/`` and ``#`` percent-encoded."""
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", identifier)


def unescape(part: str) -> str:
    """Return the identifier from its escaped form ``part``."""
    return unquote(part, errors="strict") if "%" in part else part


def format_count(count: int) -> str:
    """Return a count as 12 digits, so that the texts sort like the numbers.

    Without the leading zeros, the text ``9`` would sort after the text ``10``.
    """
    return f"{count:0{COUNT_LENGTH}}"


def parse_count(text: str) -> int:
    """Return the count in a text from ``format_count``. Raise ValueError for any other text."""
    if len(text) != COUNT_LENGTH or not (text.isascii() and text.isdigit()):
        raise ValueError(
            f"{text!r} is not a number with {COUNT_LENGTH} digits, such as 000000000042."
        )
    return int(text)


@lru_cache(maxsize=100)  # a write formats a comment's date five times
def format_instant(instant: datetime) -> str:
    """Return an aware datetime as a text in UTC, for example ``2020-11-20T12:00:00.000000Z``.

    All these texts have 27 characters, so they sort by time.
    """
    return f"{instant.astimezone(UTC).isoformat(timespec='microseconds')[:-6]}Z"


def parse_instant(text: str) -> datetime:
    """Return the instant in a text from ``format_instant``. Raise ValueError for invalid texts."""
    if len(text) != INSTANT_LENGTH or text[10] != "T" or text[-1] != "Z":
        raise ValueError(f"{text!r} is not an instant in UTC with microseconds.")
    return datetime.fromisoformat(text)
