"""Verification: counts all comments of the table, and says how the stored statistics differ.

A scan is no snapshot: what others write meanwhile may be in the statistics that it saw and not
among the comments, or the other way round. But a real error stays the same while writes go on. So
where something differs the table is scanned again, and only what differs by the same amount in each
scan is reported.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dal.entities.comment import comment_in
from dal.statistics.counter_items import decode, encode, is_statistics
from dal.statistics.counts import RatingCounts, StatisticsKey, deltas, summed
from dal.table.client import Table
from dal.table.item import Item
from dal.table.parallel_scan import Progress, scan_all

PASSES = 3
PAUSE_SECONDS = 1.0
"""How often a table is scanned at most, and the time between."""


@dataclass(slots=True)
class ScannedCounts:
    """What the comments of a table come to, and its statistics items, as a scan saw them."""

    counts: dict[StatisticsKey, RatingCounts] = field(default_factory=dict)
    stored: dict[StatisticsKey, Item] = field(default_factory=dict)

    def add(self, items: Sequence[Item]) -> None:
        """Take in one page of a scan."""
        found = summed(deltas(None, comment_in(item)) for item in items)
        for key, counts in found.items():
            self.counts[key] = self.counts.get(key, RatingCounts()) + counts
        self.stored |= {decode(item)[0]: item for item in items if is_statistics(item)}


@dataclass(frozen=True, slots=True)
class Difference:
    """A number, or a leaderboard's key, of a statistics item that is not what it should be."""

    key: StatisticsKey
    what: str
    stored: str
    expected: str
    amount: int | None
    """By how much the number differs; it stays the same while counted writes go on."""


async def count_comments(table: Table, seen: Progress) -> ScannedCounts:
    """Scan the table once."""
    scanned = ScannedCounts()
    await scan_all(table, seen, scanned.add)
    return scanned


async def verify(table: Table, seen: Progress) -> list[Difference]:
    """Return how the stored statistics differ from the comments, in order of products.

    While others write, what is returned differed by the same amount in three scans.
    """
    found = differences(await count_comments(table, seen))
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
    """Return what differs, by item and attribute."""
    keys = scanned.counts.keys() | scanned.stored.keys()
    return {
        (one.key, one.what): one
        for key in keys
        for one in _of_one(
            key, scanned.stored.get(key, {}), scanned.counts.get(key, RatingCounts())
        )
    }


def _of_one(key: StatisticsKey, stored: Item, counts: RatingCounts) -> Iterator[Difference]:
    """Yield the differences of one item.

    Its counts are compared with those of the comments. Its total and its leaderboard's keys are
    compared with what follows from its own counts, as one write changes both.
    """
    own = decode(stored)[1] if stored else RatingCounts()
    for rating, (held, right) in enumerate(zip(own.by_rating, counts.by_rating, strict=True), 1):
        if held != right:
            yield Difference(key, f"rating {rating}", str(held), str(right), held - right)
    proper = encode(key, own)
    for name, what in _DERIVED.items():
        held_as, right_as = _plain(stored, name), _plain(proper, name)
        if held_as != right_as:
            is_number = name == "count_total"
            amount = int(held_as or 0) - int(right_as or 0) if is_number else None
            yield Difference(key, what, held_as, right_as, amount)


_DERIVED = {
    "count_total": "total",
    "GSIPK": "leaderboard",
    "GSISK": "place on the leaderboard",
}


def _plain(item: Item, name: str) -> str:
    """Return an attribute as text; a zero is as good as none."""
    value = str(next(iter(item.get(name, {"S": ""}).values())))
    return "" if value == "0" else value
