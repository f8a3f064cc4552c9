"""What the optimizer asks of statistics, and what the executor tells them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dal.entities.entity import Row
from dal.query.execution_stats import ExecutionStatistics
from dal.query.query import EqualityKey, Filters, Query
from dal.table.ranges import Range


class LocatedRow(NamedTuple):
    """A row that was read: where it stood, its values, and its size in bytes."""

    position: str
    values: EqualityKey
    size: int


@dataclass(frozen=True, slots=True)
class LocatedPage:
    """A page of which all rows were read before: fewer than were asked for are all there were."""

    rows: Sequence[LocatedRow]
    among: Callable[[EqualityKey, Range], Sequence[LocatedRow] | None]
    """Returns the rows of a key within a range, whether they pass or not; None where unknown."""


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
        self, filters: Filters, span: Range, *, descending: bool, count: int
    ) -> LocatedPage | None:
        """Return where the first ``count`` rows of ``span`` stood; None where that is unknown."""


@dataclass(frozen=True, slots=True)
class RangeRead:
    """What one Query showed: all rows of a key within a range of positions."""

    key: EqualityKey
    range: Range
    rows: Sequence[Row]


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
