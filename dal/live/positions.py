"""Where an event stands among all, and the cursor that says so.

A cursor is opaque: base64url of a byte of kind, the epoch and the number, eight bytes each, and a
CRC-32. An epoch is one unbroken sequence of numbers; a new one begins where changes may be missing.
"""

import binascii
import secrets
import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from dal.errors import InvalidCursorError
from dal.limits import MAX_OPAQUE

_BODY = struct.Struct(">BQQ")
_SUM = struct.Struct(">I")
_KIND = 0x21


class EventPosition(NamedTuple):
    """The number of an event in its epoch; the events of an epoch are numbered upwards."""

    epoch: int
    number: int

    def is_up_to(self, other: "EventPosition") -> bool:
        """Return whether it is, or comes before, another position of its epoch."""
        return self.epoch == other.epoch and self.number <= other.number

    @property
    def cursor(self) -> str:
        """The position as the API shows it."""
        body = _BODY.pack(_KIND, self.epoch, self.number)
        return urlsafe_b64encode(body + _SUM.pack(zlib.crc32(body))).rstrip(b"=").decode()


def new_epoch() -> int:
    """Return an epoch that nobody has had."""
    return secrets.randbits(64)


def position_of(cursor: str) -> EventPosition:
    """Return the position of an event's cursor; InvalidCursorError for anything else."""
    try:
        text = cursor[: MAX_OPAQUE + 1].encode("ascii")  # cut, it is not genuine
        raw = urlsafe_b64decode(text + b"=" * (-len(text) % 4))
        kind, epoch, number = _BODY.unpack_from(raw)
        found = EventPosition(epoch, number)
        genuine = kind == _KIND and found.cursor == cursor
    except (binascii.Error, struct.error, ValueError):
        genuine = False
    if not genuine:
        raise InvalidCursorError(
            "after: this is no event's cursor: pass the last event's back unchanged, or leave it "
            "out to hear what comes."
        )
    return found
