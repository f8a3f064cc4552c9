"""Reads that are under way, shared with whoever asks for the same meanwhile.

Who joins began after the read did, and may see what an eventually consistent index showed a moment
before. A write of this process is never missed: ``forget`` is called before it is acknowledged, and
nobody joins what began earlier.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from dal.deadline import time_left

Answer = TypeVar("Answer")


class SharedReads(Generic[Answer]):
    """The first to ask reads, within its own deadline and on its own account; others join.

    Where the first leaves or fails, and where a joiner's deadline is shorter, the others read for
    themselves.
    """

    def __init__(self) -> None:
        self._under_way: dict[Hashable, asyncio.Future[Answer | None]] = {}

    async def read(self, key: Hashable, read: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """Return what ``read`` answers, or answered to somebody who asked for the same ``key``."""
        first = self._under_way.get(key)
        if first is not None:
            await asyncio.wait([first], timeout=time_left())
            if first.done() and (shared := first.result()) is not None:
                return shared
        answer: Answer | None = None
        mine = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            answer = await read()
        finally:
            mine.set_result(answer)
            if self._under_way.get(key) is mine:
                del self._under_way[key]
        return answer

    def forget(self) -> None:
        """Let nobody join the reads under way."""
        self._under_way.clear()
