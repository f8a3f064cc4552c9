"""Changes of comments with their counters: one transaction does both, or neither.

All comments of a product change the same counters, so one transaction of a product runs at a time
in a process. Changes that arrive meanwhile do not follow one by one: the next transaction does all
of them. A transaction that meets one of another process is tried again: counters change by ``ADD``,
so it matters to neither which of them is first.

A change of no counter is a write of its own item alone, and in mode stream every one is. They go
side by side; only those of one comment follow each other.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from operator import attrgetter

from dal.client import retries
from dal.client.concurrency import KeyedLocks, in_parallel
from dal.client.table import Table
from dal.deadline import current_deadline, deadline, time_left
from dal.errors import (
    ConditionFailedError,
    ConflictError,
    InvalidRequestError,
    StoreRefusedError,
    StoreUnavailableError,
)
from dal.statistics import counter_items
from dal.statistics.boards import Boards
from dal.statistics.comment_changes import (
    CommentChange,
    CommentObserver,
    CountedWrite,
    NoObserver,
    TransactionBatch,
    joined,
)
from dal.statistics.counts import Deltas, RatingCounts, in_generation
from dal.statistics.mode import Maintenance, MaintenanceMode, MaintenanceStore

_NOTHING_DONE = (ConditionFailedError, ConflictError, StoreRefusedError)
"""Errors after which it is certain that nothing was written: no attempt went without an answer."""

AT_ONCE = 16
"""Writes of one item each that go side by side, of those that are given together."""


class _PendingWrite:
    """A client's change that waits for its transaction; ``outcome`` is its error, or None.

    A cancelled outcome: the client has left.
    """

    def __init__(self, change: CommentChange) -> None:
        self.change = change
        self.deadline = current_deadline()
        self.products = change.products
        self.outcome: asyncio.Future[BaseException | None] = asyncio.Future()

    def end(self, outcome: BaseException | None) -> None:
        if not self.outcome.done():  # who waited for it may have left
            self.outcome.set_result(outcome)


class CounterTransactions:
    """Writes comments and their counters in the same transactions.

    ``written`` is told of products that were written, or may have been, before any client is, and
    so is ``observer`` of the comments.
    """

    def __init__(
        self,
        table: Table,
        written: Callable[[Iterable[str]], None],
        maintenance: MaintenanceStore,
        boards: Boards,
        observer: CommentObserver | None = None,
    ) -> None:
        self._table = table
        self._written = written
        self._observer = observer or NoObserver()
        self._maintenance = maintenance
        self._boards = boards
        self._locks = KeyedLocks()
        self._comments = KeyedLocks()
        self._waiting: dict[_PendingWrite, None] = {}
        self._groups: set[asyncio.Task[None]] = set()

    async def write(self, change: CommentChange) -> None:
        """Do one client's change, in one transaction with what others write about its product.

        Raises ConditionFailedError when its comment was changed since it was read, and
        ConflictError when others write until the deadline.
        """
        # Observers hear of one comment's writes in their order.
        async with self._comments.hold([change.partition], deadline=retries.DEADLINE):
            if self._goes_alone(change):
                await self._do([change], change.products)
            else:
                await self._write_in_group(change)

    def _goes_alone(self, change: CommentChange) -> bool:
        """Return whether a change has nothing to share: it changes no counter, as far as is known.

        If that was wrong its transaction shows it.
        """
        latest = self._maintenance.latest
        streamed = latest is not None and latest.mode is MaintenanceMode.STREAM
        return streamed or not change.changes

    async def _write_in_group(self, change: CommentChange) -> None:
        pending = _PendingWrite(change)
        self._waiting[pending] = None
        try:
            await self._take_turn(pending)
            async with asyncio.timeout(time_left()):
                outcome = await pending.outcome
        except TimeoutError:
            raise StoreUnavailableError(
                "DynamoDB did not say in time whether this was written: ask again, under the same "
                "idempotency key if it has one."
            ) from None
        finally:
            self._waiting.pop(pending, None)
            pending.outcome.cancel()
        if outcome is not None:
            raise outcome

    async def _take_turn(self, pending: _PendingWrite) -> None:
        """Wait until the change is in a group, or its turn comes; then write groups up to its."""
        try:
            async with self._locks.hold(pending.products, deadline=retries.DEADLINE):
                while pending in self._waiting:
                    async with asyncio.timeout(time_left()):
                        await self._write_next_group(pending.products)
        except ConflictError:
            if pending in self._waiting:
                raise

    async def write_many(self, changes: Sequence[CommentChange]) -> Sequence[CommentChange]:
        """Do changes that go together, which wait in this process for as long as it takes.

        Return those that were done: a comment of each of the others was changed since it was read.
        In one transaction either all are, or none is. Other errors are those of ``write``.
        """
        if await self._counted_from_stream():
            return await self._write_each(changes)
        products = frozenset[str]().union(*(change.products for change in changes))
        try:
            async with self._locks.hold(products, deadline=None):
                await self._do(changes, products)
        except ConditionFailedError:
            return []
        return changes

    async def _counted_from_stream(self) -> bool:
        return (await self._maintenance.current()).mode is MaintenanceMode.STREAM

    async def _write_each(self, changes: Sequence[CommentChange]) -> Sequence[CommentChange]:
        """Do each change by itself, some at a time, and return those that were done."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def done(change: CommentChange) -> bool:
            try:
                async with gate, self._comments.hold([change.partition], deadline=None):
                    await self._do([change], change.products)
            except ConditionFailedError:
                return False
            return True

        outcomes = await in_parallel([done(change) for change in changes])
        return list(compress(changes, outcomes))

    async def _write_next_group(self, products: frozenset[str]) -> None:
        """Do as many of the waiting writes of the same products as fit one transaction."""
        batch = TransactionBatch()
        waiting = [pending for pending in self._waiting if pending.products == products]
        group = [pending for pending in waiting if batch.add(pending.change)]
        for pending in group:
            del self._waiting[pending]
        # A task of its own: the client that runs it may leave, and the others stay.
        with deadline(max((pending.deadline for pending in group), key=attrgetter("at"))):
            task = asyncio.create_task(self._write_group(group))
        self._groups.add(task)
        task.add_done_callback(self._groups.discard)

        def end_when_all_left(_: object) -> None:
            if all(pending.outcome.cancelled() for pending in group):
                task.cancel()

        for pending in group:
            pending.outcome.add_done_callback(end_when_all_left)
        await asyncio.shield(task)

    async def _write_group(self, group: Sequence[_PendingWrite]) -> None:
        """Do a group in one transaction, and give each write its outcome.

        Who is to blame that nothing was done is left out, and the others go together again.
        """
        outcome: BaseException | None = None
        try:
            if len(group) > 1 and await self._counted_from_stream():  # as is seen only now
                await in_parallel([self._write_group([pending]) for pending in group])
                return
            await self._do([pending.change for pending in group], group[0].products)
        except ConditionFailedError as error:  # DynamoDB says whose
            for number in error.failed:
                group[number].end(ConditionFailedError([0]))
            others = [one for number, one in enumerate(group) if number not in error.failed]
            if others:
                await self._write_group(others)
            return
        except InvalidRequestError as error:  # it does not say whose: look in one half at a time
            if len(group) > 1:
                middle = len(group) // 2
                await self._write_group(group[:middle])
                await self._write_group(group[middle:])
                return
            outcome = error
        except asyncio.CancelledError:
            raise  # all of its clients left
        except BaseException as error:  # noqa: BLE001 - nobody may wait for ever
            outcome = error
        for pending in group:
            pending.end(outcome)

    async def _do(self, changes: Sequence[CommentChange], products: frozenset[str]) -> None:
        def build(maintenance: Maintenance) -> CountedWrite:
            return joined([change.write(maintenance) for change in changes])

        try:
            await commit(self._table, self._maintenance, self._boards, build)
        except _NOTHING_DONE:
            raise
        except BaseException:
            self._doubt(changes)
            raise
        else:
            for change in changes:
                self._observer.changed(change.before, change.new)
        finally:
            self._written(products)

    def _doubt(self, changes: Sequence[CommentChange]) -> None:
        """Say what was perhaps written: the answer was lost, or nobody waited for it."""
        involved = [one for each in changes for one in (each.before, each.new) if one]
        for product_id in {comment.product_id for comment in involved}:
            self._observer.uncertain(product_id)


async def commit(
    table: Table,
    maintenance: MaintenanceStore,
    boards: Boards,
    build: Callable[[Maintenance], CountedWrite],
) -> None:
    """Do the write that ``build`` returns for the maintenance mode, in one transaction.

    ``boards`` is told whose places change. Raises ConditionFailedError when the condition of one of
    the write's actions does not hold: counters have none.
    """
    now = await maintenance.current()
    write = build(now)
    changes = _in_rebuild_too(write.changes, now)
    try:
        await table.write([*write.actions, *counter_items.actions(changes)])
    finally:
        boards.changed(write.changes)


def _in_rebuild_too(changes: Deltas, now: Maintenance) -> Deltas:
    """Have a running rebuild know of every counter that changes, so that it is cut over, too.

    A comment that it has not counted yet may be deleted from a counter that its scan has not seen.
    """
    if not now.dual_writes:
        return changes
    shown = [key for key in changes if key.generation is None]
    return {**in_generation(dict.fromkeys(shown, RatingCounts()), now.generation), **changes}
