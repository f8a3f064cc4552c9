"""Rebuilds the statistics of a table that other programs write to. Afterwards, the mode is stream.

In this mode, a follower reads the records of the table's stream and changes the statistics.

1. *Announce*: the rebuild announces itself in the table. Then the rebuild waits until the servers'
   writes and the follower no longer change the counters.
2. *Scan*: the rebuild switches a new stream on, and scans the table.
3. *Replay*: the rebuild applies the stream's records to the scanned comments. After the scan, it
   writes canaries, which are items that prove how far the rebuild has read the stream. The rebuild
   continues until it has read canaries from each shard.
4. *Cutover*: the rebuild writes the statistics, and checkpoints from which a follower continues.
   The Lambda handler, which operators can run instead of a follower, cannot use checkpoints,
   because it does not know a record's shard. So the rebuild also writes a marker for each replayed
   record, and the handler skips these records.

Other programs may write during the whole rebuild. After an interruption, the rebuild starts from
the beginning.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from time import monotonic, time
from typing import Self, TypeAlias
from uuid import uuid4

from dal.counts.counter_items import encode_all, stored_in
from dal.counts.counts import RatingCounts, StatisticsKey, deltas
from dal.counts.mode import MaintenanceMode, MaintenanceStore, WaitForWriters
from dal.dynamodb import admin
from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.errors import ConflictError, NoTableError, StoreUnavailableError
from dal.dynamodb.scan import Progress, scan_all
from dal.dynamodb.table import Table
from dal.entities.comment import comment_in, is_comment
from dal.table.errors import DalError
from dal.table.index import EXPIRES
from dal.table.items import Item, primary_key
from features.stream_counting.applier import Record, changes_of, sequence_of
from features.stream_counting.checkpoints import Checkpoint, Checkpoints, label_of, marker
from features.stream_counting.follower import FULL, Follower
from features.stream_counting.streams import Shard, Streams, renew_stream

_PAUSE = 0.2
"""Seconds between two reads of a shard, because DynamoDB allows five reads of a shard per
second."""

_LOOK_EVERY = 0.5
"""Seconds between two DescribeStream requests while a stream is being switched on."""

CANARIES_PER_SHARD = 32

_CANARY = "CANARY#"
_CANARY_SECONDS = 24 * 3600
"""Seconds after which canaries expire, if an interrupted rebuild has not deleted them."""

_DELETIONS_AT_ONCE = 16
"""Number of canaries that are deleted in parallel, each by its own request. One transaction for all
of them would cost twice as much."""


async def rebuild(
    store: MaintenanceStore, streams: Streams, wait_for_writers: WaitForWriters, progress: Progress
) -> None:
    """Make the statistics exact. Afterwards, a follower of the new stream keeps them up to date.

    Raises NoTransactionsError if the endpoint does not support transactions, because a follower
    needs them. After any DalError, the next call starts the rebuild from the beginning.
    """
    table = store.table
    await admin.check_transactions(table)
    read = await store.read()
    store.check_alone(read, replace(read, rebuilding=True))
    if read.counts_in_writes:
        # Writes will soon stop changing the counters. After that, a list with a count of zero may
        # contain comments. So announce first that pages must not trust the counts.
        read = await store.announce(read, complete=False)
        await wait_for_writers()
    announced = await store.announce(
        read, mode=MaintenanceMode.STREAM, generation=read.generation + 1, rebuilding=True
    )
    await wait_for_writers()

    arn, before = await begin(table, streams)
    replay = Replay(streams.now(), before)
    stored: set[StatisticsKey] = set()

    def remember(items: Sequence[Item]) -> None:
        for item in items:
            replay.remember(item, item)
        stored.update(one.key for one in stored_in(items))

    await scan_all(table, progress, remember)
    scanned = streams.now()
    await _catch_up(table, streams, arn, replay)
    if await store.read() != announced:
        raise ConflictError(
            "Another command changed the maintenance mode of this table: run the same command "
            "again."
        )

    # ``replay.counts`` lacks products without comments. Their statistics become zero.
    counts = dict.fromkeys(stored, RatingCounts()) | replay.counts()
    await table.put_many(list(encode_all(counts)))
    await table.put_many([marker(label_of(arn), event) for event in set(replay.events)])
    await Checkpoints(table, label_of(arn)).begin(replay.reached.values(), scanned)
    await store.announce(announced, rebuilding=False, complete=True)


async def begin(table: Table, streams: Streams) -> tuple[str, list[Checkpoint]]:
    """Switch a new stream on. Return its ARN, and checkpoints that skip records of earlier changes.

    The new stream of the embedded engine begins with such records. A follower of the earlier stream
    ends when it has read that stream. Raises StoreUnavailableError if the new stream is not active
    after a minute.
    """
    arn, end = await renew_stream(table), monotonic() + admin.ACTIVE_SECONDS
    shards: Sequence[Shard] = []
    while not shards:
        if monotonic() >= end:
            raise StoreUnavailableError(
                "The table's stream does not become active: check it in the DynamoDB "
                "console, then run the same command again."
            )
        with suppress(NoTableError):  # DescribeStream may not find a new stream for a moment
            stream = await streams.describe(arn)
            shards = stream.shards if stream.status == "ENABLED" else []
        if not shards:
            await asyncio.sleep(_LOOK_EVERY)
    # The embedded engine copies the records of the earlier stream into the new stream. The
    # checkpoints skip these records. On this engine, every shard with records has ``last``, a
    # record's sequence number, even if the shard is open. On Amazon, a new stream begins empty, and
    # its shards do not have ``last``.
    parents = {shard.parent for shard in shards}
    kept = [one.shard_id for one in shards if one.last is not None and one.shard_id not in parents]
    return arn, [Checkpoint(shard, await _latest(streams, arn, shard)) for shard in kept]


async def _latest(streams: Streams, arn: str, shard: str) -> str | None:
    """Return the sequence number of a shard's last record; None if the shard has no records.

    This function reads the whole shard, because the embedded engine's DescribeStream may return the
    number of an earlier record. The engine compares the numbers as text, and as text 9 is larger
    than 10.
    """
    latest, iterator = None, await streams.iterator(arn, shard, after=None)
    while True:
        answer = await streams.records(iterator)
        if not answer.records or answer.iterator is None:
            return latest
        latest, iterator = sequence_of(answer.records[-1]), answer.iterator
        # Stop at the first response that is not full. Other programs may write all the time, so an
        # empty response may never come.
        if len(answer.records) < FULL:
            return latest


async def _catch_up(table: Table, streams: Streams, arn: str, replay: "Replay") -> None:
    """Replay the records of all writes that were made before this call.

    Canaries (see ``Canaries``) prove that no such record is missing.
    """
    follower = Follower(streams, arn, replay)
    async with Canaries(table) as canaries:
        await canaries.release(1)
        while True:
            await follower.round()
            if canaries.have_come(replay.canaries):
                shards = (await streams.describe(arn)).shards
                if canaries.prove(replay.canaries, replay.done, shards):
                    return
                await canaries.release(sum(one.shard_id not in replay.done for one in shards))
            if not follower.behind:
                await asyncio.sleep(_PAUSE)


_Contribution: TypeAlias = frozenset[tuple[StatisticsKey, RatingCounts]]
"""The counters that one comment changes, and what it adds to each of them."""


class Replay:
    """Counts a table's comments, from a scan and from the stream's records since the scan began.

    The replay remembers each comment's contribution, which is what the comment adds to the
    counters. When the replay applies a record, it computes the comment's contribution again, from
    the new image in the record. So it does not matter whether the scan saw a comment before or
    after another program's write. After the replay has applied all records up to the end of the
    scan, it has the latest state of every comment. Comments with the same product, language and
    rating share one contribution in memory. A comment takes about 250 bytes, so four million
    comments take 1 GB.

    A follower uses the replay as its ``Sink``.
    """

    def __init__(self, began: datetime, before: Iterable[Checkpoint]) -> None:
        self.reached = {one.shard: one for one in before}
        self.events: list[str] = []
        """The event ids of the records that were applied."""
        self.canaries: dict[str, str] = {}
        """Maps the partition key of each canary that was read from the stream to the canary's
        shard."""
        self._began = began
        self._contributions: dict[str, _Contribution] = {}
        self._shared: dict[_Contribution, _Contribution] = {}

    def remember(self, key: Item, image: Item | None) -> None:
        """Remember what a comment's image adds to the counters.

        If the image is None, forget the comment. ``key`` is the item's key. Items that are not
        comments are ignored.
        """
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
        """Return the counts that the statistics must have."""
        sums: dict[StatisticsKey, RatingCounts] = {}
        for contribution, comments in Counter(self._contributions.values()).items():
            for key, counts in contribution:
                sums[key] = sums.get(key, RatingCounts()) + counts * comments
        return sums

    @property
    def done(self) -> set[str]:
        """The ids of the closed shards of which all records are applied."""
        return {shard for shard, checkpoint in self.reached.items() if checkpoint.done}

    async def check(self) -> None:
        """Do nothing: unlike ``Applier``, the replay may apply records while a rebuild runs."""

    async def apply(self, held: Checkpoint, records: Sequence[Record]) -> Checkpoint:
        """Remember the records' new images. Return the checkpoint after the last record."""
        for record in records:
            key = record["dynamodb"]["Keys"]
            self.remember(key, record["dynamodb"].get("NewImage"))
            if key["PK"]["S"].startswith(_CANARY):
                self.canaries[key["PK"]["S"]] = held.shard
        self.events += [change.event for change in changes_of(records)]
        return await self.skip(held, sequence_of(records[-1])) if records else held

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move a shard's checkpoint to a sequence number. Return the new checkpoint."""
        self.reached[held.shard] = held = replace(held, sequence=sequence)
        return held

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Mark the checkpoint of a closed shard as done, and return the new checkpoint."""
        self.reached[held.shard] = held = replace(held, done=True)
        return held

    async def read(self, shards: Sequence[str]) -> dict[str, Checkpoint]:
        """Return the checkpoint of each shard."""
        return {shard: self.reached.get(shard, Checkpoint(shard)) for shard in shards}

    async def watermark(self) -> datetime | None:
        """Return the time at which the replay began, just after the stream was switched on."""
        return self._began

    async def raise_watermark(self, instant: datetime) -> None:
        """Do nothing, because the rebuild stores the watermark at its end."""


class Canaries:
    """Canaries: items whose records in a stream prove how far the stream was read.

    The canaries are deleted at the end of the ``async with`` block.

    The records of a shard are in the order of their writes. So after a canary's record was read,
    every earlier record of its shard was read too. DynamoDB chooses the shard of a record by the
    item's key. So canaries have random keys, and the rebuild writes canaries until it has read one
    from each open shard.

    DynamoDB may not list a new shard yet. The rebuild cannot read such a shard, and would miss its
    records. So the rebuild continues until it has read all canaries, including those in such a
    shard. There are at least 32 canaries for each open shard that DynamoDB lists. Even if an
    unlisted shard receives only half as many keys as a listed shard, it gets at least one canary,
    except in one of ten million rebuilds.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._released: set[str] = set()

    async def release(self, shards: int) -> None:
        """Write canaries until there are 32 for each of ``shards`` open shards.

        If there are enough canaries already, write one more.
        """
        missing = max(1, CANARIES_PER_SHARD * shards - len(self._released))
        names = {f"{_CANARY}{uuid4().hex}" for _ in range(missing)}
        expires = {EXPIRES: {"N": str(int(time()) + _CANARY_SECONDS)}}
        self._released |= names
        await self._table.put_many([primary_key(name) | expires for name in names])

    def have_come(self, shown: Mapping[str, str]) -> bool:
        """Return whether all canaries were read from the stream.

        The keys of ``shown`` are the partition keys of the canaries that were read.
        """
        return self._released <= shown.keys()

    def prove(
        self, shown: Mapping[str, str], done: Collection[str], shards: Sequence[Shard]
    ) -> bool:
        """Return whether all records of writes before the first canary have been read.

        ``shown`` maps the partition key of each canary that was read to the canary's shard.
        ``done`` are the shards that were read to their end. ``shards`` are all listed shards.
        """
        parents = {shard.shard_id: shard.parent for shard in shards}
        reached = {shown[name] for name in self._released if name in shown}

        def read(listed: str) -> bool:
            """Return whether a shard was read far enough.

            A shard was read far enough if a canary was read from the shard or from one of its
            ancestors. If DynamoDB lists a child of the shard, the shard was also read far enough if
            it was read to its end.
            """
            shard: str | None = listed
            while shard is not None and shard not in reached:
                shard = parents.get(shard)
            return shard is not None or (listed in done and listed in parents.values())

        enough = CANARIES_PER_SHARD * sum(one not in done for one in parents)
        return (
            bool(shards)
            and self.have_come(shown)
            and len(self._released) >= enough
            and all(map(read, parents))
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        deletions = [{"Delete": {"Key": primary_key(name)}} for name in self._released]
        with suppress(DalError):  # after an error, the canaries expire
            for some in batched(deletions, _DELETIONS_AT_ONCE):
                await in_parallel([self._table.write([one]) for one in some])
