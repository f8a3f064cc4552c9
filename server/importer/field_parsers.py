"""How a cell becomes a value: text from CSV and JSON values from JSONL read alike.

Each parser takes the field's name and the cell, and returns the value or raises
``InvalidArgumentError`` with one sentence that names the field.
"""

import functools
import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from dal.errors import InvalidArgumentError
from dal.model import rules

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?")
_BOOLEANS = dict.fromkeys(("true", "yes", "y", "t", "1"), True) | dict.fromkeys(
    ("false", "no", "n", "f", "0"), False
)
_SHOWN = 40

Choice = TypeVar("Choice", bound=StrEnum)


def refused(field: str, cell: object, wanted: str) -> InvalidArgumentError:
    """Return the error of a cell that is not what the field wants."""
    shown = repr(cell)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    return InvalidArgumentError(field, f"{field} is {shown}; it must be {wanted}.")


def text(field: str, cell: object) -> str:
    """Return the cell when it is text."""
    if not isinstance(cell, str):
        raise refused(field, cell, "text")
    return cell


def title(field: str, cell: object) -> str:
    """Return text that fits a title."""
    return rules.title(field, text(field, cell))


def subject(field: str, cell: object) -> str:
    """Return text that fits a title and says something."""
    return rules.stated_title(field, text(field, cell))


def review(field: str, cell: object) -> str:
    """Return text that fits a comment's; shops' exports have ratings without a word too."""
    return rules.text(field, text(field, cell))


def body(field: str, cell: object) -> str:
    """Return text that is no longer than a comment's, and says something."""
    return rules.stated_text(field, text(field, cell))


def email(field: str, cell: object) -> str:
    """Return an e-mail address, or nothing."""
    written = text(field, cell)
    return rules.email(field, written) if written else ""


def address(field: str, cell: object) -> str:
    """Return an address that may be linked, or nothing."""
    written = text(field, cell).strip()
    return rules.address(field, written) if written else ""


def identifier(field: str, cell: object) -> str:
    """Return an identifier; a whole JSON number is one by its digits."""
    digits = isinstance(cell, int) and not isinstance(cell, bool)
    return rules.identifier(field, str(cell) if digits else text(field, cell))


def language(field: str, cell: object) -> str:
    """Return a language tag in canonical form."""
    return _language(field, text(field, cell).strip())


@functools.lru_cache(maxsize=1024)
def _language(field: str, tag: str) -> str:
    return rules.language(field, tag)


def rating(field: str, cell: object) -> int:
    """Return a rating; ``5``, ``5.0``, ``"5"`` and ``"5.0"`` are the same."""
    written = str(cell).strip()
    if isinstance(cell, bool) or not _WHOLE.fullmatch(written):
        raise refused(field, cell, "a whole number from 1 to 5")
    return rules.rating(field, int(float(written)))


def boolean(field: str, cell: object) -> bool:
    """Return a truth value: ``true``, ``yes``, ``Y``, ``1`` and their opposites."""
    value = _BOOLEANS.get(str(cell).strip().lower())
    if value is None:
        raise refused(field, cell, "true or false")
    return value


def choice(choices: type[Choice]) -> Callable[[str, object], Choice]:
    """Return a parser of one of the names of ``choices``, in capitals or not."""

    def parse(field: str, cell: object) -> Choice:
        written = text(field, cell).strip().upper()
        if written not in choices.__members__:
            raise refused(field, cell, f"one of {', '.join(choices)}")
        return choices[written]

    return parse
