"""What the optimizer asks of statistics, and what the executor tells them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dal.entities.entity import Row
from dal.query.plan import EqualityKey, Filters, Query
from dal.query.trace import ExecutionStatistics
from dal.table.ranges import Range


class RowsHeld(NamedTuple):
    """How many rows of some key stand somewhere, and their bytes."""

    rows: int
    size: int


class LocatedPage(Protocol):
    """A page of which all rows were read before: fewer than were asked for are all there were."""

    @property
    def rows(self) -> int:
        """How many rows there were."""

    @property
    def span(self) -> Range:
        """What was asked for, up to where the page ended."""

    @property
    def until(self) -> str | None:
        """The position of the last row; None where the page was not full."""

    def matching(self, key: EqualityKey) -> int:
        """Return how many of the page's rows have a key."""

    def among(self, key: EqualityKey) -> RowsHeld | None:
        """Return what has a key within the span, whether it passes or not; None where unknown."""


class TableStatistics(Protocol):
    """What is known of the rows that a query reads. It may lag, and proves nothing."""

    @property
    def row_bytes(self) -> float:
        """The mean size of a row, in bytes."""

    def cardinality(self, filters: Filters) -> int:
        """Return how many rows pass ``filters``, or more where a field is not counted."""

    def fraction(self, within: Range) -> float:
        """Return what part of the rows stands within a range of positions, from 0 to 1."""

    def located(
        self, keys: Sequence[EqualityKey], span: Range, *, descending: bool, count: int
    ) -> LocatedPage | None:
        """Return where the first ``count`` rows of ``span`` stood that have one of ``keys``.

        None where that is unknown.
        """


@dataclass(frozen=True, slots=True)
class RangeRead:
    """What one Query showed: all rows of a key within a range of positions."""

    key: EqualityKey
    range: Range
    rows: Sequence[Row]
    partition: str = ""
    """Where: shards of one partition have a key in common."""


class StatisticsProvider(Protocol):
    """Provides the statistics of the rows that a query reads; ``spent`` is told what that costs."""

    async def inexact(self, query: Query, spent: ExecutionStatistics) -> TableStatistics | None:
        """Return statistics that may lag by seconds; None when nothing is known."""

    async def empty(
        self, query: Query, keys: Sequence[EqualityKey], spent: ExecutionStatistics
    ) -> Collection[EqualityKey]:
        """Return those of ``keys`` that exact statistics, read now, prove to have no row."""

    def observe(self, query: Query, reads: Sequence[RangeRead]) -> None:
        """Learn from the rows that a page read."""
