"""Changes of comments with their counters: one transaction does both, or neither.

All comments of a product change the same counters, so one transaction of a product runs at a time
in a process. Changes that arrive meanwhile do not follow one by one: the next transaction does all
of them. Other processes get in between: a transaction whose counters they have changed is built
anew, and so is one that finds another maintenance mode.

While a rebuild runs, the mark ``counted`` (N) of a comment's item is the number of the rebuild that
has counted it. A write adds the new image to the rebuild's counters, and takes the old one out if
that was marked.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from dal.entities.comment import COMMENT, COUNTED, comment_in
from dal.errors import (
    ConditionFailedError,
    ConflictError,
    StoreRefusedError,
    StoreUnavailableError,
)
from dal.model import Comment
from dal.statistics import counter_items
from dal.statistics.counts import Deltas, StatisticsKey, deltas, in_generation, summed
from dal.statistics.maintenance_mode import Maintenance, MaintenanceMode, MaintenanceStore
from dal.statistics.reader import StatisticsReader
from dal.table import retries
from dal.table.client import Table
from dal.table.concurrency import KeyedLocks
from dal.table.deadline import current_deadline, deadline, time_left
from dal.table.item import ABSENT, Action, Item, key_of
from dal.table.retries import retry_on_conflict

MOST_ACTIONS = 100
"""The most that TransactWriteItems takes."""

MOST_BYTES = 900_000
"""Of a transaction's actions, in ASCII JSON as they are sent. DynamoDB takes four times as much,
but a body of more than 1 MiB would keep the event loop from everything else while it is sent."""


@dataclass(frozen=True, slots=True)
class CountedWrite:
    """Actions that are done together or not at all, and the deltas of the counters."""

    actions: Sequence[Action]
    changes: Deltas


@dataclass(frozen=True, slots=True)
class CommentChange:
    """A comment's item ``old`` becomes ``new``; None is no comment.

    The condition is that ``old`` is still as it was read. ``beside`` are actions that are done with
    it or not at all.
    """

    old: Item | None
    new: Comment | None
    beside: Sequence[Action] = ()

    @property
    def changes(self) -> Deltas:
        """What it changes of the counters."""
        return deltas(comment_in(self.old), self.new)

    @property
    def products(self) -> frozenset[str]:
        """The products whose counters change."""
        return frozenset(key.product_id for key in self.changes)

    @property
    def counters(self) -> frozenset[StatisticsKey]:
        """The counters that any write of it may change, those of a rebuild aside."""
        parts = deltas(comment_in(self.old), None), deltas(None, self.new)
        return frozenset(key for part in parts for key in part)

    def write(self, maintenance: Maintenance) -> CountedWrite:
        """Return the write: the comment's action first, then those beside it."""
        actions = [self._action(maintenance), *self.beside]
        if maintenance.mode is MaintenanceMode.STREAM:
            return CountedWrite(actions, {})
        if not maintenance.dual_writes:
            return CountedWrite(actions, self.changes)
        generation = maintenance.generation
        marked = self.old is not None and generation_of(self.old) == generation
        taken_out = comment_in(self.old) if marked else None
        of_rebuild = in_generation(deltas(taken_out, self.new), generation)
        return CountedWrite(actions, summed([self.changes, of_rebuild]))

    def _action(self, maintenance: Maintenance) -> Action:
        condition = ABSENT if self.old is None else COMMENT.unchanged(self.old)
        if self.new is not None:
            item = COMMENT.encode(self.new)
            if maintenance.dual_writes:
                item[COUNTED] = {"N": str(maintenance.generation)}
            return {"Put": {"Item": item, **condition}}
        assert self.old is not None  # noqa: S101 - a change of nothing into nothing is none
        return {"Delete": {"Key": key_of(self.old), **condition}}


def generation_of(item: Item) -> int:
    """Return the number of the rebuild that a comment was last counted by; 0 is none."""
    return int(item[COUNTED]["N"]) if COUNTED in item else 0


def joined(writes: Sequence[CountedWrite]) -> CountedWrite:
    """Return several writes as one."""
    actions = [action for write in writes for action in write.actions]
    return CountedWrite(actions, summed(write.changes for write in writes))


Counted = TypeVar("Counted")


def fitting(
    changes: Iterable[Counted],
    counters: Callable[[Counted], Collection[StatisticsKey]],
    *,
    actions_each: int,
) -> Iterator[list[Counted]]:
    """Yield the changes that one transaction each can do, in order.

    Beside the ``counters`` that they change, a transaction has room for ``actions_each`` of a
    change, and for one action more.
    """
    taken: list[Counted] = []
    keys: frozenset[StatisticsKey] = frozenset()
    for change in changes:
        more = keys.union(counters(change))
        if taken and len(more) + 1 + actions_each * (len(taken) + 1) > MOST_ACTIONS:
            yield taken
            taken, more = [], frozenset(counters(change))
        taken.append(change)
        keys = more
    if taken:
        yield taken


class TransactionBatch:
    """Takes in changes for as long as one transaction can do them all, in any mode."""

    def __init__(self) -> None:
        self._items: set[tuple[str, str]] = set()
        self._counters: set[StatisticsKey] = set()
        self._bytes = 0

    def add(self, change: CommentChange) -> bool:
        """Take a change in and return True, or return False when it does not fit.

        Changes of one item never share a transaction. A first change is always taken. There is room
        for the counters of a rebuild beside the others.
        """
        actions = change.write(Maintenance()).actions
        items = self._items | {_item(action) for action in actions}
        counters = self._counters | change.counters
        size = self._bytes + len(json.dumps(actions))
        distinct = len(items) == len(self._items) + len(actions)
        fits = len(items) + 2 * len(counters) <= MOST_ACTIONS and size <= MOST_BYTES
        if self._items and not (distinct and fits):
            return False
        self._items, self._counters, self._bytes = items, counters, size
        return True


def _item(action: Action) -> tuple[str, str]:
    """Return which item an action writes."""
    (entry,) = action.values()
    key = entry.get("Key", entry.get("Item"))
    return key["PK"]["S"], key["SK"]["S"]


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
    """Writes comments and their counters in the same transactions."""

    def __init__(
        self, table: Table, statistics: StatisticsReader, maintenance: MaintenanceStore
    ) -> None:
        self._table = table
        self._statistics = statistics
        self._maintenance = maintenance
        self._locks = KeyedLocks()
        self._waiting: dict[_PendingWrite, None] = {}
        self._groups: set[asyncio.Task[None]] = set()

    async def write(self, change: CommentChange) -> None:
        """Do one client's change, in one transaction with what others write about its product.

        Raises ConditionFailedError with the indexes of the actions whose condition did not hold,
        and ConflictError when others write until the deadline. Without changes it goes alone.
        """
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

    async def write_many(self, changes: Sequence[CommentChange]) -> None:
        """Do changes that go together, which wait in this process for as long as it takes.

        The errors are those of ``write``.
        """
        products = frozenset[str]().union(*(change.products for change in changes))
        async with self._locks.hold(products, deadline=None):
            await self._do(changes, products)

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
        """Do a group in one transaction, and give each write its outcome."""
        outcome: BaseException | None = None
        try:
            await self._do([pending.change for pending in group], group[0].products)
        except (ConditionFailedError, StoreRefusedError) as error:
            if len(group) > 1:  # nothing was done; alone, each shows whether it was to blame
                for pending in group:
                    await self._write_group([pending])
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
            await commit(self._table, self._maintenance, build)
        finally:
            self._statistics.forget(products)


async def commit(
    table: Table, maintenance: MaintenanceStore, build: Callable[[Maintenance], CountedWrite]
) -> None:
    """Do the write that ``build`` returns for the maintenance mode, in one transaction.

    Raises ConditionFailedError when the condition of one of its actions does not hold, and
    ConflictError when others keep changing the counters.
    """

    async def attempt() -> None:
        now = await maintenance.current()
        write = build(now)
        keys = [counter_items.item_key(key) for key in counter_items.conditional(write.changes)]
        current = dict(map(counter_items.decode, await table.get_many(keys)))
        # Read last, so that nothing but the transaction follows.
        if await maintenance.current() != now:
            raise ConflictError(
                "How the counters of this table are kept is changing: try again in a moment."
            )
        try:
            await table.write([*write.actions, *counter_items.actions(write.changes, current)])
        except ConditionFailedError as error:
            failed = [number for number in error.failed if number < len(write.actions)]
            if failed:
                raise ConditionFailedError(failed) from None
            raise ConflictError(
                "Others keep writing about the same product: try again in a moment."
            ) from None

    await retry_on_conflict(attempt)
