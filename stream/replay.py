"""A replay: the counts of a table's comments, by a scan and the records made since it began.

It remembers what each comment adds to the counters; comments of one product, language and rating
share that. A record's new image replaces what is remembered. So whatever order a scan and the
writes of others came in, once every record is read that was made before the scan's end, what is
remembered is the table as it was at the last record read.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import monotonic
from typing import TypeAlias

from dal.entities.comment import comment_in, is_comment
from dal.statistics.counts import RatingCounts, RatingDeltas, StatisticsKey, deltas
from dal.table.item import Item
from stream.checkpoints import Checkpoint
from stream.records import Record, changes_of, sequence_of

_Contribution: TypeAlias = frozenset[tuple[StatisticsKey, RatingDeltas]]
"""What a comment adds to the counters by being there."""

QUIET_SECONDS = 2.0
"""How long a shard must have had nothing: one empty answer proves little."""

LATE = timedelta(seconds=30)
"""A record made so long after the scan's end comes after all those before it, whoever's clock."""


class Replay:
    """What is remembered, in memory: about 250 bytes a comment, so 1 GB for four million.

    It is a sink of a ``Follower`` and keeps the checkpoints of its shards itself.
    """

    def __init__(self, began: datetime, before: Iterable[Checkpoint]) -> None:
        self.reached = {one.shard: one for one in before}
        self.events: list[str] = []
        """The ids of the records that were applied."""
        self._began = began
        self._contributions: dict[str, _Contribution] = {}
        self._shared: dict[_Contribution, _Contribution] = {}
        self._quiet: dict[str, float] = {}
        self._made: dict[str, datetime] = {}

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

    def covers(self, shard: str, scanned: datetime) -> bool:
        """Return whether all records of a shard are applied that were made before ``scanned``."""
        if self.reached.get(shard, Checkpoint(shard)).done:
            return True
        made = self._made.get(shard)
        if made is not None and made - scanned >= LATE:
            return True
        since = self._quiet.get(shard)
        return since is not None and monotonic() - since >= QUIET_SECONDS

    # --- a sink of a follower ---

    @property
    def checkpoints(self) -> "Replay":
        """How far the shards are applied: it knows itself."""
        return self

    async def check(self) -> None:
        """Go on: the rebuild has announced itself."""

    async def apply(self, held: Checkpoint, records: Sequence[Record]) -> Checkpoint:
        """Remember what records say; none makes the shard quiet."""
        if not records:
            self._quiet.setdefault(held.shard, monotonic())
            return held
        self._quiet.pop(held.shard, None)
        for record in records:
            self.remember(record["dynamodb"]["Keys"], record["dynamodb"].get("NewImage"))
        self.events += [change.event for change in changes_of(records)]
        self._made[held.shard] = records[-1]["dynamodb"]["ApproximateCreationDateTime"]
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
