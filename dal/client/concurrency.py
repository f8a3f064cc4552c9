"""Concurrent requests: batches, parallel tasks, locks by name, and a limit of capacity units."""

import asyncio
from asyncio import Lock, sleep
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from dal.account import opened
from dal.deadline import time_left
from dal.errors import ConflictError

Result = TypeVar("Result")

First = TypeVar("First")

Second = TypeVar("Second")


def batched(items: Sequence[Result], size: int) -> list[Sequence[Result]]:
    """Return ``items`` cut into runs of at most ``size``."""
    return [items[start : start + size] for start in range(0, len(items), size)]


async def in_parallel(work: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Await all of ``work`` in parallel. The first failure cancels the rest and is raised."""
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
    """Await two results of different types at once, as ``in_parallel`` does."""
    work: list[Coroutine[Any, Any, Any]] = [first, second]
    one, two = await in_parallel(work)
    return one, two


class KeyedLocks:
    """A lock for each name; waiting tasks get it in order of arrival."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, names: Iterable[str], *, deadline: float | None) -> AsyncIterator[None]:
        """Hold the locks of all ``names``.

        Raise ConflictError after ``deadline`` seconds of waiting. The deadline of the current
        request limits the wait too. If ``deadline`` is None, it is the only limit.
        """
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(time_left(deadline)):
                    for name in sorted(
                        set(names)
                    ):  # all tasks take locks in the same order, which prevents a deadlock
                        lock = self._locks.setdefault(name, asyncio.Lock())
                        await held.enter_async_context(lock)
            except TimeoutError:
                raise ConflictError(
                    "Too many requests write comments on the same product: try again in a moment."
                ) from None
            yield


_EXPECTED_WCU = 1_000.0
"""The expected WCU of the first write: about a hundred comments."""

_EXPECTED_RCU = 256.0
"""The expected RCU of the first read: 1 MB of a Scan, read consistently."""

_CHECK_SECONDS = 0.1


class Pace:
    """Starts requests so that together they consume at most ``units`` WCU, or RCU, a second.

    Only the response shows how many units a request has consumed; it may be more than a second's
    units. So a request starts when enough time has passed for the units of all earlier requests. A
    request that has no response yet counts as many units as the latest response. If ``units`` is
    None, there is no limit. If ``reads`` is true, the limit is of RCU, otherwise of WCU.
    """

    def __init__(self, units: float | None = None, *, reads: bool = False) -> None:
        self._units = units
        self._reads = reads
        self._turns = Lock()
        self._due = 0.0
        self._expected = _EXPECTED_RCU if reads else _EXPECTED_WCU

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until the block's request may start."""
        if self._units is None:
            yield
            return
        async with self._turns:
            # The wait becomes shorter if requests in progress consume less than expected.
            while (left := self._due - monotonic()) > 0:  # noqa: ASYNC110 - a wait for time
                await sleep(min(left, _CHECK_SECONDS))
            reserved = self._expected
            self._due = max(self._due, monotonic()) + reserved / self._units
        with opened() as account:
            try:
                yield
            finally:
                consumed = account.rcu if self._reads else account.wcu
                self._due += (consumed - reserved) / self._units
                self._expected = consumed or reserved
