"""The follower: reads every shard of a table's stream, parents before children, and applies it.

It works in rounds: one GetRecords of every open shard at once. When a round finds nothing left, the
watermark says so. Nothing is kept but what the checkpoints hold, so it may be killed at any moment.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Protocol

from dal.client import admin
from dal.client.concurrency import in_parallel
from dal.client.responses import CHANGES_LOST
from dal.client.streams import Streams
from dal.client.table import Table
from dal.errors import (
    ChangesLostError,
    ConflictError,
    IteratorExpiredError,
    StoreRefusedError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.instrumentation import FOLLOWER_INSTRUMENTS
from dal.statistics.boards import Boards
from dal.statistics.mode import MaintenanceStore
from dal.stream.applier import Applier
from dal.stream.checkpoints import Checkpoint, Checkpoints, label_of
from dal.stream.records import Record, made_at, sequence_of

RETENTION = timedelta(hours=23)
"""Records are kept for 24 hours; an hour is for what is known late."""

LISTING = timedelta(seconds=10)
WATERMARK = timedelta(seconds=10)
SKIPPING = timedelta(hours=1)
"""How often to list the shards, to raise the watermark, and to save what changes nothing."""

READ_EVERY = 0.4
"""Seconds between rounds that leave little behind: with it two readers of a shard, which is the
most, ask for its records five times a second."""

LONGEST_PAUSE = 1.0
LONGEST_BACKOFF = 30.0
"""Seconds between rounds: while nothing happens, and while DynamoDB does not answer."""

FULL = 1_000
"""Records of an answer that others follow."""

NOT_BEGUN = (
    "The table has no stream that a rebuild began: run `marginalia stats rebuild --mode stream`."
)
SWITCHED_OFF = (
    "The table's stream was switched off, and all it had is applied: "
    "run `marginalia stats rebuild` to begin another."
)

_TRANSIENT = (ThrottledError, StoreUnavailableError, ConflictError)

_log = logging.getLogger(__name__)


class CheckpointStore(Protocol):
    """Keeps how far each shard is applied: see ``dal.stream.checkpoints``."""

    async def read(self, shards: Sequence[str]) -> dict[str, Checkpoint]:
        """Return the checkpoint of each shard."""

    async def watermark(self) -> datetime | None:
        """Return an instant before which every record was applied."""

    async def raise_watermark(self, instant: datetime) -> None:
        """Keep a later watermark."""


class Sink(Protocol):
    """Applies records, each once and in its shard's order: see ``dal.stream.applier``."""

    @property
    def checkpoints(self) -> CheckpointStore:
        """How far the shards are applied."""

    async def check(self) -> None:
        """Raise DalError if nothing may be applied any more."""

    async def apply(self, held: Checkpoint, records: Sequence[Record]) -> Checkpoint:
        """Apply what follows a checkpoint and return the next one."""

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move over records that change nothing."""

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Close a shard that is applied to its end."""


@dataclass(slots=True)
class _ShardReader:
    """An open shard: its checkpoint, and the iterator that reads on."""

    checkpoint: Checkpoint
    saved: datetime
    iterator: str | None = None
    latest: str | None = None


async def follow(table: Table, streams: Streams) -> None:
    """Keep the table's counters up with its stream until cancelled.

    Raises StoreRefusedError where no stream was begun, it was switched off, the maintenance mode is
    no longer stream, or the endpoint has no transactions. Raises ChangesLostError when records are
    gone before they were applied. When DynamoDB does not answer, it goes on trying.
    """
    await admin.check_transactions(table)
    boards = Boards(table)
    follower = await open_follower(table, streams, boards=boards)
    boards.start()
    pause = READ_EVERY
    try:
        while True:
            began = monotonic()
            try:
                busy = await follower.round()
            except _TRANSIENT as error:
                _log.warning("%s", error)
                pause = min(2 * pause, LONGEST_BACKOFF)
            else:
                pause = READ_EVERY if busy else min(2 * pause, LONGEST_PAUSE)
                if follower.behind:
                    continue
            await asyncio.sleep(max(0.0, began + pause - monotonic()))
    finally:
        await boards.finish()


async def open_follower(
    table: Table,
    streams: Streams,
    clock: Callable[[], datetime] | None = None,
    *,
    boards: Boards | None = None,
) -> "Follower":
    """Return a follower of the table's stream; StoreRefusedError where there is none.

    ``boards`` is told whose places on leaderboards change.
    """
    arn = await admin.stream(table)
    if arn is None:
        raise StoreRefusedError(NOT_BEGUN)
    applier = Applier(table, Checkpoints(table, label_of(arn)), MaintenanceStore(table), boards)
    return Follower(streams, arn, applier, clock)


async def caught_up(table: Table) -> datetime:
    """Return an instant before which all changes are applied; StoreRefusedError if none is."""
    arn = await admin.stream(table)
    reached = arn and await Checkpoints(table, label_of(arn)).watermark()
    if not reached:
        raise StoreRefusedError(NOT_BEGUN)
    return reached


class Follower:
    """One reader of all shards of a stream; others may read the same stream meanwhile."""

    def __init__(
        self,
        streams: Streams,
        arn: str,
        sink: Sink,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._streams = streams
        self._arn = arn
        self._clock = clock or streams.now
        self._sink = sink
        self._checkpoints = sink.checkpoints
        self._readers: dict[str, _ShardReader] = {}
        self._done: set[str] = set()
        self._listed: datetime | None = None
        self._raised: datetime | None = None
        self._complete = False
        self.behind = False
        """Whether the latest round left records that it could have read: an answer was full."""

    async def round(self) -> bool:
        """Read each open shard once and apply what it has; False when nothing was left."""
        await self._sink.check()
        if self._listed is None or self._clock() - self._listed >= LISTING:
            await self._list()
        began, self.behind = self._clock(), False
        readers = list(self._readers.values())
        busy = any(await in_parallel([self._read(one, began) for one in readers]))
        if (instruments := FOLLOWER_INSTRUMENTS.get()) is not None:
            instruments.round(self._clock(), left=busy)
        if not busy and self._complete:
            await self._caught_up(began)
        return busy

    async def _list(self) -> None:
        """Find the shards that can be read now: those whose parent is done, or gone."""
        stream = await self._streams.describe(self._arn)
        began = self._clock()  # the answer tells the time by the service's clock
        listed = {shard.shard_id: shard for shard in stream.shards}
        unknown = [one for one in listed if one not in self._readers and one not in self._done]
        stored = await self._checkpoints.read(unknown)
        self._done.update(shard for shard, checkpoint in stored.items() if checkpoint.done)
        for shard, checkpoint in stored.items():
            parent = listed[shard].parent
            if not checkpoint.done and (parent not in listed or parent in self._done):
                if checkpoint.sequence is None:
                    await self._check_retention(began)
                self._readers[shard] = _ShardReader(checkpoint, saved=began)
        if not self._readers and stream.ended:
            raise StoreRefusedError(SWITCHED_OFF)
        # A shard that was closed has a child, though it may not be listed yet.
        parents = {shard.parent for shard in stream.shards}
        self._complete = bool(listed) and all(one in parents for one in self._done & set(listed))
        self._listed = began

    async def _check_retention(self, began: datetime) -> None:
        """Make sure that no record of a shard that was never read can be gone.

        All that came before the watermark is applied, so what is not is younger.
        """
        applied = await self._checkpoints.watermark()
        if applied is None:
            raise StoreRefusedError(NOT_BEGUN)
        if began - applied > RETENTION:
            raise ChangesLostError(CHANGES_LOST)

    async def _read(self, reader: _ShardReader, began: datetime) -> bool:
        """Apply what the shard's next request has; False when it has nothing."""
        held = reader.checkpoint
        try:
            if reader.iterator is None:
                reader.iterator = await self._streams.iterator(
                    self._arn, held.shard, after=held.sequence
                )
            answer = await self._streams.records(reader.iterator)
        except IteratorExpiredError:
            reader.iterator = None
            return True
        self.behind |= len(answer.records) >= FULL
        if answer.records:
            reader.latest = sequence_of(answer.records[-1])
        reader.checkpoint = await self._sink.apply(held, answer.records)
        if answer.records and (instruments := FOLLOWER_INSTRUMENTS.get()) is not None:
            instruments.applied(made_at(answer.records[-1]), self._clock())
        if reader.checkpoint != held:
            reader.saved = began
        reader.iterator = answer.iterator
        if answer.iterator is None or reader.checkpoint.done:
            await self._finish(reader)
            return True
        await self._skip(reader, began)
        return bool(answer.records)

    async def _skip(self, reader: _ShardReader, began: datetime) -> None:
        """Now and then, save that records were read which change nothing, before they are gone."""
        if reader.latest is not None and began - reader.saved >= SKIPPING:
            reader.checkpoint = await self._sink.skip(reader.checkpoint, reader.latest)
            reader.saved = began

    async def _finish(self, reader: _ShardReader) -> None:
        shard = reader.checkpoint.shard
        await self._sink.finish(reader.checkpoint)
        del self._readers[shard]
        self._done.add(shard)
        self._listed = None  # its children can be read

    async def _caught_up(self, began: datetime) -> None:
        if self._raised is None or began - self._raised >= WATERMARK:
            await self._checkpoints.raise_watermark(began)
            self._raised = began
