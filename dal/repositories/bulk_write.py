"""Bulk write: many comments, over what their ids hold, with exact counters after each transaction.

Comments are sorted by product and language, so that a transaction of many changes few counters, and
transactions that change the same counters follow each other while others go on beside them. The
condition of each comment is that its id still holds what was read there. So whatever interrupts the
writing, the comments that are in the table are counted, and the others are not. In maintenance mode
stream each comment is a write of its own, some at a time.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from dal.client.concurrency import in_parallel
from dal.client.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.client.table import Table
from dal.entities.comment import COMMENT, comment_key
from dal.errors import ConflictError
from dal.model import Comment
from dal.repositories.outcome import NOTHING, Outcome, summed
from dal.statistics.comment_changes import MOST_ACTIONS, CommentChange, TransactionBatch
from dal.statistics.counter_transaction import CounterTransactions
from dal.table.items import Item

AT_ONCE = 2
"""Transactions of one call."""


class BulkWriter:
    """Writes many comments; several calls may run at once."""

    def __init__(self, table: Table, writes: CounterTransactions) -> None:
        self._table = table
        self._writes = writes
        self._reads = True
        """Whether comments are read first: those of the latest batch were there, or may be."""

    async def put(self, comments: Iterable[Comment]) -> Outcome:
        """Write comments over what their ids hold, and return what became of that.

        Of two with one id the last counts. A comment that is there as it is costs a read, and the
        first of them after new ones a transaction in vain. Raises DalError; some of the comments
        may be written then.
        """
        latest = {comment.comment_id: comment for comment in comments}
        gate = asyncio.Semaphore(AT_ONCE)

        async def put(chain: Sequence[Sequence[Comment]]) -> Outcome:
            async with gate:
                return summed([await self._put_in_turn(batch) for batch in chain])

        longest_first = sorted(chains(latest.values()), key=len, reverse=True)
        return summed(await in_parallel([put(chain) for chain in longest_first]))

    async def _put_in_turn(self, batch: Sequence[Comment]) -> Outcome:
        # All that is read for a write is read after its turn has come, which may take minutes.
        async with self._table.pace.turn():
            return await self._put(batch)

    async def _put(self, batch: Sequence[Comment]) -> Outcome:
        left, outcome, failed = batch, NOTHING, False

        async def attempt() -> None:
            nonlocal left, outcome, failed
            changes = await self._changes(left, read=self._reads or failed)
            outcome = outcome.plus(Outcome(unchanged=len(left) - len(changes)))
            left = _news(changes)
            for together in transactions(changes):
                done = await self._writes.write_many(together)
                outcome = outcome.plus(_outcome(done))
                if len(done) < len(together):
                    self._reads = failed = True
                written = {*_news(done)}
                left = [one for one in left if one not in written]
            if left:
                raise ConflictError("Others keep changing the same comments: load them again.")

        await retry_on_conflict(attempt, MAINTENANCE_DEADLINE)
        return outcome

    async def _changes(self, comments: Sequence[Comment], *, read: bool) -> list[CommentChange]:
        """Return the changes that make the table hold the comments, which are new if not read."""
        if not read:
            return [CommentChange(None, one) for one in comments]
        items = await self._table.get_many([comment_key(one.comment_id) for one in comments])
        held = {item["PK"]["S"]: item for item in items}
        self._reads = bool(held)
        pairs = [(held.get(comment_key(one.comment_id)["PK"]["S"]), one) for one in comments]
        return [CommentChange(old, new) for old, new in pairs if old is None or _differs(old, new)]


def chains(comments: Iterable[Comment]) -> list[list[list[Comment]]]:
    """Return comments in batches of about a transaction each.

    Those of one product are in one chain of batches, as they change the same counters.
    """
    found: list[list[list[Comment]]] = []
    room = 0
    ordered = sorted(comments, key=lambda one: (one.product_id, one.language))
    for _, of_product in groupby(ordered, key=lambda one: one.product_id):
        batches = list(_batches(of_product))
        weight = _weight(batches[-1])
        if len(batches) == 1 and weight <= room:
            found[-1][-1] += batches[0]
            room -= weight
        else:
            found.append(batches)
            room = MOST_ACTIONS - weight
    return found


def _batches(of_product: Iterable[Comment]) -> Iterator[list[Comment]]:
    """Yield the comments of one product that fit a transaction with its counters."""
    batch: list[Comment] = []
    for comment in of_product:
        if _weight([*batch, comment]) > MOST_ACTIONS:
            yield batch
            batch = []
        batch.append(comment)
    yield batch


def _weight(of_product: Sequence[Comment]) -> int:
    """Return the actions of a transaction, with those of a rebuild's counters."""
    return len(of_product) + 2 * len({one.language for one in of_product})


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


def _outcome(done: Sequence[CommentChange]) -> Outcome:
    new = sum(change.before is None for change in done)
    return Outcome(new=new, changed=len(done) - new)


def _news(batch: Sequence[CommentChange]) -> list[Comment]:
    return [change.new for change in batch if change.new is not None]


def _differs(old: Item, new: Comment) -> bool:
    """Return whether an item must be written; marks make no difference."""
    held = {name: value for name, value in old.items() if name not in COMMENT.marks}
    return held != COMMENT.encode(new)
