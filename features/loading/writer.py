"""Writes objects in batches, two batches at the same time.

In a dry run, nothing is written, and the first objects are kept so that the command can show them.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Generic, Self

from dal.kinds.item_kind import Put, Thing
from dal.writes.overwrite import NOTHING, Outcome

AT_ONCE = 2
"""Number of batches that are written at the same time. More batches do not make a load faster. On a
slow disk, the requests of more batches would wait in the engine's queue, and could exceed their
deadline."""

_LEAST, _MOST = 200, 5_000
"""Minimum and maximum number of rows in a batch."""

_SECONDS = 2.0
"""Seconds that the write of a batch should take. Large batches make a load faster: all rows of a
product in one batch need only one change of the product's counters. Small batches move the progress
bar more often."""


class Writer(Generic[Thing]):
    """Writes batches of objects with distinct ids.

    Use a writer in ``async with``. The block ends after all batches have been written. An
    exception in the block cancels the writes.
    """

    def __init__(self, put: Put[Thing]) -> None:
        self._put = put
        self._under_way: dict[asyncio.Task[None], Mapping[str, Thing]] = {}
        self._failure: BaseException | None = None
        self.outcome = Outcome()
        """The numbers of new, changed and unchanged rows that the table has stored."""
        self.room = _LEAST
        """The number of rows that the next batch should have."""

    async def write(
        self,
        batch: Mapping[str, Thing],
        before: Outcome = NOTHING,
        refused: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> None:
        """Start to write a batch, and return before the batch is written.

        The method first waits until fewer than ``AT_ONCE`` other batches are being written, and
        none of them has an id of ``batch``. ``before`` counts the rows that a later row of the same
        batch replaces. After the write, the writer calls ``refused`` with the ids of the objects
        that the table has not stored. If an earlier batch has failed, this method waits until the
        other batches have ended, and raises the error of the failed batch.
        """
        while len(self._under_way) >= AT_ONCE or any(
            # A later row must replace an earlier row with the same id. So two batches with the same
            # id must not be written at the same time.
            not batch.keys().isdisjoint(other)
            for other in self._under_way.values()
        ):
            await self._settle()
        if self._failure is not None:
            await self._finish()

        async def put() -> None:
            start = monotonic()
            outcome = await self._put(list(batch.values()))
            seconds = monotonic() - start
            self.room = int(min(_MOST, max(_LEAST, len(batch) * _SECONDS / max(seconds, 0.001))))
            self.outcome = self.outcome.plus(before).plus(outcome)
            refused(outcome.refused)

        self._under_way[asyncio.create_task(put())] = batch

    async def _finish(self) -> None:
        """Wait until all batches have ended. If a batch has failed, raise the first error."""
        while self._under_way:
            await self._settle()
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

    async def _settle(self) -> None:
        """Wait until a batch has ended."""
        done, _ = await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            del self._under_way[task]
            # Retrieve the exception of every task. Otherwise asyncio logs the exception.
            failure = task.exception()
            self._failure = self._failure or failure


SHOWN = 3


class DryRun:
    """Replaces the table in a dry run: keeps the first objects, and stores nothing."""

    def __init__(self) -> None:
        self.first: list[Any] = []

    async def put(self, things: Sequence[Any]) -> Outcome:
        """Count all objects as new, because a dry run does not read the table. Store nothing."""
        self.first += things[: SHOWN - len(self.first)]
        return Outcome(new=len(things))
