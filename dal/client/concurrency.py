"""Concurrent requests: cut into batches, awaited at once, one writer at a time for each name."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from dal.deadline import time_left
from dal.errors import ConflictError

Result = TypeVar("Result")

First = TypeVar("First")

Second = TypeVar("Second")


def batched(items: Sequence[Result], size: int) -> list[Sequence[Result]]:
    """Return ``items`` cut into runs of at most ``size``."""
    return [items[start : start + size] for start in range(0, len(items), size)]


async def in_parallel(work: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Await all of ``work`` at once; the first failure cancels the rest and is raised."""
    if len(work) == 1:  # the most frequent case needs no task
        return [await work[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def both(
    first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second]
) -> tuple[First, Second]:
    """Await two of different types at once, as ``in_parallel`` does."""
    work: list[Coroutine[Any, Any, Any]] = [first, second]
    one, two = await in_parallel(work)
    return one, two


class KeyedLocks:
    """One writer at a time for each name; those who wait are served in order of arrival."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, names: Iterable[str], *, deadline: float | None) -> AsyncIterator[None]:
        """Hold the locks of all ``names``; ConflictError after waiting ``deadline`` seconds.

        None waits for any time, but no longer than the deadline of the work under way.
        """
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(time_left(deadline)):
                    for name in sorted(set(names)):  # in one order, or two could wait in a circle
                        lock = self._locks.setdefault(name, asyncio.Lock())
                        await held.enter_async_context(lock)
            except TimeoutError:
                raise ConflictError(
                    "Too many others write about the same product: try again in a moment."
                ) from None
            yield
