"""Changes of comments, the events that subscriptions receive, and event cursors.

A broker sends a change to other processes as one JSON object: ``{"product": …, "position": …,
"was": [version, {filter: value}] or null, "became": the same or null}``. The comment itself is sent
separately, so that it can be removed: see ``redis_stream``. An object with only ``product`` means
that the outcome of a write to this product's comments is unknown.
"""

import binascii
import secrets
import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import orjson

from dal.entities.comment import COMMENT, comment_in, comment_position
from dal.model import Comment
from dal.model.comment_fields import FILTERS
from dal.model.languages import LANGUAGE_FIELDS, ranges_of
from dal.query.cursors import MAX_OPAQUE, encode_cursor
from dal.query.errors import InvalidCursorError
from dal.query.pagination import Edge
from dal.query.plan import Filters
from dal.repositories.comments import Selection
from dal.table.key_parts import format_instant, unescape

UNREADABLE = (ArithmeticError, AttributeError, KeyError, TypeError, ValueError)
"""The errors that ``decode`` can raise for an unreadable line, for example from another version of
the server."""

_OVERHEAD = 1_000
"""Approximate bytes of a change in memory, without its texts."""

_CURSOR = struct.Struct(">BQQ")
_CHECKSUM = struct.Struct(">I")
_CURSOR_KIND = 0x21


class Listed(NamedTuple):
    """The version of a comment, and its value of each filter in ``FILTERS``."""

    version: str
    values: Mapping[str, str]

    @classmethod
    def of(cls, comment: Comment) -> "Listed":
        """Return the version and the filter values of a comment."""
        return cls(version(comment), {name: one.value_of(comment) for name, one in FILTERS.items()})

    @classmethod
    def read(cls, stated: Any) -> "Listed | None":
        """Return the values in a line; None for null. Raise one of the errors in ``UNREADABLE``.

        Another version of the server may send other values, or may not know all filters.
        """
        if stated is None:
            return None
        version, values = stated
        return cls(version, {name: values[name] for name in FILTERS})

    def matches(self, filters: Filters) -> bool:
        """Return whether the filters of a list allow these values."""
        ranges = ranges_of(self.values["language"])
        return all(
            not allowed.isdisjoint(ranges if name in LANGUAGE_FIELDS else (self.values[name],))
            for name, allowed in filters.items()
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A comment before and after a write.

    ``was`` is None for a new comment, and ``now`` is None for a deleted comment. ``position`` is
    the comment's position in the lists of its product: ``<createdAt>#<id>``.

    If a later change has replaced or deleted the comment, nobody may read the older text. ``now``
    is then None too, and ``replaced`` has the state that this change produced.
    """

    product_id: str
    position: str
    was: Listed | None
    now: Comment | None
    replaced: Listed | None = None
    late: bool = False
    """True if clients must reload, because a later change of the same comment may be lost, or the
    log has not received it yet. ``now`` may then be out of date. A change can be lost if a new
    epoch (see ``EventPosition``) begins between its write and its publication."""

    @property
    def became(self) -> Listed | None:
        """The state after the write; None if the write deleted the comment."""
        return self.replaced if self.now is None else Listed.of(self.now)

    @property
    def became_version(self) -> str | None:
        """The version after the write; None if the write deleted the comment."""
        if self.now is not None:
            return version(self.now)
        return None if self.replaced is None else self.replaced.version

    def without_text(self) -> "Change":
        """Return the change without the comment, because a later change has replaced it."""
        return replace(self, now=None, replaced=self.became)

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        if self.now is None:
            return _OVERHEAD
        reply = self.now.reply.text if self.now.reply else ""
        photos = sum(len(one.url) + 4 * len(one.alt) for one in self.now.photos)
        return _OVERHEAD + photos + 4 * (len(self.now.text) + len(self.now.title) + len(reply))

    @property
    def comment_id(self) -> str:
        """The id of the comment."""
        return unescape(self.position.partition("#")[2])


@dataclass(frozen=True, slots=True)
class UncertainWrite:
    """A write to a product's comments with an unknown outcome, for example a lost response."""

    product_id: str
    size = _OVERHEAD


LogEntry: TypeAlias = Change | UncertainWrite


class CommentEventKind(Enum):
    """What an event reports about the list of a subscription.

    READY means that the subscription has begun. RELOAD means that the client must reload the list.
    """

    READY = "READY"
    ADDED = "ADDED"
    CHANGED = "CHANGED"
    DELETED = "DELETED"
    RELOAD = "RELOAD"


class EventPosition(NamedTuple):
    """The position of an event: its epoch, and its number within this epoch.

    Within an epoch, no change is missing between two numbers. If a change may be missing, a new
    epoch begins.
    """

    epoch: int
    number: int

    def is_up_to(self, other: "EventPosition") -> bool:
        """Return whether this position is equal to or before ``other``, in the same epoch."""
        return self.epoch == other.epoch and self.number <= other.number

    @property
    def cursor(self) -> str:
        """The position as an opaque cursor: base64url of kind, epoch, number and a CRC-32."""
        body = _CURSOR.pack(_CURSOR_KIND, self.epoch, self.number)
        return urlsafe_b64encode(body + _CHECKSUM.pack(zlib.crc32(body))).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class CommentEvent:
    """One event of a subscription. READY and RELOAD events have no change."""

    kind: CommentEventKind
    position: EventPosition
    change: Change | None = None

    @property
    def cursor(self) -> str:
        """The cursor with which a subscription continues after this event."""
        return self.position.cursor

    @property
    def comment_edge(self) -> Edge[Comment] | None:
        """The comment with its position in the list.

        None for DELETED events, and for READY and RELOAD events.
        """
        if self.kind is CommentEventKind.DELETED or self.change is None or self.change.now is None:
            return None
        return Edge(self.change.now, self.change.position)

    @property
    def edge_cursor(self) -> str | None:
        """The cursor of the comment's row in the list. None for READY and RELOAD events.

        The cursor stays valid after the comment is deleted.
        """
        return None if self.change is None else encode_cursor(self.change.position)

    @property
    def lacks_text(self) -> bool:
        """Whether the client needs the comment, but only a later change has it."""
        gone = self.change is None or self.kind is CommentEventKind.DELETED
        return not gone and self.comment_edge is None

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        return 0 if self.change is None else self.change.size


_KINDS = {
    (False, True): CommentEventKind.ADDED,
    (True, True): CommentEventKind.CHANGED,
    (True, False): CommentEventKind.DELETED,
}
"""The kind of an event, by two values: whether the filter matched the comment before the change,
and whether the filter matches it afterwards."""


def change_of(old: Comment | None, new: Comment | None) -> Change:
    """Return the change that a write made.

    ``old`` is None for a new comment, and ``new`` is None for a deleted comment.
    """
    comment = new or old
    assert comment is not None  # noqa: S101 - only one of the two may be None
    was = None if old is None else Listed.of(old)
    return Change(comment.product_id, comment_position(comment), was, new)


def version(comment: Comment) -> str:
    """Return the version of a comment for the log: the time of its last change, as text."""
    replied_at = comment.reply.created_at if comment.reply else None
    instants = (comment.created_at, comment.updated_at, comment.touched_at, replied_at)
    return format_instant(max(filter(None, instants)))


def encode(entry: LogEntry) -> tuple[bytes, bytes]:
    """Return an entry as one line of JSON, and its comment as JSON. The line has no text of it."""
    if isinstance(entry, UncertainWrite):
        return orjson.dumps({"product": entry.product_id}), b""
    states = (None if one is None else list(one) for one in (entry.was, entry.became))
    fields = entry.product_id, entry.position, *states
    line = orjson.dumps(dict(zip(("product", "position", "was", "became"), fields, strict=True)))
    return line, b"" if entry.now is None else orjson.dumps(COMMENT.encode(entry.now))


def decode(line: bytes, comment: bytes | None = None) -> LogEntry:
    """Return the log entry in a line. For other text, raise one of the errors in ``UNREADABLE``.

    Without ``comment``, the entry has the state after the write, but not the comment.
    """
    fields = orjson.loads(line)
    if "position" not in fields:
        return UncertainWrite(fields["product"])
    was, became = map(Listed.read, (fields["was"], fields["became"]))
    change = Change(fields["product"], fields["position"], was, None, became)
    if not comment:
        return change
    now = comment_in(orjson.loads(comment))
    if now is None:
        raise ValueError("This item is not a comment.")
    return replace(change, now=now, replaced=None)


def text_name(change: Change) -> str | None:
    """Return the name under which a broker keeps the comment of a change; None after a deletion."""
    if change.became_version is None:
        return None
    return f"{change.product_id}\n{change.position}\n{change.became_version}"


def event_for(
    selection: Selection, position: EventPosition, entry: LogEntry
) -> CommentEvent | None:
    """Return the event that a log entry causes for the list that ``selection`` defines.

    An edit can change whether a comment matches the filters of the list. If the comment matches
    only after the edit, the event is ADDED. If it matches only before the edit, the event is
    DELETED. An uncertain write or a late change causes RELOAD. Return None if the list contains the
    comment neither before nor after the change.
    """
    if isinstance(entry, UncertainWrite) or entry.late:
        return CommentEvent(CommentEventKind.RELOAD, position)
    before, after, filters = entry.was, entry.became, selection.filters()
    was = before is not None and before.matches(filters)
    now = after is not None and after.matches(filters)
    if not was and not now:
        return None
    return CommentEvent(_KINDS[was, now], position, entry)


def new_epoch() -> int:
    """Return a random epoch of 64 bits."""
    return secrets.randbits(64)


def event_position_of(cursor: str) -> EventPosition:
    """Return the position in an event's cursor. Raise InvalidCursorError for any other text."""
    try:
        # A text longer than MAX_OPAQUE is not a cursor, so it is not decoded completely.
        text = cursor[: MAX_OPAQUE + 1].encode("ascii")
        raw = urlsafe_b64decode(text + b"=" * (-len(text) % 4))
        kind, epoch, number = _CURSOR.unpack_from(raw)
        position = EventPosition(epoch, number)
        genuine = kind == _CURSOR_KIND and position.cursor == cursor
    except (binascii.Error, struct.error, ValueError):
        genuine = False
    if not genuine:
        raise InvalidCursorError(
            "after: this is not the cursor of an event. Pass a page's `eventCursor` or the last "
            "event's `cursor` unchanged, or leave `after` out to start with the next change."
        )
    return position
