"""Verification: counts all comments of the table, and compares the counts with the statistics.

A scan is not a snapshot. The scanned statistics may include a concurrent write that the scanned
comments do not include, or the reverse. The amount of a real error (the stored number minus the
right number) stays the same during concurrent writes. So if counts differ, verification scans the
table again. Verification reports only differences that have the same amount in every scan.

Verification also corrects data that a killed process has left incomplete or wrong:

* It moves products to their places on the leaderboards. Normally, products move some seconds after
  the counts change.
* It opens and closes the cases of reported comments (see ``dal.entities.case``).
* It stores the numbers of helpful votes in comments.
* It removes the cases, reports and votes of deleted comments.
* If the table allows only one comment per user and product, further scans correct the reservations
  (see ``dal.entities.commented``).
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dal.counts.boards import Boards, misplaced
from dal.counts.counter_items import StoredCounts, stored_in
from dal.counts.counts import RatingCounts, StatisticsKey, deltas, summed
from dal.counts.helpful import HelpfulFolds
from dal.dynamodb.scan import Progress, scan_all
from dal.dynamodb.table import Table
from dal.entities.case import commented_id
from dal.entities.comment import BY_AUTHOR, comment_in
from dal.entities.vote import is_counted, is_vote, vote_position, voted_id
from dal.maintenance.commented_marking import Names
from dal.repositories.cases import Cases
from dal.table.items import Item

PASSES = 3
"""Maximum number of scans that compare the statistics."""

PAUSE_SECONDS = 1.0
"""Seconds between two scans."""


@dataclass(slots=True)
class ScannedCounts:
    """What one scan found: the comments, counted again, and the stored statistics items."""

    counts: dict[StatisticsKey, RatingCounts] = field(default_factory=dict)
    stored: dict[StatisticsKey, StoredCounts] = field(default_factory=dict)
    """The statistics items. A product's item of all languages together has leaderboard keys but no
    counts."""
    reported: set[str] = field(default_factory=set)
    """The ids of comments that have a case or reports."""
    votes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Maps a comment's id, and the key of a vote for it in ``byAuthor``, to a difference: the
    number of the comment's vote items with this key, minus the number of votes that the comment's
    own item stores."""

    def add(self, items: Sequence[Item]) -> None:
        """Add one page of a scan."""
        comments = [comment for item in items if (comment := comment_in(item)) is not None]
        found = summed(deltas(None, comment) for comment in comments)
        voted = [one for one in comments if one.votes]
        self.votes.subtract(
            {
                (one.comment_id, vote_position(one.product_id, one.comment_id)): one.votes
                for one in voted
            }
        )
        for key, counts in found.items():
            self.counts[key] = self.counts.get(key, RatingCounts()) + counts
        self.stored |= {one.key: one for one in stored_in(items)}
        self.reported |= {one for item in items if (one := commented_id(item)) is not None}
        self.votes.update(
            (voted_id(item), item.get(BY_AUTHOR.sort_key, {}).get("S", ""))
            for item in items
            if is_vote(item) and is_counted(item)
        )

    def misplaced(self) -> Iterator[str]:
        """Yield the products that have a wrong place on a leaderboard."""
        products: dict[str, list[StoredCounts]] = {}
        for key, one in self.stored.items():
            products.setdefault(key.product_id, []).append(one)
        return (one for one, stored in products.items() if any(misplaced(one, stored)))


@dataclass(frozen=True, slots=True)
class Difference:
    """A wrong number in a statistics item. ``what`` names the number: ``total`` or ``rating 5``."""

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


async def count_comments(table: Table, seen: Progress) -> ScannedCounts:
    """Scan the table once, and return the counts of its comments and its statistics items."""
    scanned = ScannedCounts()
    await scan_all(table, seen, scanned.add)
    return scanned


async def verify(
    table: Table,
    seen: Progress,
    boards: Boards | None = None,
    cases: Cases | None = None,
    folds: HelpfulFolds | None = None,
    names: Names | None = None,
) -> list[Difference]:
    """Return the differences between the stored statistics and the comments, sorted by product.

    Each difference had the same amount in three scans, so concurrent writes are not its cause. This
    function also corrects other data. ``boards`` corrects the places on leaderboards, and ``cases``
    the cases of reported comments. ``folds`` corrects the numbers of helpful votes, and ``names``
    the reservations of products. A caller can pass these objects to read their results afterwards.
    """
    scanned = await count_comments(table, seen)
    await (boards or Boards(table)).correct(scanned.misplaced())
    unfolded = {comment_id for (comment_id, _), left in scanned.votes.items() if left}
    await (cases or Cases(table)).correct(scanned.reported | unfolded)
    await (folds or HelpfulFolds(table)).correct(unfolded)
    await (names or Names(table)).correct()
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

    The stored count of each rating is compared with the number of comments. The stored total is
    compared with the sum of the stored counts.
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
