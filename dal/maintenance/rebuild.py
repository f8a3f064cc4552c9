"""Rebuilds the statistics while servers write. Afterwards, the maintenance mode is transactional.

In this mode, the transaction that writes a comment also changes the statistics. The rebuild counts
every comment in separate counters. Each rebuild has a number, the *generation* of its counters.

1. *Announce*: the rebuild announces itself in the table, and waits until every writer has read the
   announcement. From then on, each write marks its comment with the generation, and adds the new
   version of the comment to the rebuild's counters. If the old version was marked, the write
   subtracts the old version. So at any moment, the rebuild's counters count exactly the marked
   comments.
2. *Backfill*: a parallel scan marks all other comments, in transactions that also count them.
3. *Cutover*: now all comments are marked. The rebuild copies its counters to the statistics items,
   in transactions. A transaction fails if a counter has changed since the rebuild read it. The
   rebuild then reads the counters again and repeats the transaction. Afterwards, the rebuild moves
   the products to their places on the leaderboards.
4. The rebuild announces that it has ended.

An interrupted rebuild continues when it is called again, because items with the PK
``RECOUNT#<generation>`` store the progress of the scan.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from functools import partial
from time import time

from dal.counts import counter_items
from dal.counts.boards import Boards
from dal.counts.counts import Deltas, RatingCounts, deltas, in_generation, summed
from dal.counts.mode import (
    Maintenance,
    MaintenanceMode,
    WaitForWriters,
    unchanged_since,
)
from dal.dynamodb import admin
from dal.dynamodb.concurrency import KeyedLocks, batched
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.dynamodb.scan import Progress, ResumableScan
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, comment_in
from dal.stores import Stores
from dal.table.errors import DalError, StoreRefusedError
from dal.table.index import TABLE, QueryRequest, query_all
from dal.table.items import Action, Item, key_of, key_pair, unchanged
from dal.writes.changes import MOST_ACTIONS, fitting, generation_of

RESUMED_SECONDS = 20 * 24 * 3600
"""Seconds after the announcement of a rebuild within which an interrupted rebuild can continue.
Within this time, none of the rebuild's counters has expired."""

_CHECKED = (*counter_items.COUNTS, counter_items.CHANGES)
"""The attributes of a counter that show whether it has changed. Servers of earlier versions change
the counts, but not ``CHANGES``."""

_COUNTERS_AT_ONCE = 40
"""Maximum counters that one transaction of the cutover copies. Each counter needs two actions."""


async def rebuild(table: Table, wait_for_writers: WaitForWriters, progress: Progress) -> None:
    """Make the statistics exact, and the maintenance mode transactional.

    Afterwards, no other program may write comments, because its comments would not be counted.
    Raises NoTransactionsError if the endpoint does not support transactions. Raises
    StoreRefusedError while another command that runs alone, such as an upgrade, is running. If a
    DalError interrupts the rebuild, the next call continues it.
    """
    await admin.check_transactions(table)
    store = Stores(table).maintenance
    announced = await store.read()
    if not announced.dual_writes or time() - announced.since >= RESUMED_SECONDS:
        announced = await store.announce(
            announced,
            mode=MaintenanceMode.TRANSACTIONAL,
            generation=announced.generation + 1,
            rebuilding=True,
            complete=False,
        )
    await wait_for_writers()
    generation = announced.generation
    scan = ResumableScan(table, f"RECOUNT#{generation}", counter_items.REBUILD_KEPT_SECONDS)
    await scan.run(Backfill(table, generation).count, progress)
    await cut_over(table, announced)
    await store.announce(announced, rebuilding=False, complete=True)
    with suppress(DalError):  # after an error, the remaining items expire
        left = [*scan.keys, *[key async for key in counter_keys(table, generation)]]
        for keys in batched(left, MOST_ACTIONS):
            await table.write([{"Delete": {"Key": key}} for key in keys])


class Backfill:
    """Marks the table's comments, and counts each of them once, for one rebuild."""

    def __init__(self, table: Table, generation: int) -> None:
        self._table = table
        self._generation = generation
        self._locks = KeyedLocks()

    async def count(self, items: Sequence[Item]) -> None:
        """Count the comments of one page of the scan."""
        await self._mark(items)
        # The cutover changes only statistics items for which the rebuild has a counter. Create a
        # counter for every statistics item, because the statistics of a product without comments
        # must become zero. A product's item of all languages together stores no counts, but its
        # counter makes the cutover move the product on the leaderboards.
        stored = [one.key for one in counter_items.stored_in(items)]
        for keys in batched(stored, MOST_ACTIONS):
            await self._write([], dict.fromkeys(keys, RatingCounts()))

    async def _mark(self, items: Iterable[Item]) -> None:
        """Mark and count the comments that this rebuild has not marked.

        If a comment of a batch changes meanwhile, the comments of this batch are read and marked
        again. The comments of a batch fit in one transaction of 4 MB, because a page of a scan has
        at most 1 MB.
        """
        unmarked = [item for item in items if generation_of(item) < self._generation]
        found = {comment: item for item in unmarked if (comment := comment_in(item)) is not None}
        comments = sorted(found, key=lambda comment: (comment.product_id, comment.language))
        for batch in fitting(comments, partial(deltas, None), actions_each=1):
            actions: list[Action] = []
            for comment in batch:
                update = COMMENT.unchanged(found[comment], unpacked=True)
                update["ExpressionAttributeValues"][":generation"] = {"N": str(self._generation)}
                mark = {"UpdateExpression": "SET #counted = :generation"}
                actions.append({"Update": {"Key": key_of(found[comment]), **mark, **update}})
            try:
                await self._write(actions, summed(deltas(None, comment) for comment in batch))
            except ConditionFailedError:
                keys = [key_of(found[comment]) for comment in batch]
                await self._mark(await self._table.get_many(keys))

    async def _write(self, actions: Sequence[Action], changes: Deltas) -> None:
        """Write the actions and the changes of the rebuild's counters in one transaction."""
        counters = counter_items.actions(in_generation(changes, self._generation))
        async with self._locks.hold({key.product_id for key in changes}, deadline=None):
            await retry_on_conflict(
                partial(self._table.write, [*actions, *counters]), MAINTENANCE_DEADLINE
            )


async def cut_over(table: Table, announced: Maintenance) -> None:
    """Copy the counters of the announced rebuild to the statistics items.

    The function copies a batch of counters, moves their products on the leaderboards, and deletes
    the counters. Then it continues with the next batch. After an interruption, the next call
    processes the counters that are left.

    A write can create a deleted counter again, with wrong counts. The cutover does not copy such a
    counter. It recognizes the counter by the attribute ``rebuilt`` (N) of the statistics item: the
    generation of the rebuild whose counter was last copied to the item.

    Raises StoreRefusedError if another command has changed the maintenance mode meanwhile. Raises
    ConflictError if other writes keep changing a counter.
    """
    boards = Boards(table)
    counters = [key async for key in counter_keys(table, announced.generation)]
    for keys in batched(counters, _COUNTERS_AT_ONCE):
        try:
            await _copy(table, announced, keys)
        except ConflictError:
            # A write to any of these counters makes the transaction for all of them fail. So copy
            # one counter at a time.
            for key in keys:
                await retry_on_conflict(
                    partial(_copy, table, announced, [key]), MAINTENANCE_DEADLINE
                )
        await boards.correct({counter_items.decode(key)[0].product_id for key in keys})
        await table.write([{"Delete": {"Key": key}} for key in keys])


async def counter_keys(table: Table, generation: int) -> AsyncIterator[Item]:
    """Yield the primary keys of a rebuild's counters."""
    for part in range(counter_items.REBUILD_PARTS):
        partition = counter_items.rebuild_partition(generation, part)
        async for answer in query_all(table.query, QueryRequest(TABLE, partition, consistent=True)):
            for item in answer.items:
                yield key_of(item)


async def _copy(table: Table, announced: Maintenance, keys: Sequence[Item]) -> None:
    """Copy counters of a rebuild to their statistics items in one transaction.

    The counters that an earlier call has already copied are skipped.
    """
    counters: list[tuple[Item, RatingCounts, Item]] = []
    for counter in await table.get_many(keys):
        key, counts = counter_items.decode(counter)
        if key.language is not None:
            shown = counter_items.item_key(key._replace(generation=None))
            counters.append((shown, counts, counter))
    stored = await table.get_many([shown for shown, _, _ in counters])
    there = {key_pair(item): item for item in stored}
    actions: list[Action] = []
    for shown, counts, counter in counters:
        item = there.get(key_pair(shown), {})
        if int(item.get("rebuilt", {"N": "0"})["N"]) >= announced.generation:
            continue
        held = counter_items.sum_attributes(item)
        numbers = dict.fromkeys(held, 0) | counter_items.numbers_of(counts)
        values = {f":{name}": {"N": str(number)} for name, number in numbers.items() if number}
        assignments = "".join([f"{name[1:]} = {name}, " for name in values])
        zeros = [name for name, number in numbers.items() if not number]
        removal = f" REMOVE {', '.join(zeros)}" if zeros else ""
        update = {
            "Key": shown,
            "UpdateExpression": f"SET {assignments}rebuilt = :generation{removal}",
            "ConditionExpression": "attribute_not_exists(rebuilt) OR rebuilt < :generation",
            "ExpressionAttributeValues": values | {":generation": {"N": str(announced.generation)}},
        }
        check = {"Key": key_of(counter), **unchanged(counter, _CHECKED)}
        actions += [{"Update": update}, {"ConditionCheck": check}]
    if not actions:
        return
    try:
        await table.write([unchanged_since(announced), *actions])
    except ConditionFailedError as error:
        if 0 in error.failed:
            raise StoreRefusedError(
                "Another command ended this rebuild: run `marginalia stats verify`."
            ) from None
        raise ConflictError(
            "Other writes keep changing the counters of the same product: run the same command "
            "again."
        ) from None
