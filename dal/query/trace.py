"""Execution statistics (the cost of a page) and traces (what a page did with each row it read).

Every page has execution statistics. Only a page that is requested with ``explain`` has a trace.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from math import isnan
from typing import NamedTuple, Protocol, TypeVar

from dal.query.cost import capacity_of_bytes
from dal.query.plan import Plan, Reason, ReasonCode, Segment
from dal.table.entity import Row
from dal.table.index import QueryResponse
from dal.table.items import bytes_of
from dal.table.ranges import HEADS, Range

EMPTY_RANGE = "The key range is empty."
EMPTY_BY_COUNTS = "No rows, according to the counts."
"""The reason for skipping a segment that the counts show to be empty."""


class RowOutcome(StrEnum):
    """What the page did with a row that it read.

    SHOWN: the page contains the row. FILTERED: the residual filter dropped the row. AROUND: the row
    passes the filters, but is before or after the page, or another segment returned it too. HEAD:
    the row is the head item, such as the organisation that precedes its users.
    """

    SHOWN = "SHOWN"
    FILTERED = "FILTERED"
    AROUND = "AROUND"
    HEAD = "HEAD"


class RowRead(NamedTuple):
    """A row that the page read."""

    position: str
    segment: int
    refill: int
    """The number of the Query that returned the row. The first Query of a segment has the number
    0."""
    outcome: RowOutcome


class Purpose(StrEnum):
    """Why a plan was made: for a page, for the rest of a page, or for the pagination flags."""

    PAGE = "PAGE"
    REST = "REST"
    FLAGS = "FLAGS"


@dataclass(frozen=True, slots=True)
class Step:
    """One plan of a page. The segments of all steps are numbered consecutively."""

    purpose: Purpose
    plan: Plan

    @property
    def index(self) -> str:
        """The name of the plan's index."""
        return self.plan.index.name or "table"

    @property
    def segments(self) -> int:
        """The number of segments."""
        return len(self.plan.segments)


class KeyRange(NamedTuple):
    """One segment of an alternative; ``expected_rows`` is None without statistics."""

    partition_key: str
    range: str
    limit: int
    expected_rows: float | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """An index, and the reason why the optimizer chose or rejected it.

    The numbers of rows and RCU are None without statistics, and for an index that cannot answer the
    query.
    """

    index: str
    residual: Sequence[str]
    segments: Sequence[KeyRange]
    expected_rows: float | None
    """The expected number of rows that the first Queries of all segments return."""
    estimated_capacity: float | None
    cost: float | None
    """The cost that the optimizer compares, in RCU: the capacity, plus a weight for each Query and
    each row. Also None if no row is expected to pass the residual filter."""
    chosen: bool
    why: Reason

    @property
    def reason(self) -> str:
        """The reason as a sentence."""
        return str(self.why)

    @property
    def reason_code(self) -> ReasonCode:
        """The reason's code."""
        return self.why.code

    @property
    def reason_values(self) -> list[str]:
        """The names and numbers of the reason's sentence."""
        return self.why.values


class ReadFigures(NamedTuple):
    """What the page would cost if it were read in another way. Rows and RCU may be estimates."""

    requests: int
    items_read: float
    capacity: float


@dataclass(frozen=True, slots=True)
class FullPages:
    """A plan that reads a full page from every partition, for comparison with the page's plan.

    Of all indexes that can answer the query, the plan uses the index with the fewest fields in the
    residual filter.
    """

    index: str
    limit: int
    rows: Sequence[float]
    """The expected number of rows that the plan reads from each partition."""
    row_bytes: float | None
    """The mean size of a row; None without statistics."""


class TracedQuery(NamedTuple):
    """One Query of a segment. ``ended`` is true if the segment has no further rows."""

    segment: int
    rows: Sequence[Row]
    capacity: float
    ended: bool


@dataclass(slots=True)
class Trace:
    """The plans, Queries and alternatives of a page with ``explain``."""

    steps: list[Step] = field(default_factory=list)
    queries: list[TracedQuery] = field(default_factory=list)
    alternatives: Sequence[Alternative] = ()
    full: FullPages | None = None
    shown: Sequence[str] = ()
    """The positions of the page's rows, in the order of the list."""
    descending: bool = False
    """Whether the list is in descending order of keys."""
    stages: list["Trace"] = field(default_factory=list)
    """The traces of the stages, if the caller reads the list in several stages. This trace also
    contains the plans and Queries of all stages."""

    def add(self, stage: "Trace", place: Callable[[Row], Row]) -> None:
        """Add the trace of a stage. ``place`` returns a row with its position in the whole list."""
        before = sum(step.segments for step in self.steps)
        self.steps += stage.steps
        for query in stage.queries:
            rows = list(map(place, query.rows))
            self.queries.append(query._replace(segment=query.segment + before, rows=rows))
        self.alternatives = self.alternatives or stage.alternatives
        self.stages.append(stage)

    def rows(self) -> list[RowRead]:
        """Return every row read, in list order. A row that two segments returned occurs twice."""
        return sorted(self._rows(), key=lambda row: row.position, reverse=self.descending)

    def _rows(self) -> Iterator[RowRead]:
        plans = [step.plan for step in self.steps for _ in range(step.segments)]
        shown, queries = set(self.shown), Counter[int]()
        for query in self.queries:
            number = query.segment
            for row in query.rows:
                outcome = _outcome(row, plans[number], shown)
                # The page shows a row once, even if two segments returned it.
                shown.discard(row.position)
                yield RowRead(row.position, number, queries[number], outcome)
            queries[number] += 1

    def ideal(self) -> ReadFigures:
        """Return the cost of a single Query that reads exactly the page's rows."""
        if not self.queries:
            return ReadFigures(0, 0, 0.0)
        shown = {row.position: row for query in self.queries for row in query.rows}
        size = sum(_bytes(shown[position]) for position in self.shown)
        return ReadFigures(1, len(self.shown), capacity_of_bytes(size) * self._unit)

    def full_pages(self) -> ReadFigures | None:
        """Return the cost of reading a full page from every partition.

        Return None if the page has no plan.

        If this page's first Query of a partition read a full page, or all rows of the partition,
        the result includes the measured cost of this Query. For every other partition, it includes
        an estimate.
        """
        if self.stages:
            figures = [one for stage in self.stages if (one := stage.full_pages()) is not None]
            return ReadFigures(*map(sum, zip(*figures, strict=True))) if figures else None
        full = self.full
        if full is None:
            return None
        first = {query.segment: query for query in reversed(self.queries)}
        # The cost of the page's own reads can be used only if the page's plan used the index of
        # ``full``, and did not end the segments at the expected end of the page.
        comparable = self.steps[0].index == full.index and self.steps[0].plan.until is None
        rows, capacity = 0.0, 0.0
        for number, expected in enumerate(full.rows):
            query = first.get(number) if comparable else None
            whole = query is not None and (query.ended or len(query.rows) >= full.limit)
            if query is not None and whole and not isnan(query.capacity):
                rows, capacity = rows + len(query.rows), capacity + query.capacity
            else:
                size = round(expected * (full.row_bytes or self._row_bytes()))
                rows, capacity = rows + expected, capacity + capacity_of_bytes(size) * self._unit
        return ReadFigures(len(full.rows), rows, capacity)

    @property
    def _unit(self) -> int:
        """The factor of the cost: 2 for consistent reads, 1 for eventually consistent reads."""
        return 2 if self.steps[0].plan.consistent else 1

    def _row_bytes(self) -> float:
        sizes = [_bytes(row) for query in self.queries for row in query.rows]
        return sum(sizes) / max(1, len(sizes))


def _outcome(row: Row, plan: Plan, shown: set[str]) -> RowOutcome:
    if row.position in HEADS:
        return RowOutcome.HEAD
    if row.position in shown:
        return RowOutcome.SHOWN
    return RowOutcome.AROUND if plan.passes(row.item) else RowOutcome.FILTERED


def _bytes(row: Row) -> int:
    return bytes_of(row.item, row.item)


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

    @property
    def skip_reason(self) -> str | None:
        """Why the segment was skipped; None if it was not skipped."""
        if not self.skipped:
            return None
        return EMPTY_RANGE if self.sort_keys.empty else EMPTY_BY_COUNTS


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
    trace: Trace | None = None
    """The trace of a page with ``explain``, otherwise None."""
    purpose: Purpose = Purpose.PAGE
    """Why the next plan is made: for the page, or for its flags."""

    def begin(self, plan: Plan) -> None:
        """Add the plan of the page, or of its flags, to the statistics."""
        if self.purpose is Purpose.PAGE:
            self.index = plan.index.name or "table"
            self.residual = sorted(plan.residual)
            self.estimated_capacity = plan.capacity
        self.step(self.purpose, plan)

    def step(self, purpose: Purpose, plan: Plan) -> None:
        """Add a plan to the trace, if the page has a trace."""
        if self.trace is not None:
            self.trace.steps.append(Step(purpose, plan))

    def add(self, stage: "ExecutionStatistics", place: Callable[[Row], Row]) -> None:
        """Add the cost of a stage. ``place`` returns a row with its position in the whole list."""
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
        if self.trace is not None and stage.trace is not None:
            self.trace.add(stage.trace, place)

    def count(
        self,
        segment: SegmentStatistics,
        response: QueryResponse,
        rows: Sequence[Row],
    ) -> None:
        """Count one Query of a segment, and add its rows to the trace."""
        segment.items_read += len(rows)
        segment.requests += 1
        self.items_read += len(rows)
        self.spend(response.capacity)
        if self.trace is not None:
            number = next(n for n, one in enumerate(self.segments) if one is segment)
            ended = response.last_key is None
            self.trace.queries.append(TracedQuery(number, rows, response.capacity, ended))

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
        self, segment: Segment, counts: SegmentStatistics, reading: Awaitable[Result]
    ) -> Awaitable[Result]:
        """Return an awaitable for ``reading``, which reads the next rows of a segment."""


READ_INSTRUMENTS: ContextVar[ReadInstruments | None] = ContextVar("read_instruments", default=None)
"""Observes the reads of pages; None if reads are not observed."""
