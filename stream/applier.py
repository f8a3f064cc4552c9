"""The applier: applies the records of a shard to the counters, exactly once.

Each transaction changes counters and moves the shard's checkpoint from what was read to the last
record it applies. A crash leaves both done or neither, and of two appliers of the same records one
finds the checkpoint moved: it reads the checkpoint again and skips what that covers.

Where there are no transactions, a redo log does the same (``stream.redo_log``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dal.errors import ConditionFailedError, ConflictError, StoreRefusedError
from dal.statistics.boards import Boards
from dal.statistics.comment_changes import CountedWrite
from dal.statistics.counter_transaction import commit
from dal.statistics.counts import Deltas
from dal.statistics.maintenance_mode import Maintenance, MaintenanceStore
from dal.table.client import Table
from dal.table.item import Action
from dal.table.retries import retry_on_conflict
from stream.checkpoints import Checkpoint, Checkpoints
from stream.records import Change, Record, changes_of, parts, total
from stream.redo_log import RedoLog

NOT_STREAM_MODE = (
    "The counters of this table are not kept from its stream now: run `marginalia stats rebuild "
    "--mode stream` to have it so, or let a running rebuild end."
)

_AHEAD = "Another follower of this stream keeps ahead."


class Applier:
    """Applies records of any shard of one stream; any number of appliers may run at once."""

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
        self._log = RedoLog(table, checkpoints.partition)
        self.checkpoints = checkpoints

    async def check(self) -> None:
        """Raise StoreRefusedError unless the maintenance mode is stream, without a rebuild."""
        check_stream_mode(await self._maintenance.current())

    async def apply(self, held: Checkpoint, records: Iterable[Record]) -> Checkpoint:
        """Apply ``records`` beyond the checkpoint and return the shard's new checkpoint.

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
        move = self._in_transaction if await self._table.has_transactions() else self._by_log

        async def attempt() -> Checkpoint:
            nonlocal held
            try:
                held = await move(held, part, sequence, done=done)
            except ConditionFailedError:
                held = await self._stored(held)
                raise ConflictError(_AHEAD) from None
            return held

        return await retry_on_conflict(attempt)

    async def _in_transaction(
        self, held: Checkpoint, part: Sequence[Change], sequence: str | None, *, done: bool
    ) -> Checkpoint:
        moved = _moved(held, sequence, done=done)
        if moved != held:
            action = self.checkpoints.move(held, moved)
            changes = _beyond(held, part)
            await apply_deltas(self._table, self._maintenance, self._boards, [action], changes)
        return moved

    async def _by_log(
        self, held: Checkpoint, part: Sequence[Change], sequence: str | None, *, done: bool
    ) -> Checkpoint:
        """Do the same as one batch of the log: what is read meanwhile changes by batches alone."""
        async with self._log.turn:
            await self.check()  # a rebuild makes anew what the last batch is for
            latest = await self._log.settle()
            held = await self._stored(held)
            moved = _moved(held, sequence, done=done)
            if moved != held:
                await self.check()
                changes = _beyond(held, part)
                try:
                    await self._log.commit(latest, self.checkpoints.move(held, moved), changes)
                finally:
                    self._boards.changed(changes)
        return moved

    async def _stored(self, held: Checkpoint) -> Checkpoint:
        return (await self.checkpoints.read([held.shard]))[held.shard]


def _moved(held: Checkpoint, sequence: str | None, *, done: bool) -> Checkpoint:
    """Return the checkpoint after a record, or at the shard's end; ``held`` if it covers that."""
    if held.done or (not done and sequence is not None and held.covers(sequence)):
        return held
    # ``finish`` may find that another applier has moved on: its record is then the last.
    return replace(held, sequence=held.sequence if done else sequence, done=done)


def _beyond(held: Checkpoint, part: Sequence[Change]) -> Deltas:
    return total(change for change in part if not held.covers(change.sequence))


async def apply_deltas(
    table: Table,
    maintenance: MaintenanceStore,
    boards: Boards,
    actions: Sequence[Action],
    changes: Deltas,
) -> None:
    """Do ``actions`` and change the counters by deltas, in one transaction.

    Raises ConditionFailedError when the condition of one of ``actions`` does not hold,
    and StoreRefusedError unless the maintenance mode is stream, without a rebuild.
    """

    def build(now: Maintenance) -> CountedWrite:
        check_stream_mode(now)
        return CountedWrite(actions, changes)

    await commit(table, maintenance, boards, build)


def check_stream_mode(now: Maintenance) -> None:
    """Raise StoreRefusedError unless the maintenance mode is stream, without a rebuild."""
    if not now.applies_stream:
        raise StoreRefusedError(NOT_STREAM_MODE)
