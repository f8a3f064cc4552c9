"""Writes of comments that carry their counters: one transaction does both, or neither.

All comments of a product change the same counters, so one transaction of a product runs at a time
in a process. Writes that arrive meanwhile do not follow one by one: the next transaction does all
of them. Other processes get in between; a transaction that finds its counters moved is built anew,
and so is one that finds that who counts has changed.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from dal import counters, dynamodb
from dal.bundles import Bundle, joined
from dal.contention import Turns, contend
from dal.counting import Counting, CountingStore
from dal.dynamodb import Table
from dal.edits import Edit, Write
from dal.errors import ConditionFailedError, ConflictError, StoreRefusedError
from dal.statistics_store import StatisticsStore


class _Job:
    """One client's edit on its way; ``outcome`` is what to raise of it, or None."""

    def __init__(self, edit: Edit) -> None:
        self.edit = edit
        self.products = edit.products
        self.outcome: asyncio.Future[BaseException | None] = asyncio.Future()

    def settle(self, outcome: BaseException | None) -> None:
        if not self.outcome.done():  # who waited for it may have left
            self.outcome.set_result(outcome)


class CountedWrites:
    """Writes in which the counters follow the comments at once."""

    def __init__(self, table: Table, statistics: StatisticsStore, counting: CountingStore) -> None:
        self._table = table
        self._statistics = statistics
        self._counting = counting
        self._turns = Turns()
        self._waiting: dict[_Job, None] = {}
        self._groups: set[asyncio.Task[None]] = set()

    async def write(self, edit: Edit) -> None:
        """Do one client's edit, together with what others write about its product just now.

        Raises ConditionFailedError with the indexes of the actions whose condition did not hold,
        and ConflictError when others write until the deadline. Without changes it goes alone.
        """
        job = _Job(edit)
        self._waiting[job] = None
        try:
            async with self._turns.take(job.products, patience=dynamodb.DEADLINE):
                while job in self._waiting:
                    await self._settle_next(job.products)
        except ConflictError:
            if job in self._waiting:
                raise
        finally:
            self._waiting.pop(job, None)
        outcome = await job.outcome
        if outcome is not None:
            raise outcome

    async def write_many(self, edits: Sequence[Edit]) -> None:
        """Do edits that go together, which wait in this process for as long as it takes.

        The errors are those of ``write``.
        """
        products = frozenset[str]().union(*(edit.products for edit in edits))
        async with self._turns.take(products, patience=None):
            await self._do(edits, products)

    async def _settle_next(self, products: frozenset[str]) -> None:
        """Do as many of the waiting writes about the same products as go together."""
        bundle = Bundle()
        waiting = [job for job in self._waiting if job.products == products]
        group = [job for job in waiting if bundle.add(job.edit)]
        for job in group:
            del self._waiting[job]
        # A task of its own: the client whose turn it is may leave, and the others stay.
        task = asyncio.create_task(self._settle(group))
        self._groups.add(task)
        task.add_done_callback(self._groups.discard)
        await asyncio.shield(task)

    async def _settle(self, group: Sequence[_Job]) -> None:
        """Do a group in one transaction, and tell everybody how it ended."""
        outcome: BaseException | None = None
        try:
            await self._do([job.edit for job in group], group[0].products)
        except (ConditionFailedError, StoreRefusedError) as error:
            if len(group) > 1:  # nothing was done; alone, each shows whether it was to blame
                for job in group:
                    await self._settle([job])
                return
            outcome = error
        except BaseException as error:  # noqa: BLE001 - nobody may wait for ever
            outcome = error
        for job in group:
            job.settle(outcome)

    async def _do(self, edits: Sequence[Edit], products: frozenset[str]) -> None:
        def build(counting: Counting) -> Write:
            return joined([edit.write(counting) for edit in edits])

        try:
            await commit(self._table, self._counting, build)
        finally:
            self._statistics.forget(products)


async def commit(table: Table, counting: CountingStore, build: Callable[[Counting], Write]) -> None:
    """Do the write that ``build`` returns for who counts, in one transaction.

    Raises ConditionFailedError when the condition of one of its actions does not hold, and
    ConflictError when others keep moving the counters.
    """
    await contend(partial(_attempt, table, counting, build))


async def _attempt(
    table: Table, counting: CountingStore, build: Callable[[Counting], Write]
) -> None:
    now = await counting.current()
    write = build(now)
    keys = [counters.item_key(key) for key in counters.conditional(write.changes)]
    current = dict(map(counters.decode, await table.get_many(keys)))
    if await counting.current() != now:  # asked last, so that nothing but the transaction follows
        raise ConflictError("How this table is counted changes: try again in a moment.")
    try:
        await table.write([*write.actions, *counters.actions(write.changes, current)])
    except ConditionFailedError as error:
        failed = [number for number in error.failed if number < len(write.actions)]
        if failed:
            raise ConditionFailedError(failed) from None
        raise ConflictError(
            "Others keep writing about the same product: try again in a moment."
        ) from None
