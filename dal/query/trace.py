"""Trace: what became of every row that a page read, and what else the page might have cost.

It is kept only for a slice that is to be explained; a page without one notes nothing of this.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isnan
from typing import NamedTuple, TypeAlias

from dal.entities.entity import Row
from dal.query.cost import capacity_of_bytes
from dal.query.plan import Plan
from dal.table.index import QueryResponse
from dal.table.items import bytes_of
from dal.table.ranges import HEADS, Range

Value: TypeAlias = str | int | Sequence[str]
"""A name, a number, or several names."""


class ReasonCode(StrEnum):
    """What is said; each value is the sentence, with braces for what it names and counts."""

    ONLY_INDEX = "The only index that answers."
    LEAST_BY_COUNTS = "The least cost, by how many rows there are."
    LEAST_BY_LOCATIONS = "The least cost, by where these rows stood when they were last read."
    NOTHING_TO_READ = "There is nothing to read."
    NOTHING_TO_WEIGH = "One key range with just these rows: there is nothing to weigh."
    NOTHING_KNOWN = "Nothing is known of the rows: the least is left to filter."
    MORE_RANGES = "Dearer: {} key ranges instead of {}."
    MORE_ROWS = "Dearer: about {} rows read and dropped by {}."
    MORE_OF_BOTH = "Dearer: {} key ranges instead of {} and about {} rows read and dropped by {}."
    MORE_TO_READ = "Dearer: more to read."
    NO_CHEAPER = "No cheaper."
    NONE_PASSES = "No row is expected to pass: it would read them all."
    UNWEIGHED_ROWS = "Not weighed: more is left to filter than by {}."
    UNWEIGHED_RANGES = "Not weighed: it has more key ranges than {}."
    DIVIDED = "It is divided by {}, which nobody asked for."
    HOLDS_OTHERS = "It holds only rows whose {} is {}."
    LACKS = "Its rows do not carry {}."
    LAGS = "It may lag the table, and this list must not."
    TOO_MANY_RANGES = "It takes {} key ranges; the most is {}."


@dataclass(frozen=True, slots=True)
class Reason:
    """A code with what its sentence names and counts, in that order."""

    code: ReasonCode
    named: tuple[Value, ...] = ()

    def __str__(self) -> str:
        """Return the sentence."""
        return self.code.value.format(*(_listed(one, " and ") for one in self.named))

    @property
    def values(self) -> list[str]:
        """What the sentence names and counts, as texts; several names have commas between them."""
        return [_listed(one, ", ") for one in self.named]


def _listed(value: Value, between: str) -> str:
    return str(value) if isinstance(value, str | int) else between.join(value)


class RowOutcome(StrEnum):
    """What became of a row that was read."""

    SHOWN = "SHOWN"
    FILTERED = "FILTERED"
    AROUND = "AROUND"
    HEAD = "HEAD"


class RowRead(NamedTuple):
    """A row that was read, the segment that it came from, and which of its Queries brought it."""

    position: str
    segment: int
    refill: int
    """0 for the segment's first Query."""
    outcome: RowOutcome


class Purpose(StrEnum):
    """What a plan is carried out for."""

    PAGE = "PAGE"
    REST = "REST"
    FLAGS = "FLAGS"


@dataclass(frozen=True, slots=True)
class Step:
    """A plan that was carried out; the segments of all steps follow each other."""

    purpose: Purpose
    plan: Plan

    @property
    def index(self) -> str:
        """The index that it reads."""
        return self.plan.index.name or "table"

    @property
    def segments(self) -> int:
        """How many segments it has."""
        return len(self.plan.segments)


class KeyRange(NamedTuple):
    """One segment of an alternative; ``expected_rows`` is None without statistics."""

    partition_key: str
    range: str
    limit: int
    expected_rows: float | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """An index that could have been read, or why it could not.

    The figures are None where nothing is known, and where it was never weighed.
    """

    index: str
    residual: Sequence[str]
    segments: Sequence[KeyRange]
    expected_rows: float | None
    """The rows that its first Queries would return."""
    estimated_capacity: float | None
    cost: float | None
    """What the optimizer compares: its capacity, and in RCU too what Queries and rows take."""
    chosen: bool
    why: Reason

    @property
    def reason(self) -> str:
        """Why it was chosen, or why not, in a sentence."""
        return str(self.why)

    @property
    def reason_code(self) -> ReasonCode:
        """What the sentence says, whatever it names and counts."""
        return self.why.code

    @property
    def reason_values(self) -> list[str]:
        """What the sentence names and counts."""
        return self.why.values


class ReadFigures(NamedTuple):
    """What another way of reading takes; rows and RCU may be estimates."""

    requests: int
    items_read: float
    capacity: float


@dataclass(frozen=True, slots=True)
class FullPages:
    """The plan that asks every partition of the exact index for a full page."""

    index: str
    limit: int
    rows: Sequence[float]
    """What each partition is expected to return."""
    row_bytes: float | None
    """The mean size of a row; None without statistics."""


class Ask(NamedTuple):
    """One Query of a segment, as it was answered; ``ended`` says that its range holds no more."""

    segment: int
    rows: Sequence[Row]
    capacity: float
    ended: bool


@dataclass(slots=True)
class Trace:
    """What is noted beside a page's execution statistics."""

    steps: list[Step] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    alternatives: Sequence[Alternative] = ()
    full: FullPages | None = None
    shown: Sequence[str] = ()
    """The positions of the page's rows, in list order."""
    descending: bool = False
    """Whether the list goes down through its keys."""

    def rows(self) -> list[RowRead]:
        """Return every row read, in list order; a row that two segments showed comes twice."""
        return sorted(self._rows(), key=lambda row: row.position, reverse=self.descending)

    def ideal(self) -> ReadFigures:
        """Return what one Query takes that reads exactly the page's rows."""
        if not self.asks:
            return ReadFigures(0, 0, 0.0)
        shown = {row.position: row for ask in self.asks for row in ask.rows}
        size = sum(_bytes(shown[position]) for position in self.shown)
        return ReadFigures(1, len(self.shown), capacity_of_bytes(size) * self._unit)

    def full_pages(self) -> ReadFigures | None:
        """Return what it takes to ask every partition for a full page; None if nobody planned.

        A partition that this page asked for as much tells what it took, the others are estimated.
        """
        full = self.full
        if full is None:
            return None
        first = {ask.segment: ask for ask in reversed(self.asks)}
        measured = self._same_ranges(full)
        rows, capacity = 0.0, 0.0
        for number, expected in enumerate(full.rows):
            ask = first.get(number) if measured else None
            whole = ask is not None and (ask.ended or len(ask.rows) >= full.limit)
            if ask is not None and whole and not isnan(ask.capacity):
                rows, capacity = rows + len(ask.rows), capacity + ask.capacity
            else:
                size = round(expected * (full.row_bytes or self._row_bytes()))
                rows, capacity = rows + expected, capacity + capacity_of_bytes(size) * self._unit
        return ReadFigures(len(full.rows), rows, capacity)

    @property
    def _unit(self) -> int:
        """What a consistent read costs of an eventually consistent one."""
        return 2 if self.steps[0].plan.consistent else 1

    def _same_ranges(self, full: FullPages) -> bool:
        """Return whether the page read the same ranges, not cut at where it was to end."""
        return self.steps[0].index == full.index and self.steps[0].plan.until is None

    def _row_bytes(self) -> float:
        sizes = [_bytes(row) for ask in self.asks for row in ask.rows]
        return sum(sizes) / max(1, len(sizes))

    def _rows(self) -> Iterator[RowRead]:
        plans = [step.plan for step in self.steps for _ in range(step.segments)]
        shown, asked = set(self.shown), Counter[int]()
        for ask in self.asks:
            for row in ask.rows:
                outcome = _outcome(row, plans[ask.segment], shown)
                shown.discard(row.position)  # a row in two segments is shown once
                yield RowRead(row.position, ask.segment, asked[ask.segment], outcome)
            asked[ask.segment] += 1


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
    """What was read of one segment; ``limit`` is the rows asked for at first."""

    partition_key: str
    sort_keys: Range
    limit: int
    skipped: bool
    items_read: int = 0
    requests: int = 0

    @property
    def range(self) -> str:
        """Its sort keys, in words."""
        return str(self.sort_keys)

    @property
    def refills(self) -> int:
        """How often the segment ran dry before the page was full."""
        return max(0, self.requests - 1)

    @property
    def skip_reason(self) -> str | None:
        """Why nothing was read of it; None where something was."""
        if not self.skipped:
            return None
        return "No key lies in the range." if self.sort_keys.empty else "The counts say: no row."


@dataclass(slots=True)
class ExecutionStatistics:
    """What one page cost: counts, and capacity in RCU (0.5 for each started 4 KB of a Query).

    Capacity is ``nan`` where the endpoint does not tell it.
    """

    access_pattern: str
    index: str = ""
    segments: list[SegmentStatistics] = field(default_factory=list)
    requests: int = 0
    items_read: int = 0
    consumed_capacity: float = 0.0
    estimated_capacity: float | None = None
    """What the optimizer expected, in RCU; None without statistics."""
    residual: list[str] = field(default_factory=list)
    """The fields whose filters were left to the rows read."""
    planning_requests: int = 0
    planning_capacity: float = 0.0
    """What was spent on inexact statistics, which serve the pages of some seconds."""
    trace: Trace | None = None
    """What became of each row; None unless the page is to be explained."""

    def begin(self, plan: Plan) -> None:
        """Note what the optimizer chose."""
        self.index = plan.index.name or "table"
        self.residual = sorted(plan.residual)
        self.estimated_capacity = plan.capacity
        if self.trace is not None:
            self.step(Purpose.PAGE, plan)

    def step(self, purpose: Purpose, plan: Plan) -> None:
        """Note a plan that is about to be carried out, if the page is to be explained."""
        if self.trace is not None:
            self.trace.steps.append(Step(purpose, plan))

    def note(
        self, segment: SegmentStatistics, rows: Sequence[Row], capacity: float, *, ended: bool
    ) -> None:
        """Note the rows of one Query, of a page that is to be explained."""
        if self.trace is not None:
            number = next(n for n, one in enumerate(self.segments) if one is segment)
            self.trace.asks.append(Ask(number, rows, capacity, ended))

    def spend_planning(self, capacity: float) -> None:
        """Add a Query for inexact statistics."""
        self.planning_requests += 1
        self.planning_capacity += capacity

    def spend(self, capacity: float) -> None:
        """Add a Query that read no row of the page."""
        self.requests += 1
        self.consumed_capacity += capacity

    def count(self, segment: SegmentStatistics, answer: QueryResponse) -> None:
        """Add one Query's answer."""
        segment.items_read += len(answer.items)
        segment.requests += 1
        self.requests += 1
        self.items_read += len(answer.items)
        self.consumed_capacity += answer.capacity
