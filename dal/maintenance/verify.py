"""Verification: counts all comments of the table, and compares the counts with the statistics.

A scan is not a snapshot. The scanned statistics may include a concurrent write that the scanned
comments do not include, or the reverse. The amount of a real error (the stored number minus the
right number) stays the same during concurrent writes. So if counts differ, verification scans the
table again. Verification reports only differences that have the same amount in every scan.

Verification also corrects data that a killed process has left incomplete or wrong, by the
corrections that its caller passes (see ``dal.composition``).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dal.counts.counter_items import StoredCounts, stored_in
from dal.counts.counts import (
    COMBINATIONS,
    RatingCounts,
    StatisticsKey,
    deltas,
    sum_parts,
    summed,
)
from dal.dynamodb.scan import Progress, scan_all
from dal.dynamodb.table import Table
from dal.entities.comment import comment_in
from dal.kinds.correction import Correction
from dal.model import RATINGS
from dal.table.items import Item

PASSES = 3
"""Maximum number of scans that compare the statistics."""

PAUSE_SECONDS = 1.0
"""Seconds between two scans."""

_FLAGGED = [f" with {' and '.join(sorted(flags))}" for flags in COMBINATIONS]
_WHAT = [f"rating {rating}{flags}" for flags in ("", *_FLAGGED) for rating in RATINGS]
"""What each number of counts by rating is, in the words of ``Difference``."""


@dataclass(slots=True)
class ScannedCounts:
    """What one scan found: the comments, counted again, and the stored statistics items."""

    counts: dict[StatisticsKey, RatingCounts] = field(default_factory=dict)
    stored: dict[StatisticsKey, StoredCounts] = field(default_factory=dict)
    """The statistics items. A product's item of all languages together has leaderboard keys but no
    counts."""
    corrections: Sequence[Correction] = ()
    """The corrections that also receive the scanned items."""

    def add(self, items: Sequence[Item]) -> None:
        """Add one page of a scan."""
        comments = [comment for item in items if (comment := comment_in(item)) is not None]
        found = summed(deltas(None, comment) for comment in comments)
        for key, counts in found.items():
            self.counts[key] = self.counts.get(key, RatingCounts()) + counts
        self.stored |= {one.key: one for one in stored_in(items)}
        for one in self.corrections:
            one.scanned(items, comments)


@dataclass(frozen=True, slots=True)
class Difference:
    """A wrong number in a statistics item.

    ``what`` names the number: ``total``, ``rating 5``, ``rating 5 with hasPhotos``, ``ratings of
    fit``, or ``sum of fit``.
    """

    key: StatisticsKey
    what: str
    stored: int
    expected: int

    @property
    def amount(self) -> int:
        """The stored number minus the right number.

        Concurrent writes change both numbers, but not this amount.
        """
        return self.stored - self.expected


async def count_comments(
    table: Table, seen: Progress, corrections: Sequence[Correction] = ()
) -> ScannedCounts:
    """Scan the table once, and return the counts of its comments and its statistics items."""
    scanned = ScannedCounts(corrections=corrections)
    await scan_all(table, seen, scanned.add)
    return scanned


async def verify(
    table: Table, seen: Progress, corrections: Sequence[Correction]
) -> list[Difference]:
    """Return the differences between the stored statistics and the comments, sorted by product.

    Each difference had the same amount in three scans, so concurrent writes are not its cause. The
    corrections run after the first scan.
    """
    scanned = await count_comments(table, seen, corrections)
    suspects = {comment_id for one in corrections for comment_id in one.suspects()}
    for one in corrections:
        await one.correct(suspects)
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
    """Return the differences that one scan found, by their ``key`` and ``what``.

    The stored counts of each rating are compared with the numbers of comments. The stored total is
    compared with the sum of the stored counts.
    """
    found: list[Difference] = []
    keys = scanned.counts.keys() | {key for key in scanned.stored if key.language is not None}
    for key in keys:
        stored = scanned.stored.get(key)
        held = RatingCounts() if stored is None else stored.counts
        right = scanned.counts.get(key, RatingCounts())
        counts, expected = _named(held), _named(right)
        found += [
            Difference(key, what, counts.get(what, 0), expected.get(what, 0))
            for what in counts | expected
            if counts.get(what, 0) != expected.get(what, 0)
        ]
        if stored is not None and stored.total != held.of():
            found.append(Difference(key, "total", stored.total, held.of()))
    return {(one.key, one.what): one for one in found}


def _named(counts: RatingCounts) -> dict[str, int]:
    """Return the numbers of counts by what they are, in the words of ``Difference``."""
    named = dict(zip(_WHAT, counts.by_rating + counts.flagged, strict=True))
    for sum_name, number in counts.sums:
        name, is_count = sum_parts(sum_name)
        named[f"{'ratings' if is_count else 'sum'} of {name}"] = number
    return named
