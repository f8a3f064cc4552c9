"""What a well-formed value is: each rule returns the value in canonical form or raises.

Every rule raises ``InvalidArgumentError`` with the argument's name and one sentence; GraphQL
inputs and loaded files go through the same rules.
"""

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime

from langcodes import standardize_tag
from langcodes.tag_parser import LanguageTagError

from dal.errors import InvalidArgumentError
from dal.keys import LAST_CHARACTER, escape
from dal.model import RATINGS

MAX_IDENTIFIER_BYTES = 512
"""Escaped, in UTF-8: with a date it fits DynamoDB's sort keys of 1,024 bytes."""

MAX_TITLE = 200
MAX_TEXT = 10_000
MAX_LANGUAGE = 35
"""Characters; 35 is what BCP 47 (RFC 5646, section 4.4.1) asks programs to make room for."""


def identifier(argument: str, value: str) -> str:
    """Return ``value`` when it can stand in a key: 1 to 512 bytes, no control characters."""
    if not value:
        raise InvalidArgumentError(argument, f"{argument} is empty.")
    if any(unicodedata.category(char) in {"Cc", "Cs"} or char == LAST_CHARACTER for char in value):
        raise InvalidArgumentError(argument, f"{argument} holds a control character.")
    size = len(escape(value).encode())
    if size > MAX_IDENTIFIER_BYTES:
        raise InvalidArgumentError(
            argument, f"{argument} is {size:,} bytes long; the most is {MAX_IDENTIFIER_BYTES}."
        )
    return value


def rating(argument: str, value: int) -> int:
    """Return ``value`` when it is a rating from 1 to 5."""
    if value not in RATINGS:
        raise InvalidArgumentError(argument, f"{argument} is {value}; it goes from 1 to 5.")
    return value


def ratings(argument: str, values: Iterable[int]) -> frozenset[int]:
    """Return the distinct ratings of ``values``; none at all selects none."""
    return frozenset(rating(argument, value) for value in values)


def language(argument: str, value: str) -> str:
    """Return ``value`` as a BCP 47 tag in canonical form: ``EN-us`` becomes ``en-US``."""
    try:
        tag = _settled(value)
    except LanguageTagError:
        tag = ""
    if not tag[:2].isalpha() or len(tag) > MAX_LANGUAGE:
        raise InvalidArgumentError(
            argument,
            f"{argument} {value[:MAX_LANGUAGE]!r} is not a BCP 47 language tag "
            "such as 'en' or 'pt-BR'.",
        )
    return tag


def _settled(tag: str) -> str:
    """Return a tag standardized until that changes nothing: a new form may have a newer one."""
    standard = standardize_tag(tag)
    return tag if standard == tag else _settled(standard)


def languages(argument: str, values: Iterable[str]) -> frozenset[str]:
    """Return the distinct canonical tags of ``values``; none at all selects none."""
    return frozenset(language(argument, value) for value in values)


def title(argument: str, value: str) -> str:
    """Return ``value`` when it is short enough for a title."""
    return _characters(argument, value, MAX_TITLE)


def text(argument: str, value: str) -> str:
    """Return ``value`` when it is short enough for a text."""
    return _characters(argument, value, MAX_TEXT)


def _characters(argument: str, value: str, most: int) -> str:
    if len(value) > most:
        raise InvalidArgumentError(
            argument, f"{argument} is {len(value):,} characters long; the most is {most:,}."
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(argument, f"{argument} holds half a character.") from None
    return value


def instant(argument: str, value: datetime) -> datetime:
    """Return ``value`` in UTC; a naive time is UTC already."""
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise InvalidArgumentError(argument, f"{argument} is out of the calendar.") from None
