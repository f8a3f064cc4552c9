"""Pages: one exact slice of a query's rows, read from DynamoDB."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from dal.cursors import encode
from dal.items import Item
from dal.plans import Query
from dal.positions import HEADS
from dal.reading import Reading
from dal.rows import RowReader
from dal.slices import Slice, Walk, walk

Node = TypeVar("Node")


@dataclass(frozen=True, slots=True)
class Edge(Generic[Node]):
    """A row and where it stands."""

    node: Node
    position: str

    @property
    def cursor(self) -> str:
        """The position as the API shows it."""
        return encode(self.position)


@dataclass(frozen=True, slots=True)
class PageInfo:
    """What lies around a page; a flag that the slice did not ask for is None."""

    has_next_page: bool | None
    has_previous_page: bool | None
    start_cursor: str | None
    end_cursor: str | None


@dataclass(frozen=True, slots=True)
class Page(Generic[Node]):
    """A slice of rows in list order, and what it cost to read."""

    edges: Sequence[Edge[Node]]
    page_info: PageInfo
    reading: Reading
    total_count: int | None = None
    """How many rows the whole list has; None unless somebody counted."""
    head: Item | None = None
    """The item at the list's beginning, if the query asked for it and the page begins there."""

    @property
    def nodes(self) -> list[Node]:
        """The rows without their cursors."""
        return [edge.node for edge in self.edges]


@dataclass(frozen=True, slots=True)
class PageReader(Generic[Node]):
    """Reads pages of one kind of row, in the list order that ``descending`` says."""

    rows: RowReader
    decode: Callable[[Item], Node]
    descending: bool

    async def read(self, query: Query, cut: Slice) -> Page[Node]:
        """Return the rows of ``query`` that ``cut`` selects; one failed Query fails the page."""
        way = walk(cut, descending=self.descending)
        reading = Reading(query.access_pattern)
        plain = replace(query, head=False) if query.head else query
        headed = query.head and way.start is None and not cut.backward
        rows = await self.rows.first(
            query if headed else plain,
            way.span,
            reading,
            descending=way.descending,
            count=way.count + headed,
        )
        head = rows.pop(0)[1] if headed and rows and rows[0][0] in HEADS else None
        behind = way.touches_start and bool(rows) and rows[0][0] == way.start
        if behind:
            rows = rows[1:]
        shown = rows[: way.limit]
        ahead = len(rows) > way.limit or await self._any_beyond(plain, way, reading)
        behind = behind or await self._any_before_start(plain, way, reading)
        page = self._page(shown, cut, reading, ahead=ahead, behind=behind)
        return replace(page, head=head) if head else page

    async def _any_beyond(self, query: Query, way: Walk, reading: Reading) -> bool:
        if not way.ahead or way.end is None:
            return False
        return await self.rows.any(query, way.beyond, reading, descending=way.descending)

    async def _any_before_start(self, query: Query, way: Walk, reading: Reading) -> bool:
        if not way.touches_start:
            return False
        return await self.rows.any(query, way.before_start, reading, descending=not way.descending)

    def _page(
        self,
        rows: Sequence[tuple[str, Item]],
        cut: Slice,
        reading: Reading,
        *,
        ahead: bool,
        behind: bool,
    ) -> Page[Node]:
        in_order = reversed(rows) if cut.backward else rows
        edges = [Edge(self.decode(row), position) for position, row in in_order]
        follows, precedes = (behind, ahead) if cut.backward else (ahead, behind)
        info = PageInfo(
            has_next_page=follows if cut.next_page else None,
            has_previous_page=precedes if cut.previous_page else None,
            start_cursor=edges[0].cursor if edges else None,
            end_cursor=edges[-1].cursor if edges else None,
        )
        return Page(edges, info, reading)
