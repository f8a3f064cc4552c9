"""Execution statistics: the cost of a page. Instruments observe how the page is read."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from dal.query.optimizer import PageSpan, TableStatistics
from dal.query.plan import AccessPath, Plan, Segment
from dal.table.entity import Row
from dal.table.index import Index, QueryResponse
from dal.table.ranges import Range


class Purpose(StrEnum):
    """Why a plan was made: for a page, for the rest of a page, or for the pagination flags."""

    PAGE = "PAGE"
    REST = "REST"
    FLAGS = "FLAGS"


@dataclass(slots=True)
class SegmentStatistics:
    """What the page read from one segment. ``limit`` is the limit of the segment's first Query."""

    partition_key: str
    sort_keys: Range
    limit: int
    skipped: bool
    items_read: int = 0
    requests: int = 0

    @property
    def range(self) -> str:
        """The range of sort keys, as text."""
        return str(self.sort_keys)

    @property
    def refills(self) -> int:
        """The number of Queries after the first."""
        return max(0, self.requests - 1)


class PageInstruments(Protocol):
    """Observes how one page is read."""

    def planned(
        self,
        indexes: Sequence[Index],
        paths: Sequence[AccessPath],
        page: PageSpan,
        statistics: TableStatistics | None,
        plan: Plan,
    ) -> None:
        """Receive a plan, and what the optimizer knew: ``paths`` are the usable ``indexes``."""

    def begun(self, purpose: Purpose, plan: Plan) -> None:
        """Receive a plan that the executor begins to read.

        The segments of all these plans are numbered consecutively.
        """

    def read(self, segment: int, rows: Sequence[Row], response: QueryResponse) -> None:
        """Receive the rows of a Query, and the number of its segment."""

    def stage(self, place: Callable[[Row], Row]) -> "PageInstruments":
        """Return the instruments of a stage of the page.

        ``place`` returns a row of the stage with its position in the whole list.
        """

    def shown(self, positions: Sequence[str], *, descending: bool) -> None:
        """Receive the positions of the page's rows, in the order of the list, after all reads.

        ``descending`` is whether the list is in descending order of positions.
        """


@dataclass(slots=True)
class ExecutionStatistics:
    """The cost of one page: the numbers of requests and rows, and the capacity in RCU.

    The capacity is ``nan`` if the endpoint does not report it.
    """

    access_pattern: str
    index: str = ""
    segments: list[SegmentStatistics] = field(default_factory=list)
    requests: int = 0
    items_read: int = 0
    consumed_capacity: float = 0.0
    estimated_capacity: float | None = None
    """The optimizer's estimate, in RCU; None without statistics."""
    residual: list[str] = field(default_factory=list)
    """The fields of the residual filter."""
    planning_requests: int = 0
    planning_capacity: float = 0.0
    """The RCU of reading inexact statistics. The process then caches the statistics for some
    seconds."""
    instruments: PageInstruments | None = None
    """Observes how the page is read; None if the read is not observed."""
    purpose: Purpose = Purpose.PAGE
    """Why the next plan is made: for the page, or for its flags."""

    def begin(self, purpose: Purpose, plan: Plan) -> None:
        """Note that the executor begins to read by a plan. Add a page's first plan."""
        if purpose is Purpose.PAGE:
            self.index = plan.index.name or "table"
            self.residual = sorted(plan.residual)
            self.estimated_capacity = plan.capacity
        if self.instruments is not None:
            self.instruments.begun(purpose, plan)

    def add(self, stage: "ExecutionStatistics") -> None:
        """Add the cost of a stage."""
        self.estimated_capacity = (
            stage.estimated_capacity
            if not self.segments or None in {self.estimated_capacity, stage.estimated_capacity}
            else (self.estimated_capacity or 0.0) + (stage.estimated_capacity or 0.0)
        )
        self.index = self.index or stage.index
        self.segments += stage.segments
        self.requests += stage.requests
        self.items_read += stage.items_read
        self.consumed_capacity += stage.consumed_capacity
        self.residual = sorted({*self.residual, *stage.residual})
        self.planning_requests += stage.planning_requests
        self.planning_capacity += stage.planning_capacity

    def count(
        self,
        segment: SegmentStatistics,
        response: QueryResponse,
        rows: Sequence[Row],
    ) -> None:
        """Count one Query of a segment, and report its rows to the instruments."""
        segment.items_read += len(rows)
        segment.requests += 1
        self.items_read += len(rows)
        self.spend(response.capacity)
        if self.instruments is not None:
            number = next(n for n, one in enumerate(self.segments) if one is segment)
            self.instruments.read(number, rows, response)

    def spend(self, capacity: float) -> None:
        """Count a request that consumed ``capacity`` RCU."""
        self.requests += 1
        self.consumed_capacity += capacity

    def spend_planning(self, capacity: float) -> None:
        """Count a request for inexact statistics that consumed ``capacity`` RCU."""
        self.planning_requests += 1
        self.planning_capacity += capacity


Result = TypeVar("Result")


class ReadInstruments(Protocol):
    """Observes the reads of pages, for metrics and OpenTelemetry traces."""

    async def plan(
        self, plan: Plan, counts: Sequence[SegmentStatistics], reading: Awaitable[Result]
    ) -> Result:
        """Await ``reading``, which reads the rows of a plan.

        While ``reading`` runs, the executor adds an entry to ``counts`` for each segment of the
        plan. Entries of the page's earlier plans precede these entries.
        """

    def segment(
        self, segment: Segment, counts: SegmentStatistics, reading: Coroutine[Any, Any, Result]
    ) -> Coroutine[Any, Any, Result]:
        """Return a coroutine for ``reading``, which reads the next rows of a segment."""


READ_INSTRUMENTS: ContextVar[ReadInstruments | None] = ContextVar("read_instruments", default=None)
"""Observes the reads of pages; None if reads are not observed."""
