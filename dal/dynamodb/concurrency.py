"""Tools for concurrent requests: batches, parallel tasks, shared reads, locks, capacity limits."""

import asyncio
from asyncio import Lock, sleep
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Hashable,
    Iterable,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from dal.dynamodb.account import Account
from dal.dynamodb.deadline import time_left
from dal.dynamodb.errors import ConflictError

Result = TypeVar("Result")

First = TypeVar("First")

Second = TypeVar("Second")


def batched(items: Sequence[Result], size: int) -> list[Sequence[Result]]:
    """Return ``items`` in batches of at most ``size`` items."""
    return [items[start : start + size] for start in range(0, len(items), size)]


async def in_parallel(work: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Await all coroutines in parallel. If one fails, cancel the others and raise its error."""
    if len(work) == 1:  # a single coroutine is the most frequent case and needs no task
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
    """Await two coroutines as ``in_parallel`` does. Their results may have different types."""
    work: list[Coroutine[Any, Any, Any]] = [first, second]
    one, two = await in_parallel(work)
    return one, two


class SharedReads(Generic[Result]):
    """Reads in progress, shared by all requests for the same key.

    The first request sends the read, within its own deadline. The read's capacity counts for this
    request only. Later requests wait for the result of this read.

    * If the read fails, or does not end before a later request's deadline, the later request sends
      its own read.
    * If the first request is cancelled, one of the waiting requests sends the read, and the other
      waiting requests wait for its result.

    A shared read began before the later request, so its result may be a little out of date, like
    that of any eventually consistent read. To see its process's own writes, a caller includes
    ``Table.writes``, the number of this process's successful writes, in the key. A request after a
    write then has a new key, and does not share a read that began before the write.
    """

    def __init__(self) -> None:
        self._in_progress: dict[Hashable, asyncio.Future[tuple[Result] | None]] = {}
        """For each key, the result of the read in a tuple; None if the read has failed."""

    async def read(self, key: Hashable, read: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of a read in progress for ``key``; if there is none, call ``read``."""
        mine = asyncio.get_running_loop().create_future()
        while (first := self._in_progress.setdefault(key, mine)) is not mine:
            await asyncio.wait([first], timeout=time_left())
            if first.cancelled():
                continue
            if first.done() and (shared := first.result()) is not None:
                return shared[0]
            self._in_progress[key] = mine
        done: tuple[Result] | None = None
        try:
            done = (await read(),)
        except asyncio.CancelledError:
            mine.cancel()
            raise
        finally:
            if not mine.done():
                mine.set_result(done)
            if (latest := self._in_progress.pop(key, mine)) is not mine:
                self._in_progress[key] = latest
        return done[0]


class KeyedLocks:
    """One lock for each name, for example for each product's id.

    If several tasks wait for a lock, they get it in order of arrival.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, names: Iterable[str], *, deadline: float | None) -> AsyncIterator[None]:
        """Hold the locks of all ``names`` in the ``with`` block.

        Raise ConflictError after ``deadline`` seconds of waiting, or at the deadline of the current
        request if that is earlier. With ``deadline`` None, only the request's deadline limits the
        wait.
        """
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(time_left(deadline)):
                    # All tasks take their locks in sorted order, which prevents deadlocks.
                    for name in sorted(set(names)):
                        lock = self._locks.setdefault(name, asyncio.Lock())
                        await held.enter_async_context(lock)
            except TimeoutError:
                raise ConflictError(
                    "Too many requests write the same data: try again in a moment."
                ) from None
            yield


_EXPECTED_WCU = 1_000.0
"""The WCU (write capacity units) that ``Pace`` assumes for the first write, because no response has
reported a number yet. A write of a hundred comments consumes about 1,000 WCU."""

_EXPECTED_RCU = 256.0
"""The RCU (read capacity units) that ``Pace`` assumes for the first read. A consistent Scan of 1 MB
consumes 256 RCU."""

_CHECK_SECONDS = 0.1


class Pace:
    """Delays requests so that they consume at most ``units`` capacity units per second together.

    ``units`` are RCU if ``reads`` is true, otherwise WCU. None means no limit. Only a response
    shows how many units its request consumed, and one request may consume more than ``units``. So
    each request waits until enough time has passed for the units of all earlier requests. For
    example, after a request that consumed 500 units, at 100 units per second, the next request
    waits for five seconds. While a request has no response yet, ``Pace`` assumes that the request
    consumes as many units as the latest response reported.
    """

    def __init__(self, units: float | None = None, *, reads: bool = False) -> None:
        self._units = units
        self._reads = reads
        self._turns = Lock()
        self._due = 0.0
        self._expected = _EXPECTED_RCU if reads else _EXPECTED_WCU

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until the request in the ``with`` block may start."""
        if self._units is None:
            yield
            return
        async with self._turns:
            # One long sleep could be too long: ``_due`` becomes earlier when the response to an
            # earlier request shows that it consumed less than expected.
            while (left := self._due - monotonic()) > 0:  # noqa: ASYNC110 - a wait for time
                await sleep(min(left, _CHECK_SECONDS))
            reserved = self._expected
            self._due = max(self._due, monotonic()) + reserved / self._units
        with Account() as account:
            try:
                yield
            finally:
                consumed = account.rcu if self._reads else account.wcu
                self._due += (consumed - reserved) / self._units
                self._expected = consumed or reserved


def once(make: Callable[[], Awaitable[Result]]) -> Callable[[], Awaitable[Result]]:
    """Return a function whose first call awaits ``make``. All calls return the same object.

    If ``make`` raises an error, the next call tries again.
    """
    making, made = asyncio.Lock(), list[Result]()

    async def made_once() -> Result:
        async with making:
            if not made:
                made.append(await make())
        return made[0]

    return made_once
