"""What was acknowledged, and what lists must hold by that."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from tests.trials.live.listeners import Told


class Filters(NamedTuple):
    """What a list is filtered by; None is everything."""

    rating: Sequence[int] | None = None
    language: Sequence[str] | None = None

    def keep(self, row: "Row") -> bool:
        """Return whether a comment is in the list."""
        rated = self.rating is None or row.rating in self.rating
        return rated and (self.language is None or row.language in self.language)


class Row(NamedTuple):
    """A comment as the API shows it."""

    node: str
    comment_id: str
    created_at: str
    rating: int
    language: str
    title: str

    @property
    def position(self) -> tuple[str, str]:
        """Where it stands: lists descend by it."""
        return self.created_at, self.comment_id


def row_of(node: dict[str, Any]) -> Row:
    """Return a comment of an answer."""
    names = ("id", "commentId", "createdAt", "rating", "language", "title")
    return Row(*(node[name] for name in names))


@dataclass
class Ledger:
    """The comments of one product, and when each was touched."""

    rows: dict[str, Row] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    """The event of each write."""
    touched: dict[str, int] = field(default_factory=dict)
    """The number of the write that each comment was under last; infinitely late until it ends."""
    writes: int = 0

    def begin(self, node: str) -> None:
        """Note that a write of a comment is under way."""
        self.touched[node] = 1 << 62

    def end(self, kind: str, row: Row) -> None:
        """Note that a write was acknowledged, and what the comment is now."""
        self.writes += 1
        self.touched[row.node] = self.writes
        deleted = kind == "DELETED"
        self.told.append((kind, row.node, "" if deleted else row.title))
        if deleted:
            del self.rows[row.node]
        else:
            self.rows[row.node] = row

    def stable(self, since: int, rows: Iterable[Row]) -> list[Row]:
        """Return those of some comments that nobody has touched since a number of writes."""
        return [row for row in rows if self.touched.get(row.node, 1 << 62) <= since]

    def listed(self, filters: Filters) -> list[Row]:
        """Return a list as it must be now."""
        kept = filter(filters.keep, self.rows.values())
        return sorted(kept, key=lambda row: row.position, reverse=True)


def faults_of_walk(
    ledger: Ledger, filters: Filters, since: int, before: list[Row], walked: list[Row]
) -> list[str]:
    """Return what is wrong with a list that was walked while others wrote.

    What stood ``before`` and nobody touched must be there once and as it was, in its order.
    """
    faults = []
    if not all(one.position > other.position for one, other in pairwise(walked)):
        faults.append(f"{filters}: rows out of order, or twice.")
    if not all(map(filters.keep, walked)):
        faults.append(f"{filters}: rows of another list.")
    stable = ledger.stable(since, before)
    if missing := set(stable) - set(walked):
        faults.append(f"{filters}: {len(missing)} rows were skipped.")
    if more := set(ledger.stable(since, walked)) - set(stable):
        faults.append(f"{filters}: {len(more)} rows that were gone.")
    return faults
