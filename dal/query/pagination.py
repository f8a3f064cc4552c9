"""Pages: which slice of a list is asked for, how it is read, and what it shows.

A slice speaks in list order (after, before, next, previous), whichever way its list runs. A walk
speaks in reading order: it leaves from ``start``, stops before ``end``, and what lies ``ahead`` or
``behind`` is seen from there. Reading goes the list's own way for ``first`` and the opposite way
for ``last``.
"""

import asyncio
import binascii
import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, Generic, NamedTuple, TypeVar

from dal.deadline import time_left
from dal.entities.entity import Row
from dal.errors import DalError, InvalidArgumentError, InvalidCursorError
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
from dal.query.executor import Executor
from dal.query.plan import PlanBasis, Query
from dal.query.trace import ExecutionStatistics, Trace
from dal.table.items import Item
from dal.table.ranges import HEADS, Range

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD = struct.Struct(">BI")
_INSTANT = struct.Struct(">q")
_MICROSECOND = timedelta(microseconds=1)


class CursorKind(IntEnum):
    """What the positions of a list are; the value is the cursor's first byte."""

    INSTANT = 0x11
    COUNT = 0x12
    NAME = 0x13


def encode_cursor(position: str) -> str:
    """Return the cursor of a position: ``<instant>#<id>``, ``<count>#<id>`` or ``<name>``."""
    # An id holds no #, so only an instant ends right before one at this place.
    if position[INSTANT_LENGTH - 1 : INSTANT_LENGTH + 1] == "Z#":
        instant, identifier = position[:INSTANT_LENGTH], position[INSTANT_LENGTH + 1 :]
        microseconds = (parse_instant(instant) - _EPOCH) // _MICROSECOND
        return _packed(CursorKind.INSTANT, _INSTANT.pack(microseconds) + identifier.encode())
    return _packed(CursorKind.COUNT if "#" in position else CursorKind.NAME, position.encode())


def decode_cursor(cursor: str, kind: CursorKind = CursorKind.INSTANT) -> str:
    """Return the position of a cursor; InvalidCursorError unless it is a whole one of ``kind``."""
    try:
        position = _unpack(cursor, kind)
        genuine = encode_cursor(position) == cursor
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


Answer = TypeVar("Answer")


class SharedReads(Generic[Answer]):
    """The first to ask reads, within its own deadline and on its own account; others join.

    Where the first leaves or fails, and where a joiner's deadline is shorter, the others read for
    themselves.
    """

    def __init__(self) -> None:
        self._under_way: dict[Hashable, asyncio.Future[Answer | None]] = {}

    async def read(self, key: Hashable, read: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """Return what ``read`` answers, or answered to somebody who asked for the same ``key``."""
        first = self._under_way.get(key)
        if first is not None:
            await asyncio.wait([first], timeout=time_left())
            if first.done() and (shared := first.result()) is not None:
                return shared
        answer: Answer | None = None
        mine = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            answer = await read()
        finally:
            mine.set_result(answer)
            if self._under_way.get(key) is mine:
                del self._under_way[key]
        return answer

    def forget(self) -> None:
        """Let nobody join the reads under way."""
        self._under_way.clear()


@dataclass(frozen=True, slots=True)
class Slice:
    """Up to ``limit`` rows between two positions, both excluded, from one end or the other.

    ``next_page`` and ``previous_page`` say whether the page must know that rows follow or precede
    it, which costs a row or a Query more.
    """

    limit: int
    backward: bool = False
    after: str | None = None
    before: str | None = None
    next_page: bool = False
    previous_page: bool = False
    reverse: bool = False
    """Whether the list runs the other way than it does as a rule: the oldest first."""
    explain: bool = False
    """Whether to note what becomes of each row, and what else the optimizer weighed."""
    plan_by: PlanBasis | None = None
    """What to plan the page by; None is everything that is known."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A slice as it is read; ``descending`` is the direction through the keys."""

    limit: int
    start: str | None
    end: str | None
    ahead: bool
    behind: bool
    descending: bool

    @property
    def touches_start(self) -> bool:
        """Whether to read the start's own row too.

        If it is still there it proves that rows lie behind: one more row in the same Query instead
        of another Query.
        """
        return self.behind and self.start is not None

    @property
    def count(self) -> int:
        """How many rows to read: the page, and those that answer what lies around it."""
        return self.limit + self.ahead + self.touches_start

    @property
    def span(self) -> Range:
        """The keys between start and end."""
        return _span(
            self.start, self.end, descending=self.descending, start_open=not self.touches_start
        )

    @property
    def beyond(self) -> Range:
        """The keys from the end on, the end's own included."""
        return _span(self.end, None, descending=self.descending, start_open=False)

    @property
    def before_start(self) -> Range:
        """The keys that the walk has left behind, the start's own included."""
        return _span(self.start, None, descending=not self.descending, start_open=False)


def walk(cut: Slice, *, descending: bool) -> Walk:
    """Return how ``cut`` is read in a list that goes through its keys in the given direction."""
    if cut.backward:
        return Walk(
            cut.limit, cut.before, cut.after, cut.previous_page, cut.next_page, not descending
        )
    return Walk(cut.limit, cut.after, cut.before, cut.next_page, cut.previous_page, descending)


def _span(start: str | None, end: str | None, *, descending: bool, start_open: bool) -> Range:
    start_open, end_open = start_open and start is not None, end is not None
    if descending:
        return Range(low=end, high=start, low_open=end_open, high_open=start_open)
    return Range(low=start, high=end, low_open=start_open, high_open=end_open)


Node = TypeVar("Node")


class Edge(NamedTuple, Generic[Node]):
    """A row and where it stands."""

    node: Node
    position: str

    @property
    def cursor(self) -> str:
        """The position as the API shows it."""
        return encode_cursor(self.position)


class PageInfo(NamedTuple):
    """Whether rows lie around a page; a flag that the slice did not ask for is None."""

    has_next_page: bool | None
    has_previous_page: bool | None
    start: str | None
    end: str | None
    """The positions of the first row and of the last."""

    @property
    def start_cursor(self) -> str | None:
        """The start as the API shows it."""
        return None if self.start is None else encode_cursor(self.start)

    @property
    def end_cursor(self) -> str | None:
        """The end as the API shows it."""
        return None if self.end is None else encode_cursor(self.end)


@dataclass(frozen=True, slots=True)
class Page(Generic[Node]):
    """A slice of rows in list order, and what it cost to read."""

    edges: Sequence[Edge[Node]]
    page_info: PageInfo
    stats: ExecutionStatistics
    total_count: int | DalError | None = None
    """How many rows the whole list has, or why they could not be counted; None where that is not
    known, and unless somebody asked."""
    head: Item | None = None
    """The item at the list's beginning, if the query asked for it and the page begins there."""

    @property
    def nodes(self) -> list[Node]:
        """The rows without their cursors."""
        return [edge.node for edge in self.edges]


@dataclass(frozen=True, slots=True)
class PageReader(Generic[Node]):
    """Reads pages of one entity's rows; ``descending`` says how their list runs as a rule."""

    executor: Executor
    decode: Callable[[Row], Node]
    descending: bool

    async def read(self, query: Query, cut: Slice) -> Page[Node]:
        """Return the rows of ``query`` that ``cut`` selects; one failed Query fails the page."""
        way = walk(cut, descending=self.descending is not cut.reverse)
        stats = ExecutionStatistics(query.access_pattern)
        if cut.explain:
            stats.trace = Trace(descending=self.descending is not cut.reverse)
        headed = query.head and self._from_the_head(query, cut)
        plain = replace(query, head=False) if query.head else query
        rows = await self.executor.first(
            query if headed else plain,
            way.span,
            stats,
            descending=way.descending,
            count=way.count + headed,
            plan_by=cut.plan_by,
        )
        head = rows.pop(0).item if headed and rows and rows[0].position in HEADS else None
        behind = way.touches_start and bool(rows) and rows[0].position == way.start
        if behind:
            del rows[0]
        ahead = len(rows) > way.limit or await self._any_beyond(plain, way, stats)
        behind = behind or await self._any_before_start(plain, way, stats)
        shown = rows[: way.limit]
        if cut.backward:
            shown.reverse()
        if stats.trace is not None:
            stats.trace.shown = [row.position for row in shown]
        follows, precedes = (behind, ahead) if cut.backward else (ahead, behind)
        info = PageInfo(
            has_next_page=follows if cut.next_page else None,
            has_previous_page=precedes if cut.previous_page else None,
            start=shown[0].position if shown else None,
            end=shown[-1].position if shown else None,
        )
        edges = [Edge(self.decode(row), row.position) for row in shown]
        return Page(edges, info, stats, head=head)

    def _from_the_head(self, query: Query, cut: Slice) -> bool:
        """Return whether the page begins where the list's head stands."""
        bound = query.within.high if self.descending else query.within.low
        return bound is None and cut.after is None and not (cut.backward or cut.reverse)

    async def _any_beyond(self, query: Query, way: Walk, stats: ExecutionStatistics) -> bool:
        if not way.ahead or way.end is None:
            return False
        return await self.executor.any(query, way.beyond, stats, descending=way.descending)

    async def _any_before_start(self, query: Query, way: Walk, stats: ExecutionStatistics) -> bool:
        if not way.touches_start:
            return False
        return await self.executor.any(
            query, way.before_start, stats, descending=not way.descending
        )
