"""Pages: reads a slice (a part of a list), and returns its rows as edges.

The names of a slice's fields (``after``, ``before``, ``next_page``, ``previous_page``) refer to the
order of the list, as in the API. The rows are read in the order of the list for the API's argument
``first``, and in reverse order for ``last``.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from dal.query.cursors import encode_cursor
from dal.query.plan import PlanBasis, Query
from dal.query.statistics import ExecutionStatistics, PageInstruments, Purpose
from dal.table.entity import Row
from dal.table.errors import DalError
from dal.table.items import Item
from dal.table.ranges import HEADS, UNBOUNDED, Range


@dataclass(frozen=True, slots=True)
class Slice:
    """The first ``limit`` rows between two positions, or with ``backward`` the last ``limit`` rows.

    ``after`` and ``before`` are the two positions. Their own rows are excluded. None means the
    start or the end of the list. ``next_page`` and ``previous_page`` request the pagination flags.
    Each flag may cost one more row or one more Query. ``total`` requests the length of the list, if
    the page contains the whole list. Between ``after`` or ``before`` this costs nothing; otherwise
    the page's Queries read at most one more row.
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
    instruments: Callable[[], PageInstruments] | None = None
    """Creates the object that observes how the page is read. None if the read is not observed."""
    plan_by: PlanBasis | None = None
    """The statistics that the optimizer may use; None for all."""
    total: bool = False


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
    is unknown or was not requested. A page knows the number only if it contains the whole list."""
    since: Hashable = None
    """The position of the latest change in a log of changes, just before the rows were read. None
    if it was not requested."""
    head: Item | None = None
    """The item that precedes the list's first row, for example the organisation of a list of users.
    None if the query does not request this item, or the page is not the first page of the list."""

    @property
    def nodes(self) -> list[Node]:
        """The rows without cursors."""
        return [edge.node for edge in self.edges]


async def all_rows(
    read: Callable[[Slice], Awaitable[Page[Node]]], at_once: int
) -> AsyncIterator[Node]:
    """Yield all rows of a list. ``read`` returns its pages, each with ``at_once`` rows."""
    after = None
    while True:
        page = await read(Slice(at_once, after=after, next_page=True))
        for one in page.nodes:
            yield one
        if not page.page_info.has_next_page:
            return
        after = page.edges[-1].position


class RowReader(Protocol):
    """Reads the rows of a query in order. ``Executor`` has this method."""

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
        instruments = None if cut.instruments is None else cut.instruments()
        stats = ExecutionStatistics(query.access_pattern, instruments=instruments)
        # The page is read from ``start`` towards ``end``. ``ahead`` requests the flag that shows
        # whether rows follow the page in this direction. ``behind`` requests the flag that shows
        # whether rows precede the page. With ``backward``, the list is read in reverse, from
        # ``before`` towards ``after``.
        start, end, ahead, behind = cut.after, cut.before, cut.next_page, cut.previous_page
        descending = listed_descending is not cut.backward
        if cut.backward:
            start, end, ahead, behind = end, start, behind, ahead
        # A page without ends that no row follows is the whole list.
        whole = cut.total and start is None and end is None
        ahead = ahead or whole
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
        total = len(shown) if whole and not followed else None
        if cut.backward:
            shown.reverse()
            followed, preceded = preceded, followed
        if instruments is not None:
            positions = [row.position for row in shown]
            instruments.shown(positions, descending=listed_descending)
        info = PageInfo(
            has_next_page=followed if cut.next_page else None,
            has_previous_page=preceded if cut.previous_page else None,
            start=shown[0].position if shown else None,
            end=shown[-1].position if shown else None,
        )
        # ``Edge`` itself takes twice the time of the tuple's function.
        edges = [tuple.__new__(Edge, (self.decode(row), row.position)) for row in shown]
        return Page(edges, info, stats, total, head=head)
