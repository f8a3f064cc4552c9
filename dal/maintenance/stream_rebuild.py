"""A rebuild for tables that other programs write to: afterwards the maintenance mode is stream.

1. *Announce*: it says so in the table, and waits until no write of ours changes the counters any
   more, and no follower does yet.
2. *Scan*: it switches a new stream on, and scans the table.
3. *Replay*: it replays the stream's records over what it scanned, until canaries that were written
   after the scan have come out of each shard.
4. *Cutover*: it writes the statistics, and how far it has read. A follower goes on from there; for
   the Lambda handler, which knows no shard, each replayed record has a marker.

Other programs may write all the while. Interrupted, it begins again from the start.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from dal.client import admin
from dal.client.parallel_scan import Progress, scan_all
from dal.client.streams import Streams
from dal.client.table import Table
from dal.errors import ConflictError
from dal.maintenance.announce import WaitForWriters
from dal.maintenance.canaries import Canaries
from dal.maintenance.replay import Replay
from dal.statistics.counter_items import encode_all, stored_in
from dal.statistics.counts import RatingCounts, StatisticsKey
from dal.statistics.maintenance_mode import (
    Maintenance,
    MaintenanceMode,
    MaintenanceStore,
    check_alone,
)
from dal.stream.begin import begin
from dal.stream.checkpoints import Checkpoints, label_of
from dal.stream.follower import Follower
from dal.stream.markers import marker
from dal.table.items import Item

_PAUSE = 0.2
"""Seconds between rounds: a shard may be read five times a second."""


async def rebuild(
    table: Table, streams: Streams, wait_for_writers: WaitForWriters, seen: Progress
) -> None:
    """Make the statistics exact, and leave them to followers of the table's new stream.

    Raises NoTransactionsError on an endpoint without them, on which no follower works, and any
    DalError; run again, it begins from the start.
    """
    await admin.check_transactions(table)
    maintenance = MaintenanceStore(table)
    announced = await _announce(maintenance, wait_for_writers)
    arn, before = await begin(table, streams)
    replay = Replay(streams.now(), before)
    stale = await _scan(table, replay, seen)
    scanned = streams.now()
    await _catch_up(table, streams, arn, replay)
    if await maintenance.read() != announced:
        raise ConflictError(
            "Another command changed the maintenance mode of this table: run this again."
        )
    zeros = dict.fromkeys(stale, RatingCounts())
    counts = {**zeros, **replay.counts()}
    await table.put_many(list(encode_all(counts)))
    await table.put_many([marker(label_of(arn), event) for event in set(replay.events)])
    await Checkpoints(table, label_of(arn)).begin(replay.reached.values(), scanned)
    await maintenance.announce(announced, rebuilding=False, complete=True)


async def _announce(maintenance: MaintenanceStore, wait_for_writers: WaitForWriters) -> Maintenance:
    """Announce a rebuild into stream mode, and wait until every writer acts on it."""
    read = await maintenance.read()
    check_alone(read, replace(read, rebuilding=True))
    if read.mode is MaintenanceMode.TRANSACTIONAL:
        # Before our writes stop changing the counters, nobody may trust a zero any more.
        read = await maintenance.announce(read, complete=False)
        await wait_for_writers()
    announced = await maintenance.announce(
        read, mode=MaintenanceMode.STREAM, generation=read.generation + 1, rebuilding=True
    )
    await wait_for_writers()
    return announced


async def _scan(table: Table, replay: Replay, seen: Progress) -> set[StatisticsKey]:
    """Remember every comment; return the keys of the statistics items."""
    found = set[StatisticsKey]()

    def take(items: Sequence[Item]) -> None:
        for item in items:
            replay.remember(item, item)
        found.update(one.key for one in stored_in(items))

    await scan_all(table, seen, take)
    return found


async def _catch_up(table: Table, streams: Streams, arn: str, replay: Replay) -> None:
    """Replay every record that was made before now, until canaries prove it."""
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
