"""Protocols of statistics: what the optimizer reads, and what the executor reports."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from dal.entities.entity import Row
from dal.query.plan import EqualityKey, Filters, Query
from dal.query.trace import ExecutionStatistics
from dal.table.ranges import Range


class RowsHeld(NamedTuple):
    """A number of rows, and their bytes."""

    rows: int
    size: int


class LocatedPage(Protocol):
    """A page of rows that were all read before. With fewer rows than requested, the list ends."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    @property
    def span(self) -> Range:
        """The requested span, up to the end of the page."""

    @property
    def until(self) -> str | None:
        """The position of the last row; None if the page was not full."""

    def matching(self, key: EqualityKey) -> int:
        """Return how many of the page's rows have a key."""

    def among(self, key: EqualityKey) -> RowsHeld | None:
        """Return the rows of the span with a key, on the page or not; None if unknown."""


class TableStatistics(Protocol):
    """Statistics of a query's rows. They may lag, and prove nothing."""

    @property
    def row_bytes(self) -> float:
        """The mean size of a row, in bytes."""

    def cardinality(self, filters: Filters) -> int:
        """Return how many rows pass ``filters``, or more if a field is not counted."""

    def fraction(self, within: Range) -> float:
        """Return the part of the rows within a range of positions, from 0 to 1."""

    def located(
        self, keys: Sequence[EqualityKey], span: Range, *, descending: bool, count: int
    ) -> LocatedPage | None:
        """Return the first ``count`` rows within ``span`` that have one of ``keys``.

        None unless all of these rows were read before.
        """


class RangeRead(NamedTuple):
    """The result of one Query: all rows with a key within a range of positions."""

    key: EqualityKey
    range: Range
    rows: Sequence[Row]


class StatisticsProvider(Protocol):
    """Provides statistics of a query's rows, and counts their cost in ``spent``."""

    async def inexact(self, query: Query, spent: ExecutionStatistics) -> TableStatistics | None:
        """Return statistics that may lag by seconds; None without any."""

    async def empty(
        self, query: Query, keys: Sequence[EqualityKey], spent: ExecutionStatistics
    ) -> Collection[EqualityKey]:
        """Return those of ``keys`` without a row, as exact statistics read now prove."""

    def observe(self, query: Query, reads: Sequence[RangeRead]) -> None:
        """Learn from the rows that a page read."""
