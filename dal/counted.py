"""Writes of comments that carry their counters: one transaction does both, or neither.

All comments of a product change the same counters, so one transaction of a product runs at a time
in a process. Writes that arrive meanwhile do not follow one by one: the next transaction does all
of them. Other processes get in between; a transaction that finds its counters moved is built anew.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from dal import counters, dynamodb
from dal.bundles import Bundle, Write, joined
from dal.contention import Turns, contend
from dal.dynamodb import Table
from dal.errors import ConditionFailedError, ConflictError, StoreRefusedError
from dal.statistics_store import StatisticsStore


class _Job:
    """One client's write on its way; ``outcome`` is what to raise of it, or None."""

    def __init__(self, write: Write) -> None:
        self.write = write
        self.outcome: asyncio.Future[BaseException | None] = asyncio.Future()

    def settle(self, outcome: BaseException | None) -> None:
        if not self.outcome.done():  # who waited for it may have left
            self.outcome.set_result(outcome)


class CountedWrites:
    """Writes in which the counters follow the comments at once."""

    def __init__(self, table: Table, statistics: StatisticsStore) -> None:
        self._table = table
        self._statistics = statistics
        self._turns = Turns()
        self._waiting: dict[_Job, None] = {}
        self._groups: set[asyncio.Task[None]] = set()

    async def write(self, write: Write) -> None:
        """Do one client's write, together with what others write about its product just now.

        Raises ConditionFailedError with the indexes of the actions whose condition did not hold,
        and ConflictError when others write until the deadline. Without changes it goes alone.
        """
        job = _Job(write)
        self._waiting[job] = None
        try:
            async with self._turns.take(write.products, patience=dynamodb.DEADLINE):
                while job in self._waiting:
                    await self._settle_next(write.products)
        except ConflictError:
            if job in self._waiting:
                raise
        finally:
            self._waiting.pop(job, None)
        outcome = await job.outcome
        if outcome is not None:
            raise outcome

    async def write_many(self, write: Write) -> None:
        """Do a write about any products, which waits in this process for as long as it takes.

        The errors are those of ``write``.
        """
        async with self._turns.take(write.products, patience=None):
            await self._do(write)

    async def _settle_next(self, products: frozenset[str]) -> None:
        """Do as many of the waiting writes about the same products as go together."""
        bundle = Bundle()
        waiting = [job for job in self._waiting if job.write.products == products]
        group = [job for job in waiting if bundle.add(job.write)]
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
            await self._do(joined([job.write for job in group]))
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

    async def _do(self, write: Write) -> None:
        try:
            await contend(partial(self._attempt, write))
        finally:
            self._statistics.forget(write.products)

    async def _attempt(self, write: Write) -> None:
        keys = [counters.item_key(key) for key in counters.conditional(write.changes)]
        current = dict(map(counters.decode, await self._table.get_many(keys)))
        try:
            await self._table.write([*write.actions, *counters.actions(write.changes, current)])
        except ConditionFailedError as error:
            failed = [number for number in error.failed if number < len(write.actions)]
            if failed:
                raise ConditionFailedError(failed) from None
            raise ConflictError(
                "Others keep writing about the same product: try again in a moment."
            ) from None
