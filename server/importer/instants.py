"""Instants in files: ISO 8601, where a naive time is UTC, or unix time, or a form that is given."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal

from dal.errors import InvalidArgumentError
from dal.model import rules
from server.errors import CommandError
from server.importer.field_parsers import refused

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
