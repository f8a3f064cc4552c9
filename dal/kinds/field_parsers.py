"""Parses the cells of a row. A cell is text in CSV and XML, and a JSON value in JSONL and Parquet.

A parser receives the field's name and the cell. It returns the value, or raises
InvalidArgumentError with a message that names the field. A list is a JSON array, or text that
contains a JSON array. In messages, ``lines.0`` is the first entry of the field ``lines``.
"""

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Literal, TypeAlias, TypeVar

from dal.model import OrderLine, Photo, UserType, rules
from dal.table.errors import InvalidArgumentError

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?")
_COUNT = re.compile(r"([0-9]{1,9}|[0-9]{1,3}(,[0-9]{3}){1,2})(\.0*)?")
_BOOLEANS = dict.fromkeys(("true", "yes", "y", "t", "1"), True) | dict.fromkeys(
    ("false", "no", "n", "f", "0"), False
)
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


def _one_line(field: str, cell: object) -> str:
    """Return text without blanks at its ends.

    Raise an error if the text has several lines. In XML, each line may be the value of an element.
    """
    written = rules.trimmed(text(field, cell))
    if "\n" in written:
        raise refused(field, cell, "one value in one line")
    return written


def _checked(rule: Callable[[str, str], str]) -> TextParser:
    return lambda field, cell: rule(field, text(field, cell))


def _optional(rule: Callable[[str, str], str]) -> TextParser:
    def parse(field: str, cell: object) -> str:
        written = _one_line(field, cell)
        return rule(field, written) if written else ""

    return parse


title = _checked(rules.title)
subject = _checked(rules.stated_title)
review = _checked(rules.optional_text)
"""The text of a comment. It may be empty, because shops' exports contain ratings without text."""
body = _checked(rules.stated_text)
reply = _checked(rules.stated_reply)
explanation = _checked(rules.explanation)
email = _optional(rules.email)
name = _optional(rules.name)
address = _optional(rules.address)

MAY_BE_BLANK = {title, explanation}
"""The parsers that keep a text without a visible character. For other parsers, it is empty."""

_language = functools.lru_cache(maxsize=1024)(rules.language)


def language(field: str, cell: object) -> str:
    """Return a language tag in canonical form."""
    return _language(field, text(field, cell).strip())


def identifier(field: str, cell: object) -> str:
    """Return an identifier, which is text without blanks at its ends.

    A cell with a whole number is converted to text.
    """
    digits = isinstance(cell, int) and not isinstance(cell, bool)
    return rules.identifier(field, str(cell) if digits else _one_line(field, cell))


def account(field: str, cell: object) -> str:
    """Return the id of a user who signs in, from a cell like those of ``identifier``."""
    return rules.account(field, identifier(field, cell))


def rating(field: str, cell: object) -> int:
    """Return a rating. The cells ``5``, ``5.0``, ``"5"`` and ``"5.0"`` all mean 5."""
    written = str(cell).strip()
    if isinstance(cell, bool) or not _WHOLE.fullmatch(written):
        raise refused(field, cell, "a whole number from 1 to 5")
    return rules.rating(field, int(float(written)))


def votes(field: str, cell: object) -> int:
    """Return a number of votes. The cell may have commas: ``"1,234"`` is 1234."""
    written = str(cell).strip()
    if isinstance(cell, bool) or not _COUNT.fullmatch(written):
        raise refused(field, cell, "a number of votes, such as 12")
    return int(float(written.replace(",", "")))


def boolean(field: str, cell: object) -> bool:
    """Return True for ``true``, ``yes``, ``y``, ``t`` and ``1``, in upper or lower case.

    Return False for ``false``, ``no``, ``n``, ``f`` and ``0``.
    """
    value = _BOOLEANS.get(str(cell).strip().lower())
    if value is None:
        raise refused(field, cell, "true or false")
    return value


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


_PHOTOS = [{"url": "https://shop.example/kettle.jpg", "alt": "On my stove"}]
_SEPARATORS = " ,;|\t\r\n"
_BETWEEN_ADDRESSES = re.compile(rf"(?<![{_SEPARATORS}])[{_SEPARATORS}]++(?=https?://)")
"""Matches the separators between two addresses in one text. A separator counts only before
``https://`` or ``http://``, because an address may contain the same characters."""

_LINES = [{"product_id": "42", "quantity": 1, "unit_price": "12.50 EUR"}]
_USERS = [{"username": "ana", "type": "ADMIN"}]

_user_type = choice(UserType)


def order_lines(field: str, cell: object) -> tuple[OrderLine, ...]:
    """Return the lines of an order. There are 1 to 90 lines, and all have the same currency."""
    lines: list[OrderLine] = []
    for number, entry in enumerate(_array(field, cell, _LINES)):
        place = f"{field}.{number}"
        if not isinstance(entry, dict):
            raise refused(place, entry, "an object with product_id, quantity and unit_price")
        price = text(f"{place}.unit_price", entry.get("unit_price"))
        quantity = entry.get("quantity")
        if isinstance(quantity, bool) or not isinstance(quantity, int):
            raise refused(f"{place}.quantity", quantity, "a whole number")
        lines.append(
            OrderLine(
                product_id=identifier(f"{place}.product_id", entry.get("product_id")),
                quantity=rules.quantity(f"{place}.quantity", quantity),
                unit_price=rules.money(f"{place}.unit_price", price),
            )
        )
    return rules.order_lines(field, lines)


def photos(field: str, cell: object) -> tuple[Photo, ...]:
    """Return the photos of a comment, at most 10. Photos that break a rule are left out.

    The cell is an array of objects, an array of addresses, or one text with addresses. An object
    has ``url`` and ``alt``. In exports from Wix, it has ``image`` instead: an address, or an object
    with ``url`` and ``altText``. Videos are ignored.
    """
    found = [one for _, one in _photos(field, cell) if isinstance(one, Photo)]
    return tuple(rules.few(field, found, rules.MAX_PHOTOS))


def invalid_photos(field: str, cell: object) -> Sequence[tuple[object, InvalidArgumentError]]:
    """Return the entries that ``photos`` leaves out, each with the rule that it breaks."""
    return [(entry, one) for entry, one in _photos(field, cell) if not isinstance(one, Photo)]


def _photos(field: str, cell: object) -> Iterator[tuple[object, Photo | InvalidArgumentError]]:
    if isinstance(cell, str) and not cell.lstrip().startswith("["):
        cell = [one for one in _BETWEEN_ADDRESSES.split(cell.strip(_SEPARATORS)) if one]
    entries = [one for one in _array(field, cell, _PHOTOS) if not _is_video(one)]
    for number, entry in enumerate(entries):
        place = f"{field}.{number}"
        image = entry.get("image", entry) if isinstance(entry, dict) else entry
        values = image if isinstance(image, dict) else {"url": image}
        try:
            url = rules.photo_address(f"{place}.url", text(f"{place}.url", values.get("url")))
            alt = text(f"{place}.alt", values.get("alt", values.get("altText")) or "")
            yield entry, Photo(url, rules.alternative_text(f"{place}.alt", alt))
        except InvalidArgumentError as error:
            yield entry, error


def _is_video(entry: object) -> bool:
    return isinstance(entry, dict) and "video" in entry and "image" not in entry


def users(field: str, cell: object) -> dict[str, UserType]:
    """Return the type of each user of an organisation by username. The default type is MEMBER."""
    types: dict[str, UserType] = {}
    for number, entry in enumerate(_array(field, cell, _USERS)):
        place = f"{field}.{number}"
        if not isinstance(entry, dict):
            raise refused(place, entry, "an object with username and type")
        username = account(f"{place}.username", entry.get("username"))
        if username in types:
            raise InvalidArgumentError(
                place, f"{place} repeats the username {username!r}: keep one entry for each user."
            )
        types[username] = _user_type(f"{place}.type", entry.get("type", UserType.MEMBER))
    return types


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
