"""The applier: the records of a shard, counted exactly once.

Each transaction changes counters and moves the shard's checkpoint from what was read to the last
record it counts. A crash leaves both done or neither, and of two appliers of the same records one
finds the checkpoint moved: it reads the checkpoint again and skips what that covers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dal.contention import contend
from dal.counted import commit
from dal.counters import Action
from dal.counting import Counting, CountingStore
from dal.dynamodb import Table
from dal.edits import Write
from dal.errors import ConditionFailedError, ConflictError, StoreRefusedError
from dal.statistics import Deltas
from stream.checkpoints import Checkpoint, Checkpoints
from stream.records import Change, Record, changes_of, parts, total

NOT_FOLLOWED = (
    "The table's stream is not what is counted now: run `marginalia stats rebuild --mode stream` "
    "to have it so, or let a running rebuild end."
)


class Applier:
    """Applies records of any shard of one stream; any number of appliers may run at once."""

    def __init__(self, table: Table, checkpoints: Checkpoints, counting: CountingStore) -> None:
        self._table = table
        self._counting = counting
        self.checkpoints = checkpoints

    async def check(self) -> None:
        """Raise StoreRefusedError where the stream is not what is counted."""
        check_followed(await self._counting.current())

    async def apply(self, held: Checkpoint, records: Iterable[Record]) -> Checkpoint:
        """Count ``records`` beyond the checkpoint and return the shard's new checkpoint.

        ``records`` follow ``held`` without a gap, but for ones that change nothing, and may begin
        before it. Records that change nothing do not move the checkpoint.
        """
        for part in parts(changes_of(records), actions_each=0):
            held = await self._move(held, part, part[-1].sequence, done=False)
        return held

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move the checkpoint over records that were read and change nothing."""
        return await self._move(held, [], sequence, done=False)

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Mark a shard as closed and applied to its end."""
        return await self._move(held, [], held.sequence, done=True)

    async def _move(
        self, held: Checkpoint, part: Sequence[Change], sequence: str | None, *, done: bool
    ) -> Checkpoint:
        async def attempt() -> Checkpoint:
            nonlocal held
            if held.done or (not done and sequence is not None and held.covers(sequence)):
                return held
            # ``finish`` may find that another applier has moved on: its record is then the last.
            last = held.sequence if done else sequence
            moved = replace(held, sequence=last, done=done)
            left = [change for change in part if not held.covers(change.sequence)]
            try:
                action = self.checkpoints.move(held, moved)
                await count(self._table, self._counting, [action], total(left))
            except ConditionFailedError:
                held = (await self.checkpoints.read([held.shard]))[held.shard]
                raise ConflictError("Another follower of this stream keeps ahead.") from None
            return moved

        return await contend(attempt)


async def count(
    table: Table, counting: CountingStore, actions: Sequence[Action], changes: Deltas
) -> None:
    """Do ``actions`` and the changes of the counters in one transaction.

    Raises ConditionFailedError when the condition of one of ``actions`` does not hold,
    ConflictError when others keep moving the counters, and StoreRefusedError where the stream is
    not what is counted.
    """

    def build(now: Counting) -> Write:
        check_followed(now)
        return Write(actions, changes)

    await commit(table, counting, build)


def check_followed(now: Counting) -> None:
    """Raise StoreRefusedError where the stream is not what is counted."""
    if not now.follows:
        raise StoreRefusedError(NOT_FOLLOWED)
