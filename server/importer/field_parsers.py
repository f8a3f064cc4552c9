"""Turn the cells of a row into values: text from CSV and JSON values from JSONL parse alike.

Each parser takes the field's name and the cell, and returns the value or raises
``InvalidArgumentError`` with one sentence that names the field. A list is a JSON array, in CSV the
text of one; an invalid entry is named as ``lines.0``.
"""

import functools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Literal, TypeVar

from dal.errors import InvalidArgumentError
from dal.model import OrderLine, UserType, rules
from server.errors import CommandError

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


DateUnit = Literal["s", "ms", "us"]

_WANTED = "a date such as 2020-11-20T12:00:00Z, or unix seconds"
_MICROSECONDS: Mapping[DateUnit, int] = {"s": 1_000_000, "ms": 1_000, "us": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{0,12})?")
_BARE_DATE = re.compile(r"(19|20)[0-9]{2}([0-9]{2}){0,2}")
"""``20201120`` reads as a date and as seconds of August 1970: it is refused rather than guessed."""

_ZONE = re.compile(r"(?<! ) *+(UTC|GMT|Z)$|(?<! ) ++(?=[+-][0-9]{2}:?[0-9]{2}$)")
"""How some programs end a date where ISO 8601 has ``Z`` or an offset without a space."""

_PROBE = datetime(2003, 11, 22, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DateReader:
    """Reads dates; with a ``unit`` numbers are unix time of it, with a ``form`` nothing else is."""

    unit: DateUnit | None = None
    form: str | None = None
    """As of ``strptime``; without an offset the time is UTC."""

    def __call__(self, field: str, cell: object) -> datetime:
        """Return the instant in UTC, to the microsecond; a date alone means its midnight."""
        if isinstance(cell, bool) or not isinstance(cell, str | int | float):
            raise refused(field, cell, _WANTED)
        written = str(cell).strip()
        if self.form is not None:
            return _formed(field, written, self.form)
        if self.unit is None and _BARE_DATE.fullmatch(written):
            raise refused(
                field,
                cell,
                "written as 2020-11-20, so that it cannot be unix seconds (--date-unit)",
            )
        if _NUMBER.fullmatch(written):
            return _from_unix(field, cell, Decimal(written), self.unit or "s")
        try:
            moment = datetime.fromisoformat(_ZONE.sub(_in_iso, written))
        except ValueError:
            raise refused(field, cell, _WANTED) from None
        return rules.instant(field, moment)


instant = DateReader()


def date_reader(unit: DateUnit | None, form: str | None) -> DateReader:
    """Return what reads such dates; CommandError unless ``form`` holds year, month and day."""
    if form is not None and unit is not None:
        raise CommandError("--date-unit and --date-format exclude each other: leave one out.")
    if form is not None and not _tells_the_day(form):
        raise CommandError(
            f"--date-format {form!r} does not tell the day: write it as of strptime, such as "
            "'%m/%d/%Y' or '%d.%m.%Y %H:%M'."
        )
    return DateReader(unit, form)


def _tells_the_day(form: str) -> bool:
    try:
        return datetime.strptime(_PROBE.strftime(form), form).date() == _PROBE.date()  # noqa: DTZ007 - the day is asked for
    except (ValueError, re.error):
        return False


def _formed(field: str, written: str, form: str) -> datetime:
    try:
        moment = datetime.strptime(written, form)  # noqa: DTZ007 - a naive time is UTC by rules.instant
    except ValueError:
        raise refused(field, written, f"a date of the form {form}") from None
    return rules.instant(field, moment)


def _in_iso(found: re.Match[str]) -> str:
    return "" if found[0].isspace() else "+00:00"


def _from_unix(field: str, cell: object, number: Decimal, unit: DateUnit) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=int(number * _MICROSECONDS[unit]))
    except OverflowError:
        hint = "in milliseconds? Add --date-unit ms" if unit == "s" else f"in {unit}?"
        raise InvalidArgumentError(
            field, f"{field} is {cell!r}, out of the calendar: unix time {hint}."
        ) from None


_LINES = [{"product_id": "42", "quantity": 1, "unit_price": "12.50 EUR"}]
_USERS = [{"username": "ana", "type": "ADMIN"}]

_user_type = choice(UserType)


def order_lines(field: str, cell: object) -> tuple[OrderLine, ...]:
    """Return the lines of an order: 1 to 90, of one currency."""
    listed = _array(field, cell, _LINES)
    return rules.order_lines(field, [_line(f"{field}.{n}", one) for n, one in enumerate(listed)])


def users(field: str, cell: object) -> dict[str, UserType]:
    """Return the type of each user of an organisation by username; MEMBER where none is given."""
    read: dict[str, UserType] = {}
    for number, one in enumerate(_array(field, cell, _USERS)):
        place = f"{field}.{number}"
        if not isinstance(one, dict):
            raise refused(place, one, "an object with username and type")
        username = identifier(f"{place}.username", one.get("username"))
        if username in read:
            raise InvalidArgumentError(place, f"{place} has the username of an earlier one.")
        read[username] = _user_type(f"{place}.type", one.get("type", UserType.MEMBER))
    return read


def _line(place: str, entry: object) -> OrderLine:
    if not isinstance(entry, dict):
        raise refused(place, entry, "an object with product_id, quantity and unit_price")
    price = text(f"{place}.unit_price", entry.get("unit_price"))
    return OrderLine(
        product_id=identifier(f"{place}.product_id", entry.get("product_id")),
        quantity=_quantity(f"{place}.quantity", entry.get("quantity")),
        unit_price=rules.money(f"{place}.unit_price", price),
    )


def _quantity(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused(field, value, "a whole number")
    return rules.quantity(field, value)


def _array(field: str, cell: object, example: object) -> list[object]:
    entries = cell
    if isinstance(cell, str):
        try:
            entries = json.loads(cell)
        except (RecursionError, ValueError):
            entries = None
    if not isinstance(entries, list):
        raise refused(field, cell, f"a list such as {json.dumps(example)}")
    return entries
