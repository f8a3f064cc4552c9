"""Cursors: opaque strings, each with one position in a list.

A cursor does not depend on the filter or on the page's plan. It consists of one byte for version
and kind, a CRC-32 of four bytes, and the position, as base64url without padding. In a cursor, the
instant of a position has eight bytes. For example, the cursor of an instant and an id of 46 bytes
has 79 characters. A cursor contains no partition key. The server builds partition keys from the
arguments only, so a forged cursor gives no access to other rows.
"""

import binascii
import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from dal.query.errors import InvalidCursorError
from dal.table.key_parts import (
    COUNT_LENGTH,
    INSTANT_LENGTH,
    can_be_escaped,
    format_instant,
    parse_count,
    parse_instant,
)

MAX_OPAQUE = 1_400
"""Maximum characters of a global id or a cursor: enough for the base64 of a type name and two
identifiers."""

NOT_OF_THIS_LIST = (
    "The cursor does not belong to this list: pass an edge's cursor back unchanged, or pass no "
    "cursor to start at the beginning."
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD = struct.Struct(">BI")
_INSTANT = struct.Struct(">q")
_MICROSECOND = timedelta(microseconds=1)


class CursorKind(IntEnum):
    """The form of a list's positions. The value is the first byte of the list's cursors."""

    INSTANT = 0x11
    COUNT = 0x12
    NAME = 0x13
    TEXT = 0x14
    RANK_H = 0x15
    RANK_L = 0x16
    RANK_V = 0x17
    """The last three are forms of positions with a rank and one of the letters h, l and v."""


class _Rank(NamedTuple):
    """The form of the prefix of positions in a list by rank, for example ``h5#``.

    The prefix is a letter, the rank in ``digits`` decimal digits, and ``#``.
    """

    kind: CursorKind
    digits: int
    size: int
    """The number of bytes of the rank in a cursor."""


_RANKS = {
    "h": _Rank(CursorKind.RANK_H, 1, 1),
    "l": _Rank(CursorKind.RANK_L, 1, 1),
    "v": _Rank(CursorKind.RANK_V, COUNT_LENGTH, 5),
}
_LETTERS = {rank.kind: letter for letter, rank in _RANKS.items()}


def rank_prefix(kind: CursorKind, rank: int) -> str:
    """Return the prefix of positions with a rank, for example ``h5#``."""
    letter = _LETTERS[kind]
    return f"{letter}{rank:0{_RANKS[letter].digits}}#"


# Clients request the pages of a popular product again and again, and send a cursor back soon.
@lru_cache(maxsize=2_000)
def encode_cursor(position: str) -> str:
    """Return the cursor of a position.

    A position is ``<instant>#<id>``, ``<count>#<id>``, ``<name>``, or a text, a tab and an id. A
    position in a list by rank is a letter, the rank, ``#``, and ``<instant>#<id>``.
    """
    # All instants have the same length and end in "Z". No other position without a tab has "Z#" at
    # this place, because ids and names contain no "#".
    body, dated = b"", ""
    if "\t" in position:  # only a position with a text contains a tab, because ids cannot
        kind, body = CursorKind.TEXT, position.encode()
    elif position[INSTANT_LENGTH - 1 : INSTANT_LENGTH + 1] == "Z#":
        kind, dated = CursorKind.INSTANT, position
    elif "#" not in position:
        kind, body = CursorKind.NAME, position.encode()
    elif (form := _RANKS.get(position[0])) is None:  # a count begins with a digit
        kind, body = CursorKind.COUNT, position.encode()
    else:
        rank, _, dated = position[1:].partition("#")
        kind, body = form.kind, int(rank).to_bytes(form.size, "big")
    if dated:
        microseconds = (parse_instant(dated[:INSTANT_LENGTH]) - _EPOCH) // _MICROSECOND
        body += _INSTANT.pack(microseconds) + dated[INSTANT_LENGTH + 1 :].encode()
    raw = _HEAD.pack(kind, zlib.crc32(body)) + body
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@lru_cache(maxsize=1_000)
def decode_cursor(cursor: str, kind: CursorKind = CursorKind.INSTANT) -> str:
    """Return the position of a cursor of ``kind``.

    Raises InvalidCursorError if the cursor is damaged or has another kind.
    """
    try:
        position = _unpack(cursor, kind)
        genuine = encode_cursor(position) == cursor
    except (binascii.Error, struct.error, ValueError, OverflowError):
        genuine = False
    if not genuine:
        raise InvalidCursorError(NOT_OF_THIS_LIST)
    return position


def _unpack(cursor: str, kind: CursorKind) -> str:
    if len(cursor) > MAX_OPAQUE:
        raise ValueError("The cursor is longer than any cursor of this server.")
    raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    head = _HEAD.unpack_from(raw)
    body = raw[_HEAD.size :]
    if head != (kind, zlib.crc32(body)):
        raise ValueError("The cursor is damaged, or belongs to another list.")
    prefix = ""
    if kind in _LETTERS:
        size = _RANKS[_LETTERS[kind]].size
        prefix = rank_prefix(kind, int.from_bytes(body[:size], "big"))
        body = body[size:]
    if kind is CursorKind.INSTANT or prefix:
        instant = _EPOCH + timedelta(microseconds=_INSTANT.unpack_from(body)[0])
        start, part = f"{prefix}{format_instant(instant)}#", body[_INSTANT.size :].decode()
    else:
        before, sign, part = body.decode().rpartition("\t" if kind is CursorKind.TEXT else "#")
        start = before + sign
        if kind is CursorKind.COUNT:
            parse_count(before)
    if not can_be_escaped(part):
        raise ValueError("The id is not escaped as in a key.")
    return start + part
