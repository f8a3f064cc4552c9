"""The cursor codec: an opaque string for one position, whatever the filter or the fan-out.

Layout, in base64url without padding: one byte of version and kind, four bytes of CRC-32 over the
rest, then the position. A position that starts with an instant packs it into eight bytes, so a
cursor stays under 80 characters for ids of up to 46 bytes. The cursor names no partition: keys are
always built from the arguments, so a forged cursor reaches nothing.
"""

import binascii
import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta

from dal import rules
from dal.errors import InvalidArgumentError, InvalidCursorError
from dal.keys import INSTANT_LENGTH, escape, format_instant, parse_instant, unescape

_BY_INSTANT = 0x11
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD = struct.Struct(">BI")
_INSTANT = struct.Struct(">q")
_MICROSECOND = timedelta(microseconds=1)


def encode(position: str) -> str:
    """Return the cursor of a position of the form ``<instant>#<id>``."""
    instant, identifier = position[:INSTANT_LENGTH], position[INSTANT_LENGTH + 1 :]
    microseconds = (parse_instant(instant) - _EPOCH) // _MICROSECOND
    body = _INSTANT.pack(microseconds) + identifier.encode()
    raw = _HEAD.pack(_BY_INSTANT, zlib.crc32(body)) + body
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(cursor: str) -> str:
    """Return the position of a cursor; InvalidCursorError unless ``encode`` made it."""
    try:
        position = _unpack(cursor)
    except (binascii.Error, struct.error, ValueError, OverflowError, InvalidArgumentError):
        position = None
    if position is None or encode(position) != cursor:
        raise InvalidCursorError(
            "The cursor is not one of this server's: pass an edge's cursor back unchanged, "
            "or leave it out to start from the beginning."
        )
    return position


def _unpack(cursor: str) -> str | None:
    raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    kind, checksum = _HEAD.unpack_from(raw)
    body = raw[_HEAD.size :]
    if kind != _BY_INSTANT or checksum != zlib.crc32(body):
        return None
    instant = _EPOCH + timedelta(microseconds=_INSTANT.unpack_from(body)[0])
    part = body[_INSTANT.size :].decode()
    if escape(rules.identifier("cursor", unescape(part))) != part:
        return None
    return f"{format_instant(instant)}#{part}"
