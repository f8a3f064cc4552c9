"""Shards of the counters: over how many items a product's counts of a language are spread.

A transaction is refused while another one on the same item is under way, and all writers of a
product change the same few counters. Over several items they meet seldom: each transaction changes
one of the shards, any of them, and readers sum all that there are. So whoever goes by another
number is right, too, and counts need no moving.

But a sum is not of one moment. Where a comment is added to one item and deleted from another while
a reader stands between the two, its sum lacks a comment that was there all the time. So over
several shards, and while some writers may still go by several, a sum of zero proves nothing.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CounterShards:
    """Writers go by ``counter_shards``; while that changes, ``counter_target`` is to come."""

    counter_shards: int = 1
    counter_target: int = 0

    @property
    def moving(self) -> bool:
        """Whether some writers may go by another number."""
        return self.counter_target > 0

    @property
    def one_moment(self) -> bool:
        """Whether a sum is of one moment: each comment is counted by the changes of one item."""
        return self.counter_shards == 1 and not self.moving

    def draw(self) -> int | None:
        """Return a shard for the counters of one transaction; None where there is but one."""
        if self.counter_shards == 1:
            return None
        return random.randrange(self.counter_shards)  # noqa: S311 - no secret

    def written(self, shard: int | None) -> bool:
        """Return whether writers change this shard."""
        if shard is None:
            return self.counter_shards == 1
        return shard < self.counter_shards > 1

    def next(self, target: int) -> "CounterShards":
        """Return the step that follows on the way to ``target``."""
        if not self.moving:
            return CounterShards(self.counter_shards, target)
        return CounterShards(target, 0 if self.counter_shards == target else target)


ONE_COUNTER = CounterShards()
