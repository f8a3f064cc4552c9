"""Writes batches of objects, a few in parallel. A dry run keeps the first objects to show."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, Generic, Self

import orjson

from dal.model.loaded import LoadedComment
from dal.repositories.bulk_write import NOTHING, Outcome
from server.importer.file_kinds import Put, Thing

AT_ONCE = 2
"""Batches that are written at once. Two keep the store busy. More would wait in the queue of an
engine on a slow disk, and each request's deadline includes this wait."""

_LEAST, _MOST = 200, 5_000
_SECONDS = 2.0
"""Time that the store should need for a batch. In a large batch, more rows share a product, and so
one change of its counters. A small batch shows progress sooner."""


class Writer(Generic[Thing]):
    """Writes batches of objects with distinct ids; its context ends when all are written."""

    def __init__(self, put: Put[Thing]) -> None:
        self._put = put
        self._under_way: dict[asyncio.Task[None], Mapping[str, Thing]] = {}
        self._failure: BaseException | None = None
        self.outcome = Outcome()
        """The rows that the store has acknowledged."""
        self.room = _LEAST
        """The number of rows that the next batch should have."""

    async def write(self, batch: Mapping[str, Thing], before: Outcome = NOTHING) -> None:
        """Wait until fewer than ``AT_ONCE`` batches are under way, and start to write this one.

        ``before`` counts the rows that later rows of the batch have replaced. If an earlier batch
        has failed, its error is raised after all batches have ended.
        """
        while len(self._under_way) >= AT_ONCE or any(
            # Two batches must not write the same object at once: the later row must win.
            not batch.keys().isdisjoint(other)
            for other in self._under_way.values()
        ):
            await self._settle(asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            await self._finish()
        self._under_way[asyncio.create_task(self._write(batch, before))] = batch

    async def _finish(self) -> None:
        """Wait until every batch has ended, and raise the first error if there was one."""
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

    async def _write(self, batch: Mapping[str, Thing], before: Outcome) -> None:
        start = monotonic()
        outcome = await self._put(list(batch.values()))
        seconds = monotonic() - start
        self.room = int(min(_MOST, max(_LEAST, len(batch) * _SECONDS / max(seconds, 0.001))))
        self.outcome = self.outcome.plus(before).plus(outcome)

    async def _settle(self, when: str) -> None:
        done, _ = await asyncio.wait(self._under_way, return_when=when)
        for task in done:
            del self._under_way[task]
            # asyncio logs exceptions that are not retrieved, so retrieve the exception of every
            # task
            failure = task.exception()
            self._failure = self._failure or failure


SHOWN = 3


class DryRun:
    """Takes the objects of a load and keeps the first of them."""

    def __init__(self) -> None:
        self._first: list[object] = []

    async def put(self, things: Sequence[object]) -> Outcome:
        """Write nothing; all objects count as new, as no table is read."""
        self._first += things[: SHOWN - len(self._first)]
        return Outcome(new=len(things))

    def first(self) -> Iterator[str]:
        """Yield the first objects, each a line of JSON."""

        def plain(value: Any) -> object:  # orjson knows no tuples with names and no Decimal
            return value._asdict() if hasattr(value, "_asdict") else str(value)

        for one in self._first:
            shown = (
                one.comment._asdict() | dict(one.given) if isinstance(one, LoadedComment) else one
            )
            yield orjson.dumps(shown, default=plain).decode()
