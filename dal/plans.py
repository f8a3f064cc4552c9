"""Queries and plans as plain data: what is asked for, and how it is read."""

from dataclasses import dataclass, field, replace
from typing import Protocol

from dal.filters import Filters, Kind
from dal.indexes import Index
from dal.items import Item
from dal.keys import LAST_CHARACTER
from dal.positions import HEADS, UNBOUNDED, Range
from dal.timelines import Timeline

PATIENCE = 2
"""A residual read goes on to this many times the rows expected; then the page is planned anew."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for; an absent field is not filtered, one with no value selects nothing."""

    access_pattern: str
    filters: Filters
    within: Range = UNBOUNDED
    """The positions that it is bounded to, such as a time."""
    consistent: bool = False
    """Whether it must see the latest acknowledged write: only the table and local indexes can."""
    head: bool = False
    """Whether to read the item at the beginning of the partition's list with the first rows."""


class Profile(Protocol):
    """What is known of the data that a query reads; it may be stale, except where it says so."""

    @property
    def row_bytes(self) -> float:
        """The size of a row."""

    @property
    def proves_absence(self) -> bool:
        """Whether a count of zero is certain."""

    @property
    def timeline(self) -> Timeline:
        """Where rows stood when they were last read."""

    def count(self, filters: Filters) -> int:
        """Return how many rows pass ``filters``."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One contiguous key range of one partition, and how many rows to ask of it at first."""

    partition: str
    range: Range
    """Of positions."""
    limit: int
    prefix: str = ""
    """What its sort keys have before the position."""
    head: str = ""
    """The label of the item beside these rows that is read with them, if one is."""
    share: float | None = None
    """The part of the plan's rows that is expected to stand here; None without a profile."""
    absent: bool = False
    """Whether it is certain to hold no row."""
    kind: Kind = frozenset()
    """What its rows have in common."""

    @property
    def keys(self) -> Range:
        """The range of sort keys."""
        rows = self.range.under(self.prefix)
        if not self.head:
            return rows
        if self.head < self.prefix:
            return replace(rows, low=self.head)
        return replace(rows, high=self.head + LAST_CHARACTER)

    def position_of(self, key: str) -> str:
        """Return the position of the row with a sort key; the head stands before all rows."""
        if not self.head or key.startswith(self.prefix):
            return key[len(self.prefix) :]
        return HEADS[self.head > self.prefix]

    @property
    def skipped(self) -> bool:
        """Whether there is nothing to read."""
        return self.absent or self.range.empty


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is answered: the segments of one index, read in one direction."""

    access_pattern: str
    index: Index
    segments: tuple[Segment, ...]
    descending: bool
    consistent: bool = False
    residual: Filters = field(default_factory=dict)
    """The filters that the segments do not cover, left to the rows."""
    passing: float = 1.0
    """The part of the rows read that is expected to pass the residual."""
    doubtful: int = 0
    """Segments that are expected to be empty, and would be skipped if that were certain."""
    capacity: float | None = None
    """The expected RCU; None without a profile."""
    cost: float = 0.0
    """What plans are compared by, in RCU."""
    until: str | None = None
    """The position that the segments end at, where the page is remembered to end."""

    def keeps(self, row: Item) -> bool:
        """Return whether a row passes the residual."""
        return all(
            next(iter(row[name].values())) in wanted for name, wanted in self.residual.items()
        )

    def patience(self, count: int) -> float:
        """Return how many rows may be thrown away for ``count`` of them before planning anew."""
        return PATIENCE * count / self.passing if self.residual else float("inf")
