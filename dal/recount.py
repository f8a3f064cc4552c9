"""A recount of the whole table, and how the stored statistics differ from it.

A scan is no snapshot: what others write meanwhile may be in the statistics that it saw and not
among the comments, or the other way round. But an error stays the same while counted writes go on.
So what differs is recounted, and only what differs by the same amount each time is told.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dal.concurrency import in_parallel
from dal.counters import decode, encode, is_statistics
from dal.dynamodb import Table
from dal.items import Item, comment_in
from dal.scans import SEGMENTS, Count, Seen, pages
from dal.statistics import RatingCounts, StatisticsKey, deltas, summed

PASSES = 3
PAUSE_SECONDS = 1.0
"""How often a table is scanned at most, and the time between."""


@dataclass(slots=True)
class Recount:
    """What the comments of a table come to, and its statistics items."""

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
    """A number, or a place on a leaderboard, of a statistics item that is not what it should be."""

    key: StatisticsKey
    what: str
    stored: str
    recounted: str
    amount: int | None
    """By how much the number differs; it stays the same while counted writes go on."""


async def recount(table: Table, seen: Seen) -> Recount:
    """Scan the table once."""
    whole, count = Recount(), Count(seen)

    async def scan(segment: int) -> None:
        async for items, _ in pages(table, segment):
            whole.add(items)
            count.add(items)

    await in_parallel([scan(segment) for segment in range(SEGMENTS)])
    return whole


async def verify(table: Table, seen: Seen) -> list[Difference]:
    """Return how the stored statistics differ from a recount, in order of products.

    While others write, what is told differed by the same amount in three scans.
    """
    found = differences(await recount(table, seen))
    for _ in range(PASSES - 1):
        if not found:
            break
        await asyncio.sleep(PAUSE_SECONDS)
        again = differences(await recount(table, seen))
        found = {
            place: one
            for place, one in again.items()
            if place in found and found[place].amount == one.amount
        }
    return sorted(found.values(), key=lambda one: (one.key.product_id, one.key.language or ""))


def differences(whole: Recount) -> Mapping[tuple[StatisticsKey, str], Difference]:
    """Return what differs, by item and attribute."""
    keys = whole.counts.keys() | whole.stored.keys()
    return {
        (one.key, one.what): one
        for key in keys
        for one in _of_one(key, whole.stored.get(key, {}), whole.counts.get(key, RatingCounts()))
    }


def _of_one(key: StatisticsKey, stored: Item, counts: RatingCounts) -> Iterator[Difference]:
    """Yield the differences of one item.

    Its counts are compared with the recount; what hangs on its counts, with these, as one write
    changes both.
    """
    own = decode(stored)[1] if stored else RatingCounts()
    for rating, (held, right) in enumerate(zip(own.by_rating, counts.by_rating, strict=True), 1):
        if held != right:
            yield Difference(key, f"rating {rating}", str(held), str(right), held - right)
    proper = encode(key, own)
    for name, what in _HANGING.items():
        held_as, right_as = _plain(stored, name), _plain(proper, name)
        if held_as != right_as:
            numbers = name in {"count_total", "seal"}
            amount = int(held_as or 0) - int(right_as or 0) if numbers else None
            yield Difference(key, what, held_as, right_as, amount)


_HANGING = {
    "count_total": "total",
    "seal": "seal",
    "GSIPK": "leaderboard",
    "GSISK": "place on the leaderboard",
}


def _plain(item: Item, name: str) -> str:
    """Return an attribute as text; a zero is as good as none."""
    value = str(next(iter(item.get(name, {"S": ""}).values())))
    return "" if value == "0" else value
