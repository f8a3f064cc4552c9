"""The backfill: a parallel scan that marks every comment, and counts it, once for one rebuild.

How far a scan segment is done is kept in the table, so that an interrupted backfill can go on:
``RECOUNT#<generation>`` / ``SEGMENT#<n>/<of>`` with ``last`` (M), the last key of what is marked,
or ``done`` (BOOL).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import time

from dal.entities.comment import COMMENT, comment_in
from dal.errors import ConditionFailedError
from dal.model import Comment
from dal.statistics import counter_items
from dal.statistics.counter_transaction import MOST_ACTIONS, generation_of
from dal.statistics.counts import Deltas, RatingCounts, StatisticsKey, deltas, in_generation, summed
from dal.table.client import Table
from dal.table.concurrency import KeyedLocks
from dal.table.index import EXPIRES
from dal.table.item import Action, Item
from dal.table.parallel_scan import SCAN_SEGMENTS, ProgressCount, scan_pages
from dal.table.retries import MAINTENANCE_DEADLINE, retry_on_conflict


@dataclass(slots=True)
class _Batch:
    """What one transaction does: mark comments, and make sure that counters are there."""

    comments: dict[Comment, Item] = field(default_factory=dict)
    touched: set[StatisticsKey] = field(default_factory=set)

    def changes(self, generation: int) -> Deltas:
        zeros = {key: RatingCounts() for key in self.touched}
        counted = summed(deltas(None, comment) for comment in self.comments)
        return in_generation({**zeros, **counted}, generation)


class Backfill:
    """The backfill of one rebuild."""

    def __init__(self, table: Table, generation: int) -> None:
        self._table = table
        self._generation = generation
        self._locks = KeyedLocks()

    async def segment(self, segment: int, count: ProgressCount) -> None:
        """Mark what is not marked in a scan segment, from where that was left."""
        kept = await self._table.get(_progress_key(self._generation, segment)) or {}
        if "done" in kept:
            return
        start = kept["last"]["M"] if "last" in kept else None
        async for items, last in scan_pages(self._table, segment, start):
            for batch in _batches(self._unmarked(items), _keys_of(items)):
                await self._write(batch)
            await self._keep_progress(segment, last)
            count.add(items)

    def _unmarked(self, items: Iterable[Item]) -> dict[Comment, Item]:
        """Return the comments among ``items`` that this rebuild has not marked yet."""
        left = [item for item in items if generation_of(item) < self._generation]
        return {comment: item for item in left if (comment := comment_in(item)) is not None}

    async def _write(self, batch: _Batch) -> None:
        """Do a batch; what others changed meanwhile is read again, and done if it has no mark."""
        changes = batch.changes(self._generation)
        actions = [self._action(item) for item in batch.comments.values()]
        transaction = [*actions, *counter_items.actions(changes, {})]
        try:
            async with self._locks.hold({key.product_id for key in changes}, deadline=None):
                await retry_on_conflict(
                    partial(self._table.write, transaction), MAINTENANCE_DEADLINE
                )
        except ConditionFailedError:
            keys = [{"PK": one["PK"], "SK": one["SK"]} for one in batch.comments.values()]
            left = self._unmarked(await self._table.get_many(keys))
            for again in _batches(left, list(batch.touched)):
                await self._write(again)

    def _action(self, item: Item) -> Action:
        update = COMMENT.unchanged(item, unpacked=True)
        update["ExpressionAttributeValues"][":generation"] = {"N": str(self._generation)}
        key = {"PK": item["PK"], "SK": item["SK"]}
        return {"Update": {"Key": key, "UpdateExpression": "SET #counted = :generation", **update}}

    async def _keep_progress(self, segment: int, last: Item | None) -> None:
        left: Item = {"done": {"BOOL": True}} if last is None else {"last": {"M": last}}
        until = {"N": str(int(time()) + counter_items.REBUILD_KEPT_SECONDS)}
        key = _progress_key(self._generation, segment)
        await self._table.put_many([{**key, **left, EXPIRES: until}])


def progress_keys(generation: int) -> list[Item]:
    """Return the keys of the items that say how far each scan segment is done."""
    return [_progress_key(generation, segment) for segment in range(SCAN_SEGMENTS)]


def _progress_key(generation: int, segment: int) -> Item:
    return {"PK": {"S": f"RECOUNT#{generation}"}, "SK": {"S": f"SEGMENT#{segment}/{SCAN_SEGMENTS}"}}


def _keys_of(items: Iterable[Item]) -> list[StatisticsKey]:
    """Return the keys of the statistics items: without comments they must come to zero."""
    return [counter_items.decode(item)[0] for item in items if counter_items.is_statistics(item)]


def _batches(comments: dict[Comment, Item], touched: Sequence[StatisticsKey]) -> Iterator[_Batch]:
    """Yield what goes together in transactions that change few counters each."""
    batch, keys = _Batch(), set[StatisticsKey]()
    for comment in sorted(comments, key=lambda one: (one.product_id, one.language)):
        more = keys | deltas(None, comment).keys()
        if len(batch.comments) + 1 + len(more) > MOST_ACTIONS:
            yield batch
            batch, more = _Batch(), set(deltas(None, comment))
        batch.comments[comment] = comments[comment]
        keys = more
    for key in touched:
        if len(batch.comments) + len(keys | {key}) > MOST_ACTIONS:
            yield batch
            batch, keys = _Batch(), set()
        batch.touched.add(key)
        keys.add(key)
    if batch.comments or batch.touched:
        yield batch
