"""What a page is planned by: everything that is known as a rule, and less where somebody asks."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dal.query.protocols import LocatedPage, TableStatistics
from dal.query.query import EqualityKey, Filters
from dal.table.ranges import Range


class PlanBasis(StrEnum):
    """What a page is planned by, from the most to the least."""

    ROW_LOCATIONS = "ROW_LOCATIONS"
    COUNTS = "COUNTS"
    NOTHING = "NOTHING"
    FULL_PAGES = "FULL_PAGES"


UNKNOWING = frozenset({PlanBasis.NOTHING, PlanBasis.FULL_PAGES})
"""Those that no statistics are asked for: each partition is read for a whole page."""


@dataclass(frozen=True, slots=True)
class CountsAlone:
    """``TableStatistics`` that do not tell where rows stood when they were last read."""

    known: TableStatistics

    @property
    def row_bytes(self) -> float:
        """The mean size of a row, in bytes."""
        return self.known.row_bytes

    def cardinality(self, filters: Filters) -> int:
        """Return how many rows pass ``filters``."""
        return self.known.cardinality(filters)

    def fraction(self, within: Range) -> float:
        """Return what part of the rows stands within a range."""
        return self.known.fraction(within)

    def located(
        self, keys: Sequence[EqualityKey], span: Range, *, descending: bool, count: int
    ) -> LocatedPage | None:
        """Return None: as of rows that were never read."""
