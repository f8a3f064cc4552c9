"""The applier: the records of a shard, counted exactly once.

Each transaction changes counters and moves the shard's checkpoint from what was read to the last
record it counts. A crash leaves both done or neither, and of two appliers of the same records one
finds the checkpoint moved: it reads the checkpoint again and skips what that covers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from dal import counters
from dal.contention import contend
from dal.counters import Action
from dal.dynamodb import Table
from dal.errors import ConditionFailedError, ConflictError
from dal.statistics import Deltas
from stream.checkpoints import Checkpoint, Checkpoints
from stream.records import Change, Record, changes_of, parts, total


class Applier:
    """Applies records of any shard of one stream; any number of appliers may run at once."""

    def __init__(self, table: Table, checkpoints: Checkpoints) -> None:
        self._table = table
        self._checkpoints = checkpoints

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
                await commit(self._table, [self._checkpoints.move(held, moved)], total(left))
            except ConditionFailedError:
                held = (await self._checkpoints.read([held.shard]))[held.shard]
                raise ConflictError("Another follower of this stream keeps ahead.") from None
            return moved

        return await contend(attempt)


async def commit(table: Table, actions: Sequence[Action], changes: Deltas) -> None:
    """Do ``actions`` and the changes of the counters in one transaction.

    Raises ConditionFailedError when the condition of one of ``actions`` does not hold, and
    ConflictError when others keep moving the counters.
    """
    await contend(partial(_attempt, table, actions, changes))


async def _attempt(table: Table, actions: Sequence[Action], changes: Deltas) -> None:
    keys = [counters.item_key(key) for key in counters.conditional(changes)]
    current = dict(map(counters.decode, await table.get_many(keys)))
    try:
        await table.write([*actions, *counters.actions(changes, current)])
    except ConditionFailedError as error:
        failed = [number for number in error.failed if number < len(actions)]
        if failed:
            raise ConditionFailedError(failed) from None
        raise ConflictError("Others keep moving the same counters: try again.") from None
