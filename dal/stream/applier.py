"""The applier: applies the records of a shard to the counters, exactly once.

Each transaction changes counters and moves the shard's checkpoint to the last record that it
applies. A crash leaves both or neither. If two appliers read the same records, one finds the
checkpoint moved, reads it again, and skips the records that it covers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dal.client.retries import retry_on_conflict
from dal.client.table import Table
from dal.errors import ConditionFailedError, ConflictError, StoreRefusedError
from dal.statistics.boards import Boards
from dal.statistics.comment_changes import CountedWrite
from dal.statistics.counter_transaction import commit
from dal.statistics.counts import Deltas
from dal.statistics.mode import Maintenance, MaintenanceStore
from dal.stream.checkpoints import Checkpoint, Checkpoints
from dal.stream.records import Change, Record, changes_of, parts, total
from dal.table.items import Action

NOT_STREAM_MODE = (
    "This table's counters do not follow its stream now: run `marginalia stats rebuild --mode "
    "stream`, or wait for the running rebuild."
)

_AHEAD = "Another follower of this stream is ahead."


class Applier:
    """Applies records of any shard of one stream. Several appliers may run at once."""

    def __init__(
        self,
        table: Table,
        checkpoints: Checkpoints,
        maintenance: MaintenanceStore,
        boards: Boards | None = None,
    ) -> None:
        self._table = table
        self._maintenance = maintenance
        self._boards = boards or Boards(table)
        self.checkpoints = checkpoints

    async def check(self) -> None:
        """Raise StoreRefusedError unless the maintenance mode is stream, without a rebuild."""
        check_stream_mode(await self._maintenance.current())

    async def apply(self, held: Checkpoint, records: Iterable[Record]) -> Checkpoint:
        """Apply the records after the checkpoint, and return the shard's new checkpoint.

        ``records`` may begin before ``held`` and must follow it without a gap, except for records
        that change no counter. Those do not move the checkpoint.
        """
        for part in parts(changes_of(records), actions_each=0):
            held = await self._move(held, part, part[-1].sequence, done=False)
        return held

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move the checkpoint over records that change no counter."""
        return await self._move(held, [], sequence, done=False)

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Mark a shard as closed and applied to its end."""
        return await self._move(held, [], held.sequence, done=True)

    async def _move(
        self, held: Checkpoint, part: Sequence[Change], sequence: str | None, *, done: bool
    ) -> Checkpoint:
        async def attempt() -> Checkpoint:
            nonlocal held
            moved = _moved(held, sequence, done=done)
            if moved == held:
                return held
            changes = total(change for change in part if not held.covers(change.sequence))
            move = self.checkpoints.move(held, moved)
            try:
                await apply_deltas(self._table, self._maintenance, self._boards, [move], changes)
            except ConditionFailedError:
                held = (await self.checkpoints.read([held.shard]))[held.shard]
                raise ConflictError(_AHEAD) from None
            return moved

        return await retry_on_conflict(attempt)


def _moved(held: Checkpoint, sequence: str | None, *, done: bool) -> Checkpoint:
    """Return the checkpoint after a record, or at the shard's end; ``held`` if it covers that."""
    if held.done or (not done and sequence is not None and held.covers(sequence)):
        return held
    # If another applier has moved on, ``finish`` keeps that applier's last record.
    return replace(held, sequence=held.sequence if done else sequence, done=done)


async def apply_deltas(
    table: Table,
    maintenance: MaintenanceStore,
    boards: Boards,
    actions: Sequence[Action],
    changes: Deltas,
) -> None:
    """Write ``actions`` and the deltas of the counters in one transaction.

    Raises ConditionFailedError if the condition of an action fails, and StoreRefusedError unless
    the maintenance mode is stream, without a rebuild.
    """

    def build(now: Maintenance) -> CountedWrite:
        check_stream_mode(now)
        return CountedWrite(actions, changes)

    await commit(table, maintenance, boards, build)


def check_stream_mode(now: Maintenance) -> None:
    """Raise StoreRefusedError unless the maintenance mode is stream, without a rebuild."""
    if not now.applies_stream:
        raise StoreRefusedError(NOT_STREAM_MODE)
