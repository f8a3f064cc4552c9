"""Marks of erased users, so that rights which a user got before the erasure can end.

A mark does not contain the user's name. Its key is a hash of the name.
"""

import hashlib
import time
from datetime import UTC, datetime

from dal.table.entity import packed, unpacked
from dal.table.index import EXPIRES
from dal.table.items import Item, primary_key
from dal.table.key_parts import format_instant, parse_instant

KEPT_DAYS = 400
"""Days for which a mark is kept."""

_ERASED = "ERASED#"


def mark_key(username: str) -> Item:
    """Return the primary key of a user's mark."""
    return primary_key(_ERASED + hashlib.sha256(username.encode()).hexdigest()[:32])


def is_mark(key: Item) -> bool:
    """Return whether a key or an item belongs to the mark of an erased user."""
    return str(key["PK"]["S"]).startswith(_ERASED)


def mark_of(username: str) -> Item:
    """Return the mark of a user who is erased now."""
    until = int(time.time()) + KEPT_DAYS * 86_400
    at = format_instant(datetime.now(UTC))
    return mark_key(username) | packed({"at": at}) | {EXPIRES: {"N": str(until)}}


def erased_at(mark: Item) -> datetime:
    """Return the time of the latest erasure of a mark's user."""
    return parse_instant(unpacked(mark)["at"])
