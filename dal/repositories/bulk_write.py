"""Bulk write: many comments, over what their ids hold, with exact counters after each transaction.

Comments are sorted by product and language, so that a transaction of many changes few counters. The
condition of each is that its id still holds what was read there. So whatever interrupts the
writing, the comments that are in the table are counted, and the others are not.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from dal.entities.comment import COMMENT, COUNTED, comment_key
from dal.errors import ConditionFailedError, ConflictError
from dal.model import Comment
from dal.statistics.comment_changes import CommentChange, TransactionBatch
from dal.statistics.counter_transaction import CounterTransactions
from dal.table.client import Table
from dal.table.concurrency import batched, in_parallel
from dal.table.item import Item
from dal.table.retries import MAINTENANCE_DEADLINE, retry_on_conflict

_BATCH = 400
_AT_ONCE = 4


class BulkWriter:
    """Writes many comments; several calls may run at once."""

    def __init__(self, table: Table, writes: CounterTransactions) -> None:
        self._table = table
        self._writes = writes

    async def put(self, comments: Iterable[Comment]) -> None:
        """Write comments over what their ids hold; of two with one id the last counts.

        A comment that is there already costs a read only. Raises DalError; some of the comments may
        be written then.
        """
        latest = {comment.comment_id: comment for comment in comments}
        rows = sorted(latest.values(), key=lambda one: (one.product_id, one.language))
        gate = asyncio.Semaphore(_AT_ONCE)

        async def put(batch: Sequence[Comment]) -> None:
            async with gate:
                await self._put(batch)

        await in_parallel([put(batch) for batch in batched(rows, _BATCH)])

    async def _put(self, batch: Sequence[Comment]) -> None:
        left = batch

        async def attempt() -> None:
            nonlocal left
            batches = list(transactions(await self._changes(left)))
            left = [new for batch in batches if not await self._done(batch) for new in _news(batch)]
            if left:
                raise ConflictError("Others keep changing the same comments: load them again.")

        await retry_on_conflict(attempt, MAINTENANCE_DEADLINE)

    async def _changes(self, comments: Sequence[Comment]) -> list[CommentChange]:
        """Return the changes that make the table hold the comments."""
        items = await self._table.get_many([comment_key(one.comment_id) for one in comments])
        held = {item["PK"]["S"]: item for item in items}
        pairs = [(held.get(comment_key(one.comment_id)["PK"]["S"]), one) for one in comments]
        return [CommentChange(old, new) for old, new in pairs if old is None or _differs(old, new)]

    async def _done(self, batch: Sequence[CommentChange]) -> bool:
        """Do one transaction; False when one of its comments was changed since it was read."""
        try:
            await self._writes.write_many(batch)
        except ConditionFailedError:
            return False
        return True


def transactions(changes: Iterable[CommentChange]) -> Iterator[list[CommentChange]]:
    """Yield the changes that one transaction each can do, in order."""
    taken: list[CommentChange] = []
    batch = TransactionBatch()
    for change in changes:
        if not batch.add(change):
            yield taken
            taken, batch = [], TransactionBatch()
            batch.add(change)
        taken.append(change)
    if taken:
        yield taken


def _news(batch: Sequence[CommentChange]) -> list[Comment]:
    return [change.new for change in batch if change.new is not None]


def _differs(old: Item, new: Comment) -> bool:
    """Return whether an item must be written; the mark of a rebuild makes no difference."""
    return {name: value for name, value in old.items() if name != COUNTED} != COMMENT.encode(new)
