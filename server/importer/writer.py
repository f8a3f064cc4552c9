"""Writes batches of objects, a few in parallel.

A dry run writes nothing, and keeps the first objects.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Generic, Self

from dal.repositories.bulk_write import NOTHING, Outcome
from server.importer.file_kinds import Put, Thing

AT_ONCE = 2
"""Number of batches that are written in parallel. Two are enough for the store. On a slow disk,
more would wait in the engine's queue, and this wait counts towards the deadline of each request."""

_LEAST, _MOST = 200, 5_000
_SECONDS = 2.0
"""Seconds that a batch should take. In a large batch, more rows have the same product and share one
change of its counters. Small batches show progress sooner."""


class Writer(Generic[Thing]):
    """Writes batches of objects with distinct ids.

    Its ``with`` block ends after all are written.
    """

    def __init__(self, put: Put[Thing]) -> None:
        self._put = put
        self._under_way: dict[asyncio.Task[None], Mapping[str, Thing]] = {}
        self._failure: BaseException | None = None
        self.outcome = Outcome()
        """The counts of rows that the store has acknowledged."""
        self.room = _LEAST
        """The number of rows that the next batch should have."""

    async def write(
        self,
        batch: Mapping[str, Thing],
        before: Outcome = NOTHING,
        refused: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> None:
        """Start to write a batch, after fewer than ``AT_ONCE`` other batches are in progress.

        ``before`` counts the rows that later rows of the batch have replaced. ``refused`` receives
        the ids of the objects that were not stored. If an earlier batch has failed, this method
        raises its error after all batches have ended.
        """
        while len(self._under_way) >= AT_ONCE or any(
            # The later row must replace the earlier one, so two batches with the same object must
            # not run together.
            not batch.keys().isdisjoint(other)
            for other in self._under_way.values()
        ):
            await self._settle(asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            await self._finish()
        self._under_way[asyncio.create_task(self._write(batch, before, refused))] = batch

    async def _finish(self) -> None:
        """Wait until all batches have ended. Raise the first error, if there was one."""
        while self._under_way:
            await self._settle(asyncio.ALL_COMPLETED)
        if self._failure is not None:
            raise self._failure

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            await self._finish()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _write(
        self,
        batch: Mapping[str, Thing],
        before: Outcome,
        refused: Callable[[Sequence[str]], None],
    ) -> None:
        start = monotonic()
        outcome = await self._put(list(batch.values()))
        seconds = monotonic() - start
        self.room = int(min(_MOST, max(_LEAST, len(batch) * _SECONDS / max(seconds, 0.001))))
        self.outcome = self.outcome.plus(before).plus(outcome)
        refused(outcome.refused)

    async def _settle(self, when: str) -> None:
        done, _ = await asyncio.wait(self._under_way, return_when=when)
        for task in done:
            del self._under_way[task]
            # Retrieve the exception of every task, because asyncio logs those that are not
            # retrieved.
            failure = task.exception()
            self._failure = self._failure or failure


SHOWN = 3


class DryRun:
    """Replaces the table in a dry run: writes nothing, and keeps the first objects to show."""

    def __init__(self) -> None:
        self.first: list[Any] = []

    async def put(self, things: Sequence[Any]) -> Outcome:
        """Write nothing. All objects count as new, because the table is not read."""
        self.first += things[: SHOWN - len(self.first)]
        return Outcome(new=len(things))
