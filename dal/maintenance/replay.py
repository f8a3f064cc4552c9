"""A replay: the counts of a table's comments, by a scan and the records made since it began.

It remembers what each comment adds to the counters; comments of one product, language and rating
share that. A record's new image replaces what is remembered. So whatever order a scan and the
writes of others came in, once every record is read that was made before the scan's end, what is
remembered is the table as it was at the last record read.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from dal.entities.comment import comment_in, is_comment
from dal.maintenance.canaries import is_canary
from dal.statistics.counts import RatingCounts, RatingDeltas, StatisticsKey, deltas
from dal.stream.checkpoints import Checkpoint
from dal.stream.records import Record, changes_of, sequence_of
from dal.table.items import Item

_Contribution: TypeAlias = frozenset[tuple[StatisticsKey, RatingDeltas]]
"""What a comment adds to the counters by being there."""


class Replay:
    """What is remembered, in memory: about 250 bytes a comment, so 1 GB for four million.

    It is a sink of a ``Follower`` and keeps the checkpoints of its shards itself.
    """

    def __init__(self, began: datetime, before: Iterable[Checkpoint]) -> None:
        self.reached = {one.shard: one for one in before}
        self.events: list[str] = []
        """The ids of the records that were applied."""
        self.canaries: dict[str, str] = {}
        """The canaries that have come: partition key to shard."""
        self._began = began
        self._contributions: dict[str, _Contribution] = {}
        self._shared: dict[_Contribution, _Contribution] = {}

    def remember(self, key: Item, image: Item | None) -> None:
        """Take note of what an item is now; None is gone."""
        if not is_comment(key):
            return
        comment = comment_in(image)
        if comment is None:
            self._contributions.pop(key["PK"]["S"], None)
        else:
            contribution = frozenset(deltas(None, comment).items())
            self._contributions[key["PK"]["S"]] = self._shared.setdefault(
                contribution, contribution
            )

    def counts(self) -> dict[StatisticsKey, RatingCounts]:
        """Return what the statistics must be."""
        sums: dict[StatisticsKey, RatingCounts] = {}
        for contribution, comments in Counter(self._contributions.values()).items():
            for key, counts in contribution:
                sums[key] = sums.get(key, RatingCounts()) + counts * comments
        return sums

    @property
    def done(self) -> set[str]:
        """The shards that are closed and applied to their end."""
        return {shard for shard, checkpoint in self.reached.items() if checkpoint.done}

    # --- a sink of a follower ---

    @property
    def checkpoints(self) -> "Replay":
        """How far the shards are applied: it knows itself."""
        return self

    async def check(self) -> None:
        """Go on: the rebuild has announced itself."""

    async def apply(self, held: Checkpoint, records: Sequence[Record]) -> Checkpoint:
        """Remember what records say."""
        if not records:
            return held
        for record in records:
            key = record["dynamodb"]["Keys"]
            self.remember(key, record["dynamodb"].get("NewImage"))
            if is_canary(key):
                self.canaries[key["PK"]["S"]] = held.shard
        self.events += [change.event for change in changes_of(records)]
        return self._move(replace(held, sequence=sequence_of(records[-1])))

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move over records that change nothing."""
        return self._move(replace(held, sequence=sequence))

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Close a shard that is applied to its end."""
        return self._move(replace(held, done=True))

    async def read(self, shards: Sequence[str]) -> dict[str, Checkpoint]:
        """Return the checkpoint of each shard."""
        return {shard: self.reached.get(shard, Checkpoint(shard)) for shard in shards}

    async def watermark(self) -> datetime | None:
        """Return when the stream began."""
        return self._began

    async def raise_watermark(self, instant: datetime) -> None:
        """Leave that to the end."""

    def _move(self, to: Checkpoint) -> Checkpoint:
        self.reached[to.shard] = to
        return to
