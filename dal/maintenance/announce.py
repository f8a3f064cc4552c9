"""A rebuild of the statistics beside running writers: exact at its end, whatever it began with.

It counts every comment into counters of its own. The rebuild's number is its generation:

1. *Announce*: it says so in the table, and waits until every writer acts on it. From then on each
   write also marks its comment with the generation, adds the new image to these counters, and takes
   the old one out if that was marked. So at any moment these counters are those of the marked
   comments.
2. *Backfill*: it scans the table and marks what is not marked yet, in transactions that count it.
3. *Cutover*: now all comments are marked. Each statistics item gets the counts of its counter, on
   condition that it is as it was read, and the leaderboards follow.
4. It announces that it is done.

It may be interrupted at any moment, and begun again: then it goes on where it was.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import time
from typing import TypeAlias

from dal.client import admin
from dal.client.concurrency import batched, in_parallel
from dal.client.parallel_scan import SCAN_SEGMENTS, Progress, ProgressCount
from dal.client.table import Table
from dal.errors import DalError
from dal.maintenance.backfill import Backfill, progress_of
from dal.maintenance.cutover import counter_keys, cut_over
from dal.statistics.maintenance_mode import Maintenance, MaintenanceMode, MaintenanceStore

RESUMED_SECONDS = 20 * 24 * 3600
"""How long an interrupted rebuild can go on: some time after, its counters begin to expire."""

WaitForWriters: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once every writer acts on what was announced."""


async def rebuild(table: Table, wait_for_writers: WaitForWriters, seen: Progress) -> None:
    """Make the statistics exact, and the maintenance mode transactional.

    No other program may write comments from then on. ``seen`` hears how far the scan is. Raises
    NoTransactionsError on an endpoint without them, and any DalError; begun again, it goes on.
    """
    await admin.check_transactions(table)
    maintenance = MaintenanceStore(table)
    announced = await _announce(maintenance)
    await wait_for_writers()
    backfill, count = Backfill(table, announced.generation), ProgressCount(seen)
    await in_parallel([backfill.segment(segment, count) for segment in range(SCAN_SEGMENTS)])
    await cut_over(table, announced)
    await maintenance.announce(announced, rebuilding=False, complete=True)
    with suppress(DalError):  # what is left expires
        await _forget(table, announced.generation)


async def _announce(maintenance: MaintenanceStore) -> Maintenance:
    """Announce this rebuild, unless an interrupted one goes on; return what is announced."""
    read = await maintenance.read()
    if read.dual_writes and time() - read.since < RESUMED_SECONDS:
        return read
    return await maintenance.announce(
        read,
        mode=MaintenanceMode.TRANSACTIONAL,
        generation=read.generation + 1,
        rebuilding=True,
        complete=False,
    )


async def _forget(table: Table, generation: int) -> None:
    keys = [
        *progress_of(table, generation).keys,
        *[key async for key in counter_keys(table, generation)],
    ]
    for batch in batched(keys, 100):
        await table.write([{"Delete": {"Key": key}} for key in batch])
