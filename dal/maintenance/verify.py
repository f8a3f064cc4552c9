"""Verification: counts all comments of the table, and says how the stored statistics differ.

A scan is no snapshot: what others write meanwhile may be in the statistics that it saw and not
among the comments, or the other way round. But a real error stays the same while writes go on. So
where something differs the table is scanned again, and only what differs by the same amount in each
scan is reported.

Places on leaderboards follow the stored counts some seconds later. Those that do not are moved, as
they are by whoever reads a product's statistics.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dal.client.scan import Progress, scan_all
from dal.client.table import Table
from dal.entities.comment import comment_in
from dal.statistics.boards import Boards, misplaced
from dal.statistics.counter_items import StoredCounts, stored_in
from dal.statistics.counts import RatingCounts, StatisticsKey, deltas, summed
from dal.table.items import Item

PASSES = 3
PAUSE_SECONDS = 1.0
"""How often a table is scanned at most, and the time between."""


@dataclass(slots=True)
class ScannedCounts:
    """What the comments of a table come to, and its statistics items, as a scan saw them."""

    counts: dict[StatisticsKey, RatingCounts] = field(default_factory=dict)
    stored: dict[StatisticsKey, StoredCounts] = field(default_factory=dict)
    """The items of languages, and of all languages, which only have a place."""

    def add(self, items: Sequence[Item]) -> None:
        """Take in one page of a scan."""
        found = summed(deltas(None, comment_in(item)) for item in items)
        for key, counts in found.items():
            self.counts[key] = self.counts.get(key, RatingCounts()) + counts
        self.stored |= {one.key: one for one in stored_in(items)}

    def misplaced(self) -> Iterator[str]:
        """Yield the products that are in a wrong place on a leaderboard."""
        products: dict[str, list[StoredCounts]] = {}
        for key, one in self.stored.items():
            products.setdefault(key.product_id, []).append(one)
        return (one for one, stored in products.items() if any(misplaced(one, stored)))


@dataclass(frozen=True, slots=True)
class Difference:
    """A number of a statistics item that is not what it should be."""

    key: StatisticsKey
    what: str
    stored: int
    expected: int

    @property
    def amount(self) -> int:
        """By how much the number differs; it stays the same while counted writes go on."""
        return self.stored - self.expected


async def count_comments(table: Table, seen: Progress) -> ScannedCounts:
    """Scan the table once."""
    scanned = ScannedCounts()
    await scan_all(table, seen, scanned.add)
    return scanned


async def verify(table: Table, seen: Progress, boards: Boards | None = None) -> list[Difference]:
    """Return how the stored statistics differ from the comments, in order of products.

    While others write, what is returned differed by the same amount in three scans. ``boards``
    moves the places that do not follow from the counts.
    """
    scanned = await count_comments(table, seen)
    await (boards or Boards(table)).correct(scanned.misplaced())
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
    """Return what differs, by counter and attribute."""
    keys = scanned.counts.keys() | {key for key in scanned.stored if key.language is not None}
    return {(one.key, one.what): one for key in keys for one in _of_one(key, scanned)}


def _of_one(key: StatisticsKey, scanned: ScannedCounts) -> Iterator[Difference]:
    """Yield how one item differs from the comments, and its total from its own counts."""
    stored = scanned.stored.get(key)
    held = RatingCounts() if stored is None else stored.counts
    right = scanned.counts.get(key, RatingCounts())
    for rating, (found, count) in enumerate(zip(held.by_rating, right.by_rating, strict=True), 1):
        if found != count:
            yield Difference(key, f"rating {rating}", found, count)
    if stored is not None and stored.total != held.of():
        yield Difference(key, "total", stored.total, held.of())
