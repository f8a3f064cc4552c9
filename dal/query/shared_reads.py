"""Shares one read in progress between several requests for the same data."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from dal.dynamodb.deadline import time_left

Result = TypeVar("Result")


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
        while (first := self._in_progress.get(key)) is not None:
            await asyncio.wait([first], timeout=time_left())
            if first.cancelled():
                continue
            if first.done() and (shared := first.result()) is not None:
                return shared[0]
            break
        done: tuple[Result] | None = None
        mine = self._in_progress[key] = asyncio.get_running_loop().create_future()
        try:
            done = (await read(),)
        except asyncio.CancelledError:
            mine.cancel()
            raise
        finally:
            if not mine.done():
                mine.set_result(done)
            if self._in_progress.get(key) is mine:
                del self._in_progress[key]
        return done[0]
