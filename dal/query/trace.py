"""Trace: what became of every row that a page read, and what else the page might have cost.

It is kept only for a slice that is to be explained; a page without one notes nothing of this.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isnan
from typing import NamedTuple

from dal.entities.entity import Row
from dal.query.cost_model import capacity_of_bytes
from dal.query.plan import Plan
from dal.query.reasons import Reason, ReasonCode
from dal.table.items import bytes_of
from dal.table.ranges import HEADS


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
