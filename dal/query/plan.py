"""Plans as plain data: the segments of one index, and what is left to the rows read."""

from dataclasses import dataclass, field
from typing import NamedTuple

from dal.model.key_parts import LAST_CHARACTER
from dal.query.query import EqualityKey, Filters
from dal.table.index import Index
from dal.table.items import Item
from dal.table.ranges import HEADS, Range


class Segment(NamedTuple):
    """One contiguous key range of one partition, and how many rows to ask of it at first."""

    partition: str
    range: Range
    """Of positions."""
    limit: int
    prefix: str = ""
    """What its sort keys have before the position."""
    key: EqualityKey = frozenset()
    """What its rows have in common."""
    head: str = ""
    """The label of the item beside these rows that is read with them, if one is."""
    share: float | None = None
    """The part of the plan's rows that is expected to stand here; None without statistics."""
    empty: bool = False
    """Whether exact statistics prove that it holds no row."""

    def __str__(self) -> str:
        shown = f"{self.partition} {self.sort_keys}, limit {self.limit}"
        if self.share is not None:
            shown += f", share {self.share:.3f}"
        return shown + (", skipped" if self.skipped else "")

    @property
    def sort_keys(self) -> Range:
        """The range of sort keys."""
        rows = self.range.under(self.prefix)
        if not self.head:
            return rows
        if self.head < self.prefix:
            return Range(self.head, rows.high, high_open=rows.high_open)
        return Range(rows.low, self.head + LAST_CHARACTER, low_open=rows.low_open)

    def position_of(self, sort_key: str) -> str:
        """Return the position of the row with a sort key; the head stands before all rows."""
        if not self.head or sort_key.startswith(self.prefix):
            return sort_key[len(self.prefix) :]
        return HEADS[self.head > self.prefix]

    @property
    def skipped(self) -> bool:
        """Whether there is nothing to read."""
        return self.empty or self.range.empty


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is answered: the segments of one index, read in one direction."""

    access_pattern: str
    index: Index
    segments: tuple[Segment, ...]
    descending: bool
    consistent: bool = False
    residual: Filters = field(default_factory=dict)
    """The filters that the segments do not cover: the rows read are compared with them."""
    selectivity: float = 1.0
    """The part of the rows read that is expected to pass the residual."""
    discard_limit: float = float("inf")
    """Rows that may be thrown away before the rest is planned anew, without a residual."""
    unproven: int = 0
    """Segments that are expected to be empty, and would be skipped if that were proved."""
    capacity: float | None = None
    """The expected RCU; None without statistics."""
    until: str | None = None
    """The position that the segments end at, where the page is expected to end."""

    def __str__(self) -> str:
        """Draw the plan as a tree: the index, what its rows are compared with, and each segment."""
        order = "descending" if self.descending else "ascending"
        root = f"{self.access_pattern} by {self.index.name or 'table'}, {order}"
        if self.consistent:
            root += ", consistent"
        if self.capacity is not None:
            root += f", {self.capacity:.2f} RCU"
        branches = [
            f"only {name} {', '.join(sorted(self.residual[name]))}" for name in self.residual
        ]
        if self.residual:
            branches.append(
                f"selectivity {self.selectivity:.3f}, discard limit {self.discard_limit:.0f}"
            )
        if self.unproven:
            branches.append(f"{self.unproven} expected to be empty")
        if self.until is not None:
            branches.append(f"until {self.until}")
        branches += map(str, self.segments or ["nothing to read"])
        *others, last = branches
        return "\n".join([root, *(f"├─ {one}" for one in others), f"└─ {last}"])

    def passes(self, item: Item) -> bool:
        """Return whether a row passes the residual."""
        for name, wanted in self.residual.items():
            (value,) = item[name].values()
            if value not in wanted:
                return False
        return True
