"""Pages and cursors: reads a slice (a part of a list), and returns its rows as edges.

The names of a slice's fields (``after``, ``before``, ``next_page``, ``previous_page``) refer to the
order of the list, as in the API. The rows are read in the order of the list for the API's argument
``first``, and in reverse order for ``last``.

A cursor is an opaque string that encodes one position. It does not depend on the filter or on the
page's plan. It consists of one byte for version and kind, a CRC-32 of four bytes, and the position,
as base64url without padding. In a cursor, the instant of a position has eight bytes. For example,
the cursor of an instant and an id of 46 bytes has 79 characters. A cursor contains no partition
key. The server builds partition keys from the arguments only, so a forged cursor gives no access to
other rows.
"""

import binascii
import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from dal.model import rules
from dal.model.titles import TITLE_LENGTH, fold_title
from dal.query.errors import InvalidCursorError
from dal.query.plan import Order, PlanBasis, Query
from dal.query.trace import ExecutionStatistics, Purpose, Trace
from dal.table.entity import Row
from dal.table.errors import DalError, InvalidArgumentError
from dal.table.items import Item
from dal.table.key_parts import (
    COUNT_LENGTH,
    INSTANT_LENGTH,
    escape,
    format_instant,
    parse_count,
    parse_instant,
    unescape,
)
from dal.table.ranges import HEADS, UNBOUNDED, Range

MAX_OPAQUE = 1_400
"""Maximum characters of a global id or a cursor: enough for the base64 of a type name and two
identifiers."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD = struct.Struct(">BI")
_INSTANT = struct.Struct(">q")
_MICROSECOND = timedelta(microseconds=1)


class CursorKind(IntEnum):
    """The form of a list's positions. The value is the first byte of the list's cursors."""

    INSTANT = 0x11
    COUNT = 0x12
    NAME = 0x13
    TITLE = 0x14
    HIGHEST_RATING = 0x15
    LOWEST_RATING = 0x16
    MOST_HELPFUL = 0x17


class _Rank(NamedTuple):
    """The form of the prefix of positions in a list with an ``Order``, for example ``h5#``.

    The prefix is ``letter``, the comment's rank in ``digits`` decimal digits, and ``#``. The rank
    is, for example, the comment's rating or the number of its helpful votes.
    """

    letter: str
    digits: int
    size: int
    """The number of bytes of the rank in a cursor."""


_RANKS = {
    Order.HIGHEST_RATING: _Rank("h", 1, 1),
    Order.LOWEST_RATING: _Rank("l", 1, 1),
    Order.MOST_HELPFUL: _Rank("v", COUNT_LENGTH, 5),
}
_ORDERS = {rank.letter: order for order, rank in _RANKS.items()}


def rank_prefix(order: Order, rank: int) -> str:
    """Return the prefix of positions in a list with an order, for example ``h5#``."""
    letter, digits, _ = _RANKS[order]
    return f"{letter}{rank:0{digits}}#"


def encode_cursor(position: str) -> str:
    """Return the cursor of a position.

    A position is ``<instant>#<id>``, ``<count>#<id>``, ``<name>``, or a title, a tab and an id.
    A position in a list with an ``Order`` is a letter, the rank, ``#``, and ``<instant>#<id>``.
    """
    if "\t" in position:  # only a title's position contains a tab, because ids and names cannot
        return _packed(CursorKind.TITLE, position.encode())
    # All instants have the same length and end in "Z". No other position has "Z#" at this place,
    # because ids and names contain no "#".
    if position[INSTANT_LENGTH - 1 : INSTANT_LENGTH + 1] == "Z#":
        return _packed(CursorKind.INSTANT, _dated(position))
    if "#" not in position:
        return _packed(CursorKind.NAME, position.encode())
    order = _ORDERS.get(position[0])
    if order is None:  # a count begins with a digit
        return _packed(CursorKind.COUNT, position.encode())
    rank, _, dated = position[1:].partition("#")
    body = int(rank).to_bytes(_RANKS[order].size, "big") + _dated(dated)
    return _packed(CursorKind[order.name], body)


def decode_cursor(cursor: str, kind: CursorKind = CursorKind.INSTANT) -> str:
    """Return the position of a cursor of ``kind``.

    Raises InvalidCursorError if the cursor is damaged or has another kind.
    """
    try:
        position = _unpack(cursor, kind)
        genuine = encode_cursor(position) == cursor
    except (binascii.Error, struct.error, ValueError, OverflowError, InvalidArgumentError):
        genuine = False
    if not genuine:
        raise InvalidCursorError(
            "The cursor does not belong to this list: pass an edge's cursor back unchanged, "
            "or pass no cursor to start at the beginning."
        )
    return position


def _dated(position: str) -> bytes:
    instant, identifier = position[:INSTANT_LENGTH], position[INSTANT_LENGTH + 1 :]
    microseconds = (parse_instant(instant) - _EPOCH) // _MICROSECOND
    return _INSTANT.pack(microseconds) + identifier.encode()


def _packed(kind: CursorKind, body: bytes) -> str:
    raw = _HEAD.pack(kind, zlib.crc32(body)) + body
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _unpack(cursor: str, kind: CursorKind) -> str:
    if len(cursor) > MAX_OPAQUE:
        raise ValueError("The cursor is longer than any cursor of this server.")
    raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    head = _HEAD.unpack_from(raw)
    body = raw[_HEAD.size :]
    if head != (kind, zlib.crc32(body)):
        raise ValueError("The cursor is damaged, or belongs to another list.")
    prefix = ""
    if kind.name in Order.__members__:
        order = Order[kind.name]
        size = _RANKS[order].size
        prefix = rank_prefix(order, int.from_bytes(body[:size], "big"))
        body = body[size:]
    if kind is CursorKind.INSTANT or prefix:
        instant = _EPOCH + timedelta(microseconds=_INSTANT.unpack_from(body)[0])
        start, part = f"{prefix}{format_instant(instant)}#", body[_INSTANT.size :].decode()
    else:
        before, sign, part = body.decode().rpartition("\t" if kind is CursorKind.TITLE else "#")
        start = before + sign
        if kind is CursorKind.COUNT:
            parse_count(before)
        elif kind is CursorKind.TITLE and (
            len(before) > TITLE_LENGTH or fold_title(before) != before
        ):
            raise ValueError("The title is not folded as in a key.")
    if escape(rules.key_part("cursor", unescape(part))) != part:
        raise ValueError("The id is not escaped as in a key.")
    return start + part


@dataclass(frozen=True, slots=True)
class Slice:
    """The first ``limit`` rows between two positions, or with ``backward`` the last ``limit`` rows.

    ``after`` and ``before`` are the two positions. Their own rows are excluded. None means the
    start or the end of the list. ``next_page`` and ``previous_page`` request the pagination flags.
    Each flag may cost one more row or one more Query.
    """

    limit: int
    backward: bool = False
    after: str | None = None
    before: str | None = None
    next_page: bool = False
    previous_page: bool = False
    reverse: bool = False
    """Whether to reverse the usual order of the list, for example to read the oldest comment
    first."""
    explain: bool = False
    """Whether to record a trace, with every row read and the optimizer's alternatives."""
    plan_by: PlanBasis | None = None
    """The statistics that the optimizer may use; None for all."""


Node = TypeVar("Node")


class Edge(NamedTuple, Generic[Node]):
    """A row and its position."""

    node: Node
    position: str

    @property
    def cursor(self) -> str:
        """The cursor of the position."""
        return encode_cursor(self.position)


class PageInfo(NamedTuple):
    """The pagination flags, and the positions of the first and last row.

    A flag is None if it was not requested. The positions are None if the page is empty.
    """

    has_next_page: bool | None
    has_previous_page: bool | None
    start: str | None
    end: str | None

    @property
    def start_cursor(self) -> str | None:
        """The cursor of the first row; None if the page is empty."""
        return None if self.start is None else encode_cursor(self.start)

    @property
    def end_cursor(self) -> str | None:
        """The cursor of the last row; None if the page is empty."""
        return None if self.end is None else encode_cursor(self.end)


@dataclass(frozen=True, slots=True)
class Page(Generic[Node]):
    """The rows of a slice, in the order of the list, and the cost of reading them."""

    edges: Sequence[Edge[Node]]
    page_info: PageInfo
    stats: ExecutionStatistics
    total_count: int | DalError | None = None
    """The number of rows of the whole list. If counting them failed, the error. None if the number
    is unknown or was not requested."""
    event_cursor: str | None = None
    """The end of the log of changes just before the rows were read, as a cursor. A subscription
    that begins after this cursor receives all later changes. None if it was not requested."""
    head: Item | None = None
    """The item that precedes the list's first row, for example the organisation of a list of users.
    None if the query does not request this item, or the page is not the first page of the list."""

    @property
    def nodes(self) -> list[Node]:
        """The rows without cursors."""
        return [edge.node for edge in self.edges]


class RowReader(Protocol):
    """Reads the rows of a query in order. ``Executor`` and ``StageReader`` have these methods."""

    async def first(
        self,
        query: Query,
        span: Range,
        stats: ExecutionStatistics,
        *,
        descending: bool,
        count: int,
        plan_by: PlanBasis | None = None,
    ) -> list[Row]:
        """Return at most the first ``count`` rows of ``query`` within ``span``."""


@dataclass(frozen=True, slots=True)
class PageReader(Generic[Node]):
    """Reads pages of one entity's rows.

    ``descending`` states whether the usual order of the list is from the highest position to the
    lowest.
    """

    executor: RowReader
    decode: Callable[[Row], Node]
    descending: bool

    async def read(self, query: Query, cut: Slice) -> Page[Node]:
        """Return the page of ``query`` that ``cut`` selects.

        If one Query to DynamoDB fails, the page fails.
        """
        listed_descending = self.descending is not cut.reverse
        stats = ExecutionStatistics(query.access_pattern)
        if cut.explain:
            stats.trace = Trace(descending=listed_descending)
        # The page is read from ``start`` towards ``end``. ``ahead`` requests the flag that shows
        # whether rows follow the page in this direction. ``behind`` requests the flag that shows
        # whether rows precede the page. With ``backward``, the list is read in reverse, from
        # ``before`` towards ``after``.
        start, end, ahead, behind = cut.after, cut.before, cut.next_page, cut.previous_page
        descending = listed_descending is not cut.backward
        if cut.backward:
            start, end, ahead, behind = end, start, behind, ahead
        # If the row at ``start`` still exists, it precedes the page, and the flag that ``behind``
        # requests is true. So the page's Queries read this row too, which saves another Query for
        # the flag.
        proving = behind and start is not None
        span = UNBOUNDED if end is None else UNBOUNDED.beyond(end, descending=not descending)
        if start is not None and proving:
            span = span.until(start, descending=not descending)
        elif start is not None:
            span = span.beyond(start, descending=descending)
        # The head item precedes the list's rows, so only a page at the start of the list reads it.
        bound = query.within.high if self.descending else query.within.low
        starts = bound is None and cut.after is None and not (cut.backward or cut.reverse)
        headed = query.head and starts
        plain = replace(query, head=False) if query.head else query
        rows = await self.executor.first(
            query if headed else plain,
            span,
            stats,
            descending=descending,
            count=cut.limit + ahead + proving + headed,
            plan_by=cut.plan_by,
        )
        head = rows.pop(0).item if headed and rows and rows[0].position in HEADS else None
        preceded = proving and bool(rows) and rows[0].position == start
        if preceded:
            del rows[0]
        followed = len(rows) > cut.limit
        flag = partial(self.executor.first, plain, stats=stats, count=1, plan_by=cut.plan_by)
        stats.purpose = Purpose.FLAGS
        if ahead and not followed and end is not None:
            rest = UNBOUNDED.until(end, descending=not descending)
            followed = bool(await flag(rest, descending=descending))
        if start is not None and proving and not preceded:
            rest = UNBOUNDED.until(start, descending=descending)
            preceded = bool(await flag(rest, descending=not descending))
        shown = rows[: cut.limit]
        if cut.backward:
            shown.reverse()
            followed, preceded = preceded, followed
        if stats.trace is not None:
            stats.trace.shown = [row.position for row in shown]
        info = PageInfo(
            has_next_page=followed if cut.next_page else None,
            has_previous_page=preceded if cut.previous_page else None,
            start=shown[0].position if shown else None,
            end=shown[-1].position if shown else None,
        )
        edges = [Edge(self.decode(row), row.position) for row in shown]
        return Page(edges, info, stats, head=head)
