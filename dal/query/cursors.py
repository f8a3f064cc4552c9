"""The cursor codec: an opaque string for one position, whatever the filter or the fan-out.

Layout, in base64url without padding: one byte of version and kind, four bytes of CRC-32 over the
rest, then the position. A position that starts with an instant packs it into eight bytes, so a
cursor stays under 80 characters for ids of up to 46 bytes. Any other position stands as it is, and
stays under 80 for up to 54 bytes. The cursor names no partition: keys are always built from the
arguments, so a forged cursor reaches nothing.
"""

import binascii
import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from enum import IntEnum

from dal.errors import InvalidArgumentError, InvalidCursorError
from dal.limits import MAX_OPAQUE
from dal.model import rules
from dal.model.key_parts import (
    INSTANT_LENGTH,
    escape,
    format_instant,
    parse_count,
    parse_instant,
    unescape,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD = struct.Struct(">BI")
_INSTANT = struct.Struct(">q")
_MICROSECOND = timedelta(microseconds=1)


class CursorKind(IntEnum):
    """What the positions of a list are; the value is the cursor's first byte."""

    INSTANT = 0x11
    COUNT = 0x12
    NAME = 0x13


def encode(position: str) -> str:
    """Return the cursor of a position: ``<instant>#<id>``, ``<count>#<id>`` or ``<name>``."""
    # An id holds no #, so only an instant ends right before one at this place.
    if position[INSTANT_LENGTH - 1 : INSTANT_LENGTH + 1] == "Z#":
        instant, identifier = position[:INSTANT_LENGTH], position[INSTANT_LENGTH + 1 :]
        microseconds = (parse_instant(instant) - _EPOCH) // _MICROSECOND
        return _packed(CursorKind.INSTANT, _INSTANT.pack(microseconds) + identifier.encode())
    return _packed(CursorKind.COUNT if "#" in position else CursorKind.NAME, position.encode())


def decode(cursor: str, kind: CursorKind = CursorKind.INSTANT) -> str:
    """Return the position of a cursor; InvalidCursorError unless it is a whole one of ``kind``."""
    try:
        position = _unpack(cursor, kind)
        genuine = encode(position) == cursor
    except (binascii.Error, struct.error, ValueError, OverflowError, InvalidArgumentError):
        genuine = False
    if not genuine:
        raise InvalidCursorError(
            "The cursor is not one of this list's: pass an edge's cursor back unchanged, "
            "or leave it out to start from the beginning."
        )
    return position


def _packed(kind: CursorKind, body: bytes) -> str:
    raw = _HEAD.pack(kind, zlib.crc32(body)) + body
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _unpack(cursor: str, kind: CursorKind) -> str:
    if len(cursor) > MAX_OPAQUE:
        raise ValueError("The cursor is longer than any.")
    raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    head = _HEAD.unpack_from(raw)
    body = raw[_HEAD.size :]
    if head != (kind, zlib.crc32(body)):
        raise ValueError("The cursor is damaged, or another list's.")
    if kind is CursorKind.INSTANT:
        instant = _EPOCH + timedelta(microseconds=_INSTANT.unpack_from(body)[0])
        start, part = f"{format_instant(instant)}#", body[_INSTANT.size :].decode()
    else:
        count, sign, part = body.decode().rpartition("#")
        start = count + sign
        if kind is CursorKind.COUNT:
            parse_count(count)
    if escape(rules.identifier("cursor", unescape(part))) != part:
        raise ValueError("No id stands in a key like this.")
    return start + part
