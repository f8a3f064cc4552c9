"""The applier: applies the records of a shard to the counters, exactly once.

A shard's checkpoint is the number of its last applied record. One transaction changes the counters
and moves the checkpoint, so after a crash both are done or neither is. If two appliers read the
same records, the slower one finds that the checkpoint has moved. It reads the checkpoint again, and
skips the records up to it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from dal.client.retries import retry_on_conflict
from dal.client.table import Table
from dal.entities.comment import comment_in, is_comment
from dal.errors import ConditionFailedError, ConflictError, StoreRefusedError
from dal.statistics.boards import Boards
from dal.statistics.comment_changes import CountedWrite, fitting
from dal.statistics.counter_transaction import commit
from dal.statistics.counts import Deltas, deltas, summed
from dal.statistics.mode import Maintenance, MaintenanceStore
from dal.stream.checkpoints import Checkpoint, Checkpoints
from dal.table.items import Action

NOT_STREAM_MODE = (
    "This table's counters do not follow its stream now: run `marginalia stats rebuild --mode "
    "stream`, or wait for the running rebuild."
)

Record: TypeAlias = dict[str, Any]
"""A record of DynamoDB Streams, as GetRecords returns it and as Lambda delivers it."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change of counters by a record. ``sequence`` is the record's number in its shard."""

    event: str
    sequence: str
    deltas: Deltas


def sequence_of(record: Record) -> str:
    """Return a record's sequence number, in digits."""
    return str(record["dynamodb"]["SequenceNumber"])


def made_at(record: Record) -> datetime | None:
    """Return the instant of a record's change, or None if the service omits it."""
    made = record["dynamodb"].get("ApproximateCreationDateTime")
    return datetime.fromtimestamp(made, UTC) if isinstance(made, float | int) else made


def changes_of(records: Iterable[Record]) -> list[Change]:
    """Return the records that change counters, in their order.

    Two kinds of records change no counter: records of other items, and edits that keep product,
    language and rating.
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
    """Yield the changes in non-empty parts, each small enough for one transaction.

    A transaction has an action for each counter, one further action, and ``actions_each`` for each
    change.
    """
    return fitting(changes, lambda change: change.deltas, actions_each=actions_each)


class Applier(Checkpoints):
    """Applies records of any shard of one stream, and moves its checkpoints.

    Several appliers may run at once.
    """

    def __init__(
        self,
        table: Table,
        stream: str,
        maintenance: MaintenanceStore,
        boards: Boards | None = None,
    ) -> None:
        super().__init__(table, stream)
        self._maintenance = maintenance
        self._boards = boards or Boards(table)

    async def check(self) -> None:
        """Raise StoreRefusedError unless the maintenance mode is stream, without a rebuild."""
        check_mode(await self._maintenance.current())

    async def apply(self, held: Checkpoint, records: Iterable[Record]) -> Checkpoint:
        """Apply the records after the checkpoint, and return the shard's new checkpoint.

        ``records`` may begin before the checkpoint ``held``. They must include every later record
        that changes a counter. Records that change no counter do not move the checkpoint.
        """
        for part in parts(changes_of(records), actions_each=0):
            held = await self._move(held, part, part[-1].sequence, done=False)
        return held

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move the checkpoint over records that change no counter."""
        return await self._move(held, [], sequence, done=False)

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Mark a shard as closed and applied to its end."""
        return await self._move(held, [], None, done=True)

    async def _move(
        self, held: Checkpoint, part: Sequence[Change], sequence: str | None, *, done: bool
    ) -> Checkpoint:
        async def attempt() -> Checkpoint:
            nonlocal held
            if held.done or (sequence is not None and held.covers(sequence)):
                return held
            # If another applier has moved the checkpoint, ``finish`` keeps its last record.
            moved = replace(held, sequence=sequence or held.sequence, done=done)
            changes = total(change for change in part if not held.covers(change.sequence))
            write = counted([self.move(held, moved)], changes)
            try:
                await commit(self._table, self._maintenance, self._boards, write)
            except ConditionFailedError:
                held = (await self.read([held.shard]))[held.shard]
                raise ConflictError(
                    "Another follower of this stream has applied these records already."
                ) from None
            return moved

        return await retry_on_conflict(attempt)


def counted(actions: Sequence[Action], changes: Deltas) -> Callable[[Maintenance], CountedWrite]:
    """Return the write of ``actions`` and the deltas of the counters, for ``commit``.

    The write raises StoreRefusedError as ``check_mode`` does.
    """

    def build(now: Maintenance) -> CountedWrite:
        check_mode(now)
        return CountedWrite(actions, changes)

    return build


def check_mode(now: Maintenance) -> None:
    """Raise StoreRefusedError unless the maintenance mode is stream, without a rebuild."""
    if not now.applies_stream:
        raise StoreRefusedError(NOT_STREAM_MODE)
