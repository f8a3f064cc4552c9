"""A rebuild for tables that other programs write to: afterwards the stream is counted.

1. It says so in the table, and waits until our writers count no more and no follower counts yet.
2. It switches a new stream on, and scans the table.
3. It replays the stream's records over what it scanned, up to beyond the scan's end.
4. It writes the statistics, and how far it has read. A follower goes on from there; for the Lambda
   handler, which knows no shard, each replayed record has a marker.

Other programs may write all the while. Interrupted, it begins again from the start.
"""

import asyncio
from datetime import UTC, datetime

from dal.concurrency import in_parallel
from dal.counters import decode, encode, is_statistics
from dal.counting import Counting, CountingStore, Mode
from dal.dynamodb import Table
from dal.errors import ConflictError
from dal.rebuild import Settle
from dal.scans import SEGMENTS, Count, Seen, pages
from dal.statistics import RatingCounts, StatisticsKey
from dal.streams import Streams
from stream.begin import begin
from stream.checkpoints import Checkpoints, label_of
from stream.follower import Follower
from stream.markers import marker
from stream.replay import Replay

_PAUSE = 0.1
"""Seconds between rounds that find nothing."""


async def rebuild(table: Table, streams: Streams, settle: Settle, seen: Seen) -> None:
    """Make the statistics exact, and leave them to whoever counts the table's new stream.

    Raises DalError; begun again, it starts anew.
    """
    counting = CountingStore(table)
    said = await _announced(counting, settle)
    began = datetime.now(UTC)
    arn, before = await begin(table, streams)
    replay = Replay(began, before)
    stale = await _scan(table, replay, seen)
    scanned = datetime.now(UTC)
    await _catch_up(streams, arn, replay, scanned)
    if await counting.read() != said:
        raise ConflictError("Another command changed how this table is counted: run this again.")
    zeros = dict.fromkeys(stale, RatingCounts())
    counts = {**zeros, **replay.counts()}
    await table.put_many([encode(key, held) for key, held in counts.items()])
    await table.put_many([marker(label_of(arn), event) for event in set(replay.events)])
    await Checkpoints(table, label_of(arn)).begin(replay.reached.values(), scanned)
    await counting.announce(said, rebuilding=False)


async def _announced(counting: CountingStore, settle: Settle) -> Counting:
    """Say that the stream is counted soon, and wait until everybody acts on it."""
    read = await counting.read()
    if read.mode is Mode.TRANSACTIONAL:  # nobody may trust a zero before our writers stop counting
        read = await counting.announce(read, complete=False)
        await settle()
    said = await counting.announce(
        read, mode=Mode.STREAM, generation=read.generation + 1, rebuilding=True
    )
    await settle()
    return said


async def _scan(table: Table, replay: Replay, seen: Seen) -> set[StatisticsKey]:
    """Remember every comment; return whose statistics there are."""
    found, count = set[StatisticsKey](), Count(seen)

    async def scan(segment: int) -> None:
        async for items, _ in pages(table, segment):
            for item in items:
                replay.remember(item, item)
            found.update(decode(item)[0] for item in items if is_statistics(item))
            count.add(items)

    await in_parallel([scan(segment) for segment in range(SEGMENTS)])
    return found


async def _catch_up(streams: Streams, arn: str, replay: Replay, scanned: datetime) -> None:
    """Replay every record that was made before the scan's end."""
    follower = Follower(streams, arn, replay)
    while True:
        busy = await follower.round()
        shards = (await streams.describe(arn)).shards
        if all(replay.covers(shard.shard_id, scanned) for shard in shards):
            return
        if not busy:
            await asyncio.sleep(_PAUSE)
