"""The follower: reads every shard of a table's stream, and applies the records.

The follower reads a shard to its end before it reads the child shards. In each round, the follower
sends one GetRecords for every open shard, in parallel. A round without records raises the
watermark, at most once every 10 seconds. The watermark is an instant before which all records are
applied. The follower stores its progress in the table, so it may be killed at any moment.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Protocol

from dal.counts.boards import Boards
from dal.dynamodb import admin
from dal.dynamodb.concurrency import in_parallel
from dal.dynamodb.errors import (
    ChangesLostError,
    ConflictError,
    IteratorExpiredError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.dynamodb.responses import CHANGES_LOST
from dal.dynamodb.table import Table
from dal.table.errors import StoreRefusedError
from features.stream_counting.applier import Applier, Record, made_at, sequence_of
from features.stream_counting.checkpoints import Checkpoint, Checkpoints, label_of
from features.stream_counting.streams import Streams, stream_of

RETENTION = timedelta(hours=23)
"""The age up to which all records are certainly still in the stream. DynamoDB keeps records for 24
hours, and the difference is a margin."""

LISTING = timedelta(seconds=10)
"""The interval between two reads of the list of shards."""

WATERMARK = timedelta(seconds=10)
"""The interval between two raises of the watermark."""

SKIPPING = timedelta(hours=1)
"""The interval at which a shard's checkpoint moves while the shard's records change no counter."""

READ_EVERY = 0.4
"""Seconds between two rounds, if the first round read records, but no response was full. A shard
allows five GetRecords per second, and DynamoDB recommends at most two readers of a shard. At this
interval, two readers together send five GetRecords per second."""

LONGEST_PAUSE = 1.0
"""Maximum seconds between two rounds without records."""

LONGEST_BACKOFF = 30.0
"""Maximum seconds between two rounds after temporary errors: DynamoDB throttles or does not
respond, or a write conflicts with another follower's write."""

FULL = 1_000
"""The maximum number of records in a response. After a response with this number of records, the
shard may have more."""

NOT_BEGUN = (
    "This table's comments are not counted by a stream: run `marginalia stats rebuild --mode "
    "stream`."
)
SWITCHED_OFF = (
    "The table's stream was switched off, and all its records are applied: run `marginalia stats "
    "rebuild`, which switches a new stream on."
)

_TRANSIENT = (ThrottledError, StoreUnavailableError, ConflictError)

_log = logging.getLogger(__name__)


class Sink(Protocol):
    """Applies each record once, in its shard's order, and stores checkpoints: see ``Applier``."""

    async def check(self) -> None:
        """Raise DalError if records must not be applied any more."""

    async def apply(self, held: Checkpoint, records: Sequence[Record]) -> Checkpoint:
        """Apply the records after a checkpoint, and return the new checkpoint."""

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move the checkpoint to a later record, after records that change no counter."""

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Record in the checkpoint that a closed shard is fully applied."""

    async def read(self, shards: Sequence[str]) -> dict[str, Checkpoint]:
        """Return the checkpoint of each shard."""

    async def watermark(self) -> datetime | None:
        """Return an instant before which every record is applied."""

    async def raise_watermark(self, instant: datetime) -> None:
        """Store a later watermark."""


class FollowerInstruments(Protocol):
    """Observes a follower, for metrics."""

    def applied(self, made: datetime | None, now: datetime) -> None:
        """Report that records of a shard were applied.

        ``made`` is the time of the last record's change; None if it is unknown.
        """

    def round(self, now: datetime, *, unread: bool) -> None:
        """Report that the follower has read all shards once.

        ``unread`` is True if a shard may have unread records.
        """


FOLLOWER_INSTRUMENTS: ContextVar[FollowerInstruments | None] = ContextVar(
    "follower_instruments", default=None
)
"""The object that receives the follower's reports. With None, nothing is reported."""


@dataclass(slots=True)
class _ShardReader:
    """The follower's position in an open shard: the shard's checkpoint and the next iterator."""

    checkpoint: Checkpoint
    saved: datetime
    """The time when the checkpoint was last stored, or when this reader was opened."""
    iterator: str | None = None
    latest: str | None = None
    """The sequence number of the last record that was read."""


async def follow(table: Table, streams: Streams) -> None:
    """Apply the table's stream to its counters until cancelled.

    After a temporary error, the follower tries again. An error is temporary if DynamoDB throttles
    or does not respond, or if a write conflicts with another follower's write.

    Raises StoreRefusedError in five cases:

    - The table has no stream.
    - The stream's records do not contain the item before and after the change.
    - The stream was switched off.
    - The maintenance mode is no longer stream, or a rebuild is running.
    - The endpoint does not support transactions.

    Raises ChangesLostError if records expired before they were applied.
    """
    await admin.check_transactions(table)
    boards = Boards(table)
    follower = await open_follower(table, streams, boards)
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


async def open_follower(table: Table, streams: Streams, boards: Boards | None = None) -> "Follower":
    """Return a follower of the table's stream.

    Raises StoreRefusedError if the stream is off, or if its records do not contain the item before
    and after the change. ``boards`` receives the products that must move on leaderboards.
    """
    arn = await stream_of(table)
    if arn is None:
        raise StoreRefusedError(NOT_BEGUN)
    return Follower(streams, arn, Applier(table, label_of(arn), boards))


async def caught_up(table: Table) -> datetime:
    """Return an instant before which all changes are applied.

    Raises StoreRefusedError if the table has no stream, or if the stream has no watermark.
    """
    arn = await stream_of(table)
    reached = arn and await Checkpoints(table, label_of(arn)).watermark()
    if not reached:
        raise StoreRefusedError(NOT_BEGUN)
    return reached


class Follower:
    """Reads all shards of a stream. Several followers may read the same stream."""

    def __init__(self, streams: Streams, arn: str, sink: Sink) -> None:
        self._streams = streams
        self._arn = arn
        self._sink = sink
        self._readers: dict[str, _ShardReader] = {}
        self._done: set[str] = set()
        self._listed: datetime | None = None
        self._raised: datetime | None = None
        self._complete = False
        self.behind = False
        """Whether a response of the latest round was full, so that unread records may remain."""

    async def round(self) -> bool:
        """Read each open shard once, and apply its records.

        Return False only if no shard has new records.
        """
        await self._sink.check()
        if self._listed is None or self._streams.now() - self._listed >= LISTING:
            await self._list()
        began, self.behind = self._streams.now(), False
        readers = list(self._readers.values())
        busy = any(await in_parallel([self._read(one, began) for one in readers]))
        if (instruments := FOLLOWER_INSTRUMENTS.get()) is not None:
            # A shard with new records may have more. A shard that is not listed yet may have some.
            instruments.round(self._streams.now(), unread=busy or not self._complete)
        late = self._raised is None or began - self._raised >= WATERMARK
        if late and self._complete and not busy:
            await self._sink.raise_watermark(began)
            self._raised = began
        return busy

    async def _list(self) -> None:
        """List the stream's shards, and open a reader for each shard that can be read.

        A shard can be read if it has no parent, or if its parent is fully read or no longer listed.
        """
        stream = await self._streams.describe(self._arn)
        began = self._streams.now()  # read after ``describe``, whose response corrects this clock
        listed = {shard.shard_id: shard for shard in stream.shards}
        unknown = [one for one in listed if one not in self._readers and one not in self._done]
        stored = await self._sink.read(unknown)
        self._done.update(shard for shard, checkpoint in stored.items() if checkpoint.done)
        for shard, checkpoint in stored.items():
            parent = listed[shard].parent
            if not checkpoint.done and (parent not in listed or parent in self._done):
                if checkpoint.sequence is None:
                    # No record of this shard is applied, but all records before the watermark are
                    # applied. So this shard's records are newer than the watermark. If the
                    # watermark is older than the time for which DynamoDB keeps records, the shard's
                    # first records may have expired.
                    applied = await self._sink.watermark()
                    if applied is None:
                        raise StoreRefusedError(NOT_BEGUN)
                    if began - applied > RETENTION:
                        raise ChangesLostError(CHANGES_LOST)
                self._readers[shard] = _ShardReader(checkpoint, saved=began)
        if not self._readers and stream.status in {"DISABLING", "DISABLED"}:
            raise StoreRefusedError(SWITCHED_OFF)
        # A closed shard has a child, but DynamoDB may not list the child yet. Until DynamoDB lists
        # the child, the watermark must not be raised, because the child may have unread records.
        parents = {shard.parent for shard in stream.shards}
        self._complete = bool(listed) and all(one in parents for one in self._done & set(listed))
        self._listed = began

    async def _read(self, reader: _ShardReader, began: datetime) -> bool:
        """Read a shard once, and apply its records.

        Return False only if the shard has no new records.
        """
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
            instruments.applied(made_at(answer.records[-1]), self._streams.now())
        if reader.checkpoint != held:
            reader.saved = began
        reader.iterator = answer.iterator
        if answer.iterator is None or reader.checkpoint.done:
            await self._sink.finish(reader.checkpoint)
            del self._readers[held.shard]
            self._done.add(held.shard)
            self._listed = None  # list again, because the child shards can be read now
            return True
        # Records that change no counter do not move the checkpoint. So move it once an hour, before
        # the record that it points to expires.
        if reader.latest is not None and began - reader.saved >= SKIPPING:
            reader.checkpoint = await self._sink.skip(reader.checkpoint, reader.latest)
            reader.saved = began
        return bool(answer.records)
