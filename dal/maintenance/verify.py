"""Verification: counts all comments of the table, and compares the stored statistics.

A scan is not a snapshot: the scanned statistics may include a concurrent write that the scanned
comments do not, or the reverse. Concurrent writes do not change the amount of a real error. So if
counts differ, verification scans the table again, and reports only differences that have the same
amount in every scan.

Places on leaderboards follow the stored counts some seconds later. Verification corrects wrong
places, as do reads of a product's statistics. It also opens the cases of reported comments, and
removes those of deleted comments, where a process was killed before it did so.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dal.client.scan import Progress, scan_all
from dal.client.table import Table
from dal.entities.case import commented_id
from dal.entities.comment import comment_in
from dal.repositories.cases import Cases
from dal.statistics.boards import Boards, misplaced
from dal.statistics.counter_items import StoredCounts, stored_in
from dal.statistics.counts import RatingCounts, StatisticsKey, deltas, summed
from dal.table.items import Item

PASSES = 3
PAUSE_SECONDS = 1.0
"""Maximum number of scans, and the seconds between them."""


@dataclass(slots=True)
class ScannedCounts:
    """The sums of a table's comments and its statistics items, from one scan."""

    counts: dict[StatisticsKey, RatingCounts] = field(default_factory=dict)
    stored: dict[StatisticsKey, StoredCounts] = field(default_factory=dict)
    """The items by language, and the item of all languages, which has only leaderboard keys."""
    reported: set[str] = field(default_factory=set)
    """The comments with reports or a decision."""

    def add(self, items: Sequence[Item]) -> None:
        """Add one page of a scan."""
        found = summed(deltas(None, comment_in(item)) for item in items)
        for key, counts in found.items():
            self.counts[key] = self.counts.get(key, RatingCounts()) + counts
        self.stored |= {one.key: one for one in stored_in(items)}
        self.reported |= {one for item in items if (one := commented_id(item)) is not None}

    def misplaced(self) -> Iterator[str]:
        """Yield the products with a wrong place on a leaderboard."""
        products: dict[str, list[StoredCounts]] = {}
        for key, one in self.stored.items():
            products.setdefault(key.product_id, []).append(one)
        return (one for one, stored in products.items() if any(misplaced(one, stored)))


@dataclass(frozen=True, slots=True)
class Difference:
    """A wrong number in a statistics item."""

    key: StatisticsKey
    what: str
    stored: int
    expected: int

    @property
    def amount(self) -> int:
        """The error of the number. Concurrent writes change the number, but not its error."""
        return self.stored - self.expected


async def count_comments(table: Table, seen: Progress) -> ScannedCounts:
    """Scan the table once."""
    scanned = ScannedCounts()
    await scan_all(table, seen, scanned.add)
    return scanned


async def verify(
    table: Table, seen: Progress, boards: Boards | None = None, cases: Cases | None = None
) -> list[Difference]:
    """Return the differences between the stored statistics and the comments, in order of products.

    Under concurrent writes, each returned difference was the same in three scans. ``boards``
    corrects the places on leaderboards that differ from the counts, and ``cases`` the cases.
    """
    scanned = await count_comments(table, seen)
    await (boards or Boards(table)).correct(scanned.misplaced())
    await (cases or Cases(table)).correct(scanned.reported)
    found = differences(scanned)
    for _ in range(PASSES - 1):
        if not found:
            break
        await asyncio.sleep(PAUSE_SECONDS)
        again = differences(await count_comments(table, seen))
        found = {
            place: one
            for place, one in again.items()
            if place in found and found[place].amount == one.amount
        }
    return sorted(found.values(), key=lambda one: (one.key.product_id, one.key.language or ""))


def differences(scanned: ScannedCounts) -> Mapping[tuple[StatisticsKey, str], Difference]:
    """Return the differences by counter and attribute.

    An item's ratings are compared with the comments, and its total with its own ratings.
    """
    found: list[Difference] = []
    keys = scanned.counts.keys() | {key for key in scanned.stored if key.language is not None}
    for key in keys:
        stored = scanned.stored.get(key)
        held = RatingCounts() if stored is None else stored.counts
        right = scanned.counts.get(key, RatingCounts())
        pairs = zip(held.by_rating, right.by_rating, strict=True)
        found += [
            Difference(key, f"rating {rating}", count, expected)
            for rating, (count, expected) in enumerate(pairs, 1)
            if count != expected
        ]
        if stored is not None and stored.total != held.of():
            found.append(Difference(key, "total", stored.total, held.of()))
    return {(one.key, one.what): one for one in found}
