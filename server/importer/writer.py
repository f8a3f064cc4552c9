"""Writes batches, a few at once, so that of two rows with one identity the later one stays."""

import asyncio
from collections.abc import Mapping
from typing import Generic, Self

from server.importer.file_kinds import Put, Thing

AT_ONCE = 2
"""Two keep the store busy; more would queue for an engine on a slow disk, each with a deadline."""

BATCH = 200
"""Rows."""


class Writer(Generic[Thing]):
    """Takes batches of distinct identity; leaving its context waits for those under way."""

    def __init__(self, put: Put[Thing]) -> None:
        self._put = put
        self._under_way: dict[asyncio.Task[None], Mapping[str, Thing]] = {}
        self._failure: BaseException | None = None
        self.written = 0
        """Rows that the store has acknowledged."""

    async def write(self, batch: Mapping[str, Thing], rows: int) -> None:
        """Start writing ``batch``, made of ``rows`` rows, once a place is free.

        Raises what the store raised for an earlier batch, after all others have ended.
        """
        while len(self._under_way) >= AT_ONCE or self._touches(batch):
            await self._settle(asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            await self.finish()
        self._under_way[asyncio.create_task(self._write(batch, rows))] = batch

    async def finish(self) -> None:
        """Wait until every batch has ended, and raise the first failure if there was one."""
        while self._under_way:
            await self._settle(asyncio.ALL_COMPLETED)
        if self._failure is not None:
            raise self._failure

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            await self.finish()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _touches(self, batch: Mapping[str, Thing]) -> bool:
        """Tell whether a batch under way writes an identity of ``batch``."""
        return any(not batch.keys().isdisjoint(other) for other in self._under_way.values())

    async def _write(self, batch: Mapping[str, Thing], rows: int) -> None:
        await self._put(list(batch.values()))
        self.written += rows

    async def _settle(self, when: str) -> None:
        done, _ = await asyncio.wait(self._under_way, return_when=when)
        for task in done:
            del self._under_way[task]
            self._failure = self._failure or task.exception()
