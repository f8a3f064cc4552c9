"""Parses the cells of a row. A cell is text in CSV and XML, and a JSON value in JSONL and Parquet.

A parser receives the field's name and the cell. It returns the value, or raises
InvalidArgumentError with a message that names the field. Features have further parsers for the
files of their objects.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Literal, TypeAlias, TypeVar

from dal.model import own_ids, rules
from dal.table.errors import InvalidArgumentError

_SHOWN = 40

Choice = TypeVar("Choice", bound=StrEnum)
TextParser: TypeAlias = Callable[[str, object], str]


def refused(field: str, cell: object, wanted: str) -> InvalidArgumentError:
    """Return the error for a cell that is invalid for its field."""
    return InvalidArgumentError(field, f"{field} is {shown(cell)}; it must be {wanted}.")


def shown(cell: object) -> str:
    """Return the start of a cell for a message."""
    written = repr(cell)
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"


def text(field: str, cell: object) -> str:
    """Return the cell if it is text."""
    if not isinstance(cell, str):
        raise refused(field, cell, "text")
    return cell


def one_line(field: str, cell: object) -> str:
    """Return text without blanks at its ends.

    Raise an error if the text has several lines. In XML, each line may be the value of an element.
    """
    written = rules.trimmed(text(field, cell))
    if "\n" in written:
        raise refused(field, cell, "one value in one line")
    return written


def checked(rule: Callable[[str, str], str]) -> TextParser:
    """Return a parser that checks a text by ``rule``."""
    return lambda field, cell: rule(field, text(field, cell))


title = checked(rules.title)
subject = checked(rules.stated_title)
explanation = checked(rules.explanation)


def identifier(field: str, cell: object) -> str:
    """Return an identifier, which is text without blanks at its ends.

    A cell with a whole number is converted to text.
    """
    digits = isinstance(cell, int) and not isinstance(cell, bool)
    return own_ids.own_id(field, str(cell) if digits else one_line(field, cell))


def account(field: str, cell: object) -> str:
    """Return the id of a user who signs in, from a cell like those of ``identifier``."""
    return own_ids.account(field, identifier(field, cell))


def choice(choices: type[Choice]) -> Callable[[str, object], Choice]:
    """Return a parser that finds a member of ``choices`` by its name, in upper or lower case."""

    def parse(field: str, cell: object) -> Choice:
        written = text(field, cell).strip().upper()
        if written not in choices.__members__:
            raise refused(field, cell, f"one of {', '.join(choices)}")
        return choices[written]

    return parse


DateUnit = Literal["s", "ms", "us"]

_DATE = "a date such as 2020-11-20T12:00:00Z"
_MICROSECONDS: Mapping[DateUnit, int] = {"s": 1_000_000, "ms": 1_000, "us": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{0,12})?")
_SURELY_SECONDS = range(31_536_000, 4_102_444_800)
"""The Unix times of the years 1971 to 2099. Without ``--date-unit``, the parser rejects all other
numbers, because a guess could be wrong: ``20201120`` and ``202011`` may be dates, ``45601`` may be
a day number of a spreadsheet, and ``1605873600000`` may be Unix time in milliseconds."""

_ZONE = re.compile(r"(?<! ) *+(UTC|GMT|Z)$|(?<! ) ++(?=[+-][0-9]{2}:?[0-9]{2}$)")
"""Matches the ends of dates that ``datetime.fromisoformat`` cannot read: ``UTC``, ``GMT``, a ``Z``
after a space, or a space before an offset such as ``+01:00``."""


@dataclass(frozen=True, slots=True)
class DateReader:
    """Parses dates. A date without an offset is in UTC.

    If ``form`` is None, dates are ISO 8601 or Unix time in ``unit``. The default unit is seconds.
    """

    unit: DateUnit | None = None
    form: str | None = None
    """The format for ``strptime``."""

    def __call__(self, field: str, cell: object) -> datetime:
        """Return the instant in UTC, to the microsecond. A date without a time is midnight."""
        wanted = _DATE if self.form is None else f"a date of the form {self.form}"
        if self.unit is not None:
            wanted += f", or Unix time in {self.unit}"
        if isinstance(cell, bool) or not isinstance(cell, str | int | float):
            raise refused(field, cell, wanted)
        # In XML, a comment may have several replies. The cell then has one line for each reply's
        # date, and the last line is used.
        written = str(cell).strip().rpartition("\n")[2]
        if self.form is None and _NUMBER.fullmatch(written):
            return self._from_unix(field, cell, Decimal(written))
        try:
            if self.form is None:
                moment = datetime.fromisoformat(_ZONE.sub(_in_iso, written))
            else:
                moment = datetime.strptime(written, self.form)  # noqa: DTZ007 - rules.instant adds UTC
        except ValueError:
            raise refused(field, cell, wanted) from None
        return rules.instant(field, moment)

    def _from_unix(self, field: str, cell: object, number: Decimal) -> datetime:
        if self.unit is None and int(number) not in _SURELY_SECONDS:
            advice = "If it is Unix time, add --date-unit s, ms or us; if it is a day number of a "
            raise refused(field, cell, f"{_DATE}. {advice}spreadsheet, save it there as a date")
        unit = self.unit or "s"
        try:
            return _EPOCH + timedelta(microseconds=int(number * _MICROSECONDS[unit]))
        except OverflowError:
            raise InvalidArgumentError(
                field,
                f"{field} is {cell!r}, outside the years 1 to 9999. Check that it is Unix time in "
                f"{unit}.",
            ) from None


def _in_iso(found: re.Match[str]) -> str:
    return "" if found[0].isspace() else "+00:00"


instant = DateReader()
