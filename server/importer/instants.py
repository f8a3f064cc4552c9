"""Instants in files: ISO 8601, where a naive time is UTC, or unix seconds."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from dal.errors import InvalidArgumentError
from dal.model import rules
from server.importer.field_parsers import refused

_WANTED = "a date such as 2020-11-20T12:00:00Z, or unix seconds"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{0,12})?")
_BARE_DATE = re.compile(r"(19|20)[0-9]{2}([0-9]{2}){0,2}")
"""``20201120`` reads as a date and as seconds of August 1970: it is refused rather than guessed."""


def instant(field: str, cell: object) -> datetime:
    """Return the instant in UTC, to the microsecond; a date alone means its midnight."""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        raise refused(field, cell, _WANTED)
    written = str(cell).strip()
    if _BARE_DATE.fullmatch(written):
        raise refused(field, cell, "written as 2020-11-20, so that it cannot be unix seconds")
    if _SECONDS.fullmatch(written):
        return _from_seconds(field, cell, Decimal(written))
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise refused(field, cell, _WANTED) from None
    return rules.instant(field, moment)


def _from_seconds(field: str, cell: object, seconds: Decimal) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=int(seconds * 1_000_000))
    except OverflowError:
        raise InvalidArgumentError(
            field, f"{field} is {cell!r}, out of the calendar: unix time in milliseconds?"
        ) from None
