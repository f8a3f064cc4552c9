"""Writes comments and their counters in the same transactions.

Writes of comments on one product change the same counters, and parallel transactions on them would
conflict. So a process runs one transaction per product at a time. Meanwhile, further changes of the
product wait. The next transaction writes the waiting changes together, as a group. After a conflict
with another process the transaction is retried. Counters change by ``ADD``, so the order of the
transactions does not matter.

A client's change that affects no counters, such as an edit of a text, is written alone. In the
maintenance mode ``stream``, no write changes counters, because a follower of the table's stream
changes them later. Writes without counters run in parallel, except writes of the same comment.
"""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import compress

from dal.counts import counter_items
from dal.counts.counts import CounterRule, Deltas, RatingCounts, in_generation, summed
from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb import retries
from dal.dynamodb.concurrency import KeyedLocks, in_parallel
from dal.dynamodb.deadline import CURRENT, deadline, time_left
from dal.dynamodb.errors import (
    ConditionFailedError,
    ConflictError,
    InvalidRequestError,
    StoreUnavailableError,
)
from dal.dynamodb.table import Table
from dal.table.errors import StoreRefusedError
from dal.table.items import Action
from dal.writes.changes import CommentChange, TransactionBatch, WriteRules, part_of

_NOTHING_DONE = (ConditionFailedError, ConflictError, StoreRefusedError)
"""Errors which prove that nothing was written, because DynamoDB answered every attempt."""

AT_ONCE = 16
"""Maximum parallel writes of one call of ``write_many``, in the maintenance mode ``stream``."""


class _PendingWrite:
    """A client's change that waits for its transaction.

    ``outcome`` is the error of the write, or None after a success. The future is cancelled if the
    client disconnects or stops waiting.
    """

    def __init__(self, change: CommentChange) -> None:
        self.change = change
        self.deadline = CURRENT.get()
        self.outcome: asyncio.Future[BaseException | None] = asyncio.Future()

    def end(self, outcome: BaseException | None) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class CounterTransactions:
    """Writes comments and their counters in the same transactions, and calls the rules."""

    def __init__(self, table: Table, maintenance: MaintenanceStore, rules: WriteRules) -> None:
        self._table = table
        self._maintenance = maintenance
        self._rules = rules
        self._locks = KeyedLocks()
        self._comments = KeyedLocks()
        self._waiting: dict[_PendingWrite, None] = {}
        self._groups: set[asyncio.Task[None]] = set()

    async def write(self, change: CommentChange) -> None:
        """Write one client's change, in one transaction with waiting changes of the same product.

        Raises ConditionFailedError if the comment has changed since it was read, or if the
        condition of another action of the change fails. The error's attribute ``failed`` has the
        numbers of the failed actions within the change. Raises ConflictError if other writes
        conflict until the deadline, and StoreUnavailableError if the outcome is unknown.
        """
        # The locks allow one write of a comment at a time, so that rules receive its writes in
        # order. They also allow one write at a time of each other item, because parallel
        # transactions on the same item would conflict. The partition keys name the locks.
        latest = self._maintenance.latest
        grouped = latest is None or latest.counts_in_writes
        change.extend(self._rules.actions, latest or Maintenance())
        async with self._comments.hold(
            [partition for partition, _ in change.keys], deadline=retries.DEADLINE
        ):
            # A change without counters needs no group. ``latest`` may be out of date: the mode may
            # have changed from stream to transactional. In this case the transaction changes
            # counters without a group, and is retried after a conflict.
            if not change.changes or not grouped:
                await self._write([change], change.products)
            else:
                await self._write_in_group(change)

    async def _write_in_group(self, change: CommentChange) -> None:
        pending = _PendingWrite(change)
        self._waiting[pending] = None
        try:
            try:
                async with self._locks.hold(pending.change.products, deadline=retries.DEADLINE):
                    while pending in self._waiting:
                        async with asyncio.timeout(time_left()):
                            await self._write_next_group(pending)
            except ConflictError:
                # If the change no longer waits, another client's group includes it.
                if pending in self._waiting:
                    raise
            if not pending.outcome.done():
                async with asyncio.timeout(time_left()):
                    await pending.outcome
            outcome = pending.outcome.result()
        except TimeoutError:
            raise StoreUnavailableError(
                "DynamoDB did not confirm this write in time: send it again, with the same "
                "idempotency key if it has one."
            ) from None
        finally:
            self._waiting.pop(pending, None)
            pending.outcome.cancel()
        if outcome is not None:
            raise outcome

    async def write_many(self, changes: Sequence[CommentChange]) -> Sequence[CommentChange]:
        """Write changes together, and return the changes that were written.

        One transaction writes all changes. If another client has changed one of the comments since
        it was read, the transaction writes nothing. If DynamoDB rejects the transaction as invalid,
        the changes are divided into two halves, each with its own transaction. In the maintenance
        mode ``stream``, each change is a separate write, so only the writes of comments that
        another client has changed fail.

        Only the deadline of the current request limits the wait for locks. Raises
        InvalidRequestError if DynamoDB rejects a single change. Also raises the errors of
        ``write``, except ConditionFailedError.
        """
        products = frozenset[str]().union(*(change.products for change in changes))
        if not (await self._maintenance.current()).counts_in_writes:
            gate = asyncio.Semaphore(AT_ONCE)

            async def written(change: CommentChange) -> bool:
                try:
                    async with gate, self._comments.hold([change.key], deadline=None):
                        await self._write([change], change.products)
                except ConditionFailedError:
                    return False
                return True

            return list(compress(changes, await in_parallel([written(one) for one in changes])))
        try:
            async with self._locks.hold(products, deadline=None):
                await self._write(changes, products)
        except ConditionFailedError:
            return []
        except InvalidRequestError:  # the error names no change: try each half
            if len(changes) == 1:
                raise
            middle = len(changes) // 2
            first = await self.write_many(changes[:middle])
            return [*first, *await self.write_many(changes[middle:])]
        return changes

    async def _write_next_group(self, own: _PendingWrite) -> None:
        """Write, in one transaction, as many waiting changes of exactly the same products as fit.

        ``own`` is the current task's change, which may be in the group.
        """
        # ``batch.add`` gives new comments their dates. The mode is read first, because this read
        # may take seconds. If it came after ``add``, the dates would be seconds before the write.
        now = await self._maintenance.current()
        waiting = [
            pending for pending in self._waiting if pending.change.products == own.change.products
        ]
        if waiting == [own]:
            del self._waiting[own]
            await self._write_group(waiting)
            return
        batch = TransactionBatch(self._rules.actions, now)
        group = [pending for pending in waiting if batch.add(pending.change)]
        for pending in group:
            del self._waiting[pending]
        # The group has its own task, because this client may disconnect while other clients wait.
        with deadline(max(pending.deadline for pending in group)):
            task = asyncio.create_task(self._write_group(group))
        self._groups.add(task)
        task.add_done_callback(self._groups.discard)

        def cancel_without_clients(_: object) -> None:
            if all(pending.outcome.cancelled() for pending in group):
                task.cancel()

        for pending in group:
            pending.outcome.add_done_callback(cancel_without_clients)
        await asyncio.shield(task)

    async def _write_group(self, group: Sequence[_PendingWrite]) -> None:
        """Write a group in one transaction, and set the outcome of each change.

        If a change makes the transaction fail, the group is written again without that change.
        """
        outcome: BaseException | None = None
        try:
            # The maintenance mode may have changed since ``write`` chose to group the changes. In
            # the mode ``stream``, each change is written separately.
            if len(group) > 1 and not (await self._maintenance.current()).counts_in_writes:
                await in_parallel([self._write_group([pending]) for pending in group])
                return
            await self._write([pending.change for pending in group], group[0].change.products)
        except ConditionFailedError as error:  # DynamoDB names the failed actions
            await self._write_without_failed(group, error)
            return
        except InvalidRequestError as error:
            # DynamoDB's error does not say which actions failed, so try each half.
            if len(group) > 1:
                middle = len(group) // 2
                await self._write_group(group[:middle])
                await self._write_group(group[middle:])
                return
            outcome = error
        except asyncio.CancelledError:
            raise  # all clients have disconnected
        except BaseException as error:  # noqa: BLE001 - every client must get an outcome
            outcome = error
        for pending in group:
            pending.end(outcome)

    async def _write_without_failed(
        self, group: Sequence[_PendingWrite], error: ConditionFailedError
    ) -> None:
        others: list[_PendingWrite] = []
        first = 0
        for pending in group:
            after = first + len(pending.change.actions)
            own = part_of(error, range(first, after))
            first = after
            if own is not None:
                pending.end(own)
            else:
                others.append(pending)
        if others:
            await self._write_group(others)

    async def _write(self, changes: Sequence[CommentChange], products: frozenset[str]) -> None:
        try:
            now = await self._maintenance.current()
            actions: list[Action] = []
            counted: list[Deltas] = []
            for change in changes:
                counted.append(change.write(now, self._rules.actions))
                actions += change.actions
            counters = counted[0] if len(counted) == 1 else summed(counted)
            await commit(self._table, now, self._rules.counted, actions, counters)
        except _NOTHING_DONE:
            raise
        except BaseException:
            # The write may have succeeded: its response was lost, or all clients have disconnected.
            for rule in self._rules.uncertain:
                rule.uncertain(changes)
            raise
        else:
            for change in changes:
                for rule in self._rules.committed:
                    if rule.follows_new or change.old is not None:
                        rule.committed(change)
        finally:
            for each in self._rules.ended:
                each.ended(products)


async def commit(
    table: Table,
    now: Maintenance,
    rules: Iterable[CounterRule],
    actions: Sequence[Action],
    changes: Deltas,
) -> None:
    """Write actions and changes of counters in one transaction.

    ``now`` is the current maintenance mode, in which the actions were built. ``rules`` receive the
    changed counters. Raises ConditionFailedError if the condition of one of the actions fails.
    Counters have no conditions.
    """
    written = changes
    if now.dual_writes:
        # At its end, a rebuild copies its counters to the statistics items (the cutover). Add
        # changes of zero for the rebuild's counters, so that the cutover finds a counter for every
        # statistics item that was written meanwhile. For example, a comment that the rebuild has
        # not counted may be deleted before the scan reads it. Without the changes of zero, the
        # rebuild might have no counter for this comment's language, and the cutover would not
        # correct the statistics item.
        shown = [key for key in changes if key.generation is None]
        empty = in_generation(dict.fromkeys(shown, RatingCounts()), now.generation)
        written = {**empty, **changes}
    try:
        await table.write([*actions, *counter_items.actions(written)])
    finally:
        for rule in rules:
            rule.counted(changes)
