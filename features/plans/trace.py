"""Traces: what a page did with each row that it read, and the optimizer's alternatives.

Only a page whose plan the request selects has a trace.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isnan
from typing import NamedTuple

from dal.query.cost import capacity_of_bytes
from dal.query.optimizer import PageSpan, TableStatistics
from dal.query.plan import AccessPath, Plan
from dal.query.statistics import Purpose
from dal.table.entity import Row
from dal.table.index import Index, QueryRequest, QueryResponse, query_arguments
from dal.table.items import bytes_of
from dal.table.ranges import HEADS
from features.plans.alternatives import Alternative, FullPages, alternatives, full_pages


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

    @property
    def queries(self) -> list[str]:
        """The arguments of the first Query of each segment that is not skipped, as JSON."""
        plan = self.plan
        requests = (
            QueryRequest(
                plan.index,
                one.partition,
                one.sort_keys,
                plan.descending,
                one.limit,
                consistent=plan.consistent,
            )
            for one in plan.segments
            if not one.skipped
        )
        # JSON in ASCII, because bounds of ranges may contain the last character of Unicode.
        return [json.dumps(query_arguments(request)) for request in requests]


class ReadFigures(NamedTuple):
    """What the page would cost if it were read in another way. Rows and RCU may be estimates."""

    requests: int
    items_read: float
    capacity: float


class TracedQuery(NamedTuple):
    """One Query of a segment. ``ended`` is true if the segment has no further rows."""

    segment: int
    rows: Sequence[Row]
    capacity: float
    ended: bool


@dataclass(slots=True)
class Trace:
    """The plans, Queries and alternatives of a page: the instruments of a page that shows its plan.

    If the server reads the list in several stages, the trace of the page gets the plans and Queries
    of all stages at the end of the read.
    """

    place: Callable[[Row], Row] | None = None
    """For the trace of a stage: returns a row with its position in the whole list."""
    steps: list[Step] = field(default_factory=list)
    queries: list[TracedQuery] = field(default_factory=list)
    alternatives: Sequence[Alternative] = ()
    full: FullPages | None = None
    positions: Sequence[str] = ()
    """The positions of the page's rows, in the order of the list."""
    descending: bool = False
    """Whether the list is in descending order of keys."""
    stages: list["Trace"] = field(default_factory=list)

    def planned(
        self,
        indexes: Sequence[Index],
        paths: Sequence[AccessPath],
        page: PageSpan,
        statistics: TableStatistics | None,
        plan: Plan,
    ) -> None:
        """Compare the first plan of the page with the alternatives."""
        if not self.steps:
            self.alternatives = alternatives(indexes, paths, page, statistics, plan)
            self.full = full_pages(paths[0], page, statistics)

    def begun(self, purpose: Purpose, plan: Plan) -> None:
        """Add a plan."""
        self.steps.append(Step(purpose, plan))

    def read(self, segment: int, rows: Sequence[Row], response: QueryResponse) -> None:
        """Add a Query."""
        ended = response.last_key is None
        self.queries.append(TracedQuery(segment, rows, response.capacity, ended))

    def stage(self, place: Callable[[Row], Row]) -> "Trace":
        """Return the trace of a stage."""
        stage = Trace(place)
        self.stages.append(stage)
        return stage

    def shown(self, positions: Sequence[str], *, descending: bool) -> None:
        """Add the plans and Queries of the stages. ``positions`` are those of the page's rows."""
        self.positions, self.descending = positions, descending
        for stage in self.stages:
            before = sum(step.segments for step in self.steps)
            self.steps += stage.steps
            for query in stage.queries:
                rows = query.rows if stage.place is None else list(map(stage.place, query.rows))
                self.queries.append(query._replace(segment=query.segment + before, rows=rows))
            self.alternatives = self.alternatives or stage.alternatives

    def rows(self) -> list[RowRead]:
        """Return every row read, in list order. A row that two segments returned occurs twice."""
        return sorted(self._rows(), key=lambda row: row.position, reverse=self.descending)

    def _rows(self) -> Iterator[RowRead]:
        plans = [step.plan for step in self.steps for _ in range(step.segments)]
        shown, queries = set(self.positions), Counter[int]()
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
        size = sum(_bytes(shown[position]) for position in self.positions)
        return ReadFigures(1, len(self.positions), capacity_of_bytes(size) * self._unit)

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
    return RowOutcome.AROUND if plan.passing([row]) else RowOutcome.FILTERED


def _bytes(row: Row) -> int:
    return bytes_of(row.item, row.item)
