"""Applies the records of a stream's shards to the counters, each exactly once.

A shard's checkpoint contains the sequence number of the last applied record. One transaction
changes both the counters and the checkpoint, so a crash cannot leave only one of them changed. If
two appliers read the same records, the transaction of the slower applier fails, because the
checkpoint is newer than expected. The slower applier then reads the checkpoint again, and skips the
records up to this checkpoint.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from dal.counts.boards import Boards
from dal.counts.counts import Deltas, deltas, summed
from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.retries import retry_on_conflict
from dal.dynamodb.table import Table
from dal.entities.comment import comment_in, is_comment
from dal.table.errors import StoreRefusedError
from dal.writes.changes import fitting
from dal.writes.transaction import commit
from features.stream_counting.checkpoints import Checkpoint, Checkpoints

NOT_STREAM_MODE = (
    "At present, this table's stream does not change its counters: run `marginalia stats rebuild "
    "--mode stream`, or wait for the running rebuild."
)

Record: TypeAlias = dict[str, Any]
"""A record of DynamoDB Streams, in the form of GetRecords and of Lambda's events."""


@dataclass(frozen=True, slots=True)
class Change:
    """How a record changes counters.

    ``event`` is the record's event id. ``sequence`` is its sequence number in its shard.
    """

    event: str
    sequence: str
    deltas: Deltas


def sequence_of(record: Record) -> str:
    """Return a record's sequence number, in digits."""
    return str(record["dynamodb"]["SequenceNumber"])


def made_at(record: Record) -> datetime | None:
    """Return the time of a record's change; None if the service does not report it."""
    made = record["dynamodb"].get("ApproximateCreationDateTime")
    return datetime.fromtimestamp(made, UTC) if isinstance(made, float | int) else made


def changes_of(records: Iterable[Record]) -> list[Change]:
    """Return the changes of those records that change counters, in the order of the records.

    Three kinds of records change no counter:

    - records of items that are not comments;
    - records of comments that are counted neither before nor after the change, for example
      unpublished comments;
    - edits of published comments that keep the values by which comments are counted.
    """
    changes: list[Change] = []
    for record in records:
        images = record["dynamodb"]
        if is_comment(images["Keys"]):
            old, new = comment_in(images.get("OldImage")), comment_in(images.get("NewImage"))
            if changed := deltas(old, new):
                changes.append(Change(record["eventID"], sequence_of(record), changed))
    return changes


def total(changes: Iterable[Change]) -> Deltas:
    """Return the sum of several changes."""
    return summed(change.deltas for change in changes)


def parts(changes: Iterable[Change], actions_each: int) -> Iterator[list[Change]]:
    """Yield the changes in parts. Each part fits in one transaction.

    A transaction has an action for each changed counter, and ``actions_each`` actions for each
    change. One more action is reserved for the checkpoint.
    """
    return fitting(changes, lambda change: change.deltas, actions_each=actions_each)


class Applier(Checkpoints):
    """Applies records of any shard of one stream, and stores the shard's checkpoint.

    Several appliers may run at the same time.
    """

    def __init__(self, table: Table, stream: str, boards: Boards | None = None) -> None:
        super().__init__(table, stream)
        self._maintenance = MaintenanceStore(table)
        self._boards = boards or Boards(table)

    async def check(self) -> None:
        """Raise StoreRefusedError unless the mode is stream and no rebuild is running."""
        check_mode(await self._maintenance.current())

    async def apply(self, held: Checkpoint, records: Iterable[Record]) -> Checkpoint:
        """Apply the records after the checkpoint ``held``, and return the shard's new checkpoint.

        ``records`` may begin before the checkpoint. After the checkpoint, they must have no gap: a
        missing record would never be counted. Only records that change no counter may be missing,
        and such records do not move the checkpoint.
        """
        for part in parts(changes_of(records), actions_each=0):
            held = await self._move(held, part, part[-1].sequence, done=False)
        return held

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move the checkpoint to a later record, after records that change no counter."""
        return await self._move(held, [], sequence, done=False)

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Record in the checkpoint that the shard is closed and fully applied."""
        return await self._move(held, [], None, done=True)

    async def _move(
        self, held: Checkpoint, part: Sequence[Change], sequence: str | None, *, done: bool
    ) -> Checkpoint:
        async def attempt() -> Checkpoint:
            nonlocal held
            if held.done or (sequence is not None and held.covers(sequence)):
                return held
            # ``finish`` passes no sequence number. The checkpoint then keeps its present sequence
            # number, which another applier may have stored.
            moved = replace(held, sequence=sequence or held.sequence, done=done)
            changes = total(change for change in part if not held.covers(change.sequence))
            now = await self._maintenance.current()
            check_mode(now)
            try:
                await commit(self._table, now, [self._boards], [self.move(held, moved)], changes)
            except ConditionFailedError:
                held = (await self.read([held.shard]))[held.shard]
                raise ConflictError(
                    "Another follower of this stream has applied these records already."
                ) from None
            return moved

        return await retry_on_conflict(attempt)


def check_mode(now: Maintenance) -> None:
    """Raise StoreRefusedError unless the maintenance mode is stream and no rebuild is running."""
    if now.counts_in_writes or now.rebuilding:
        raise StoreRefusedError(NOT_STREAM_MODE)
