"""The backfill: a parallel scan that marks every comment, and counts it, once for one rebuild.

How far a scan segment is done is kept in the table under ``RECOUNT#<generation>``, so that an
interrupted backfill can go on.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from dal.client.concurrency import KeyedLocks, batched
from dal.client.parallel_scan import ProgressCount, scan_pages
from dal.client.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.client.table import Table
from dal.entities.comment import COMMENT, comment_in
from dal.errors import ConditionFailedError
from dal.maintenance.scan_progress import ScanProgress
from dal.statistics import counter_items
from dal.statistics.comment_changes import MOST_ACTIONS, fitting, generation_of
from dal.statistics.counts import Deltas, RatingCounts, deltas, in_generation, summed
from dal.table.items import Action, Item, key_of


class Backfill:
    """The backfill of one rebuild."""

    def __init__(self, table: Table, generation: int) -> None:
        self._table = table
        self._generation = generation
        self._locks = KeyedLocks()
        self._progress = progress_of(table, generation)

    async def segment(self, segment: int, count: ProgressCount) -> None:
        """Mark what is not marked in a scan segment, from where that was left."""
        done, start = await self._progress.left_at(segment)
        if done:
            return
        async for items, last in scan_pages(self._table, segment, start):
            await self._mark(items)
            await self._keep_zeros(items)
            await self._progress.keep(segment, last)
            count.add(items)

    async def _mark(self, items: Iterable[Item]) -> None:
        """Mark the comments among ``items`` that have no mark yet, and count them.

        What others changed meanwhile is read again, and marked if it has no mark then.
        """
        left = [item for item in items if generation_of(item) < self._generation]
        found = {comment: item for item in left if (comment := comment_in(item)) is not None}
        rows = sorted(found, key=lambda one: (one.product_id, one.language))
        for batch in fitting(rows, partial(deltas, None), actions_each=1):
            actions = [self._action(found[one]) for one in batch]
            try:
                await self._write(actions, summed(deltas(None, one) for one in batch))
            except ConditionFailedError:
                keys = [key_of(found[one]) for one in batch]
                await self._mark(await self._table.get_many(keys))

    async def _keep_zeros(self, items: Iterable[Item]) -> None:
        """Make counters for statistics items: without comments these must come to zero.

        A counter of all languages holds nothing: it says whose places are to be looked at.
        """
        keys = [one.key for one in counter_items.stored_in(items)]
        for batch in batched(keys, MOST_ACTIONS):
            await self._write([], dict.fromkeys(batch, RatingCounts()))

    async def _write(self, actions: Sequence[Action], changes: Deltas) -> None:
        """Do actions, and change the rebuild's counters, in one transaction."""
        counters = counter_items.actions(in_generation(changes, self._generation))
        async with self._locks.hold({key.product_id for key in changes}, deadline=None):
            await retry_on_conflict(
                partial(self._table.write, [*actions, *counters]), MAINTENANCE_DEADLINE
            )

    def _action(self, item: Item) -> Action:
        update = COMMENT.unchanged(item, unpacked=True)
        update["ExpressionAttributeValues"][":generation"] = {"N": str(self._generation)}
        mark = {"Key": key_of(item), "UpdateExpression": "SET #counted = :generation"}
        return {"Update": mark | update}


def progress_of(table: Table, generation: int) -> ScanProgress:
    """Return how far the backfill of a rebuild is."""
    return ScanProgress(table, f"RECOUNT#{generation}", counter_items.REBUILD_KEPT_SECONDS)
