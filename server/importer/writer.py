"""Writes batches of objects, a few at once; or, for a dry run, keeps the first ones to show."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from time import monotonic
from typing import Generic, Self

from dal.repositories.bulk_write import NOTHING, Outcome
from server.importer.file_kinds import Put, Thing

AT_ONCE = 2
"""Two keep the store busy; more would queue for an engine on a slow disk, each with a deadline."""

_LEAST, _MOST = 200, 5_000
_SECONDS = 2.0
"""The rows of a batch take the store about so long: in a large one more of them share a product,
and so change its counters together; a small one shows sooner how far the load is."""


class Writer(Generic[Thing]):
    """Takes batches of distinct identity; leaving its context waits for those under way."""

    def __init__(self, put: Put[Thing]) -> None:
        self._put = put
        self._under_way: dict[asyncio.Task[None], Mapping[str, Thing]] = {}
        self._failure: BaseException | None = None
        self.outcome = Outcome()
        """What the store has acknowledged, row by row."""
        self.room = _LEAST
        """How many rows the next batch should have."""

    @property
    def written(self) -> int:
        """Rows that the store has acknowledged."""
        return self.outcome.total

    async def write(self, batch: Mapping[str, Thing], before: Outcome = NOTHING) -> None:
        """Start writing ``batch`` once a place is free.

        ``before`` is what rows did whose place in the batch a later one has taken.
        Raises what the store raised for an earlier batch, after all others have ended.
        """
        while len(self._under_way) >= AT_ONCE or self._touches(batch):
            await self._settle(asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            await self.finish()
        self._under_way[asyncio.create_task(self._write(batch, before))] = batch

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
            failure = task.exception()  # asked of each, or asyncio would log those that are not
            self._failure = self._failure or failure


SHOWN = 3


class DryRun:
    """Takes what a load writes, and keeps the first of it to be shown."""

    def __init__(self) -> None:
        self._first: list[object] = []

    async def put(self, things: Sequence[object]) -> Outcome:
        """Write nothing; what is new cannot be known without the table."""
        self._first += things[: SHOWN - len(self._first)]
        return Outcome(new=len(things))

    def first(self) -> Iterator[str]:
        """Yield the first things as they would be stored, each a line of JSON."""
        for thing in self._first:
            yield json.dumps(_plain(thing), ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | bool | int | None) else str(value)
