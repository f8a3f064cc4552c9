"""Writers of the same items: turns within a process, new tries between processes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay
from tenacity.wait import wait_random_exponential

from dal import dynamodb
from dal.errors import ConflictError

Answer = TypeVar("Answer")


class Turns:
    """One writer at a time for each name; those who wait are served in order of arrival."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, names: Iterable[str], *, patience: float | None) -> AsyncIterator[None]:
        """Hold the turns of all ``names``; ConflictError when that takes ``patience`` seconds."""
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(patience):
                    for name in sorted(set(names)):  # in one order, or two could wait in a circle
                        lock = self._locks.setdefault(name, asyncio.Lock())
                        await held.enter_async_context(lock)
            except TimeoutError:
                raise ConflictError(
                    "Too many others write about the same product: try again in a moment."
                ) from None
            yield


async def contend(
    attempt: Callable[[], Coroutine[Any, Any, Answer]], patience: float | None = None
) -> Answer:
    """Return the answer of the first attempt that meets no ConflictError.

    Attempts follow each other with jitter. After ``patience`` seconds (None: a request's deadline)
    the last one's conflict is raised.
    """
    trying = AsyncRetrying(
        retry=retry_if_exception_type(ConflictError),
        wait=wait_random_exponential(multiplier=0.02, max=0.5),
        stop=stop_after_delay(dynamodb.DEADLINE if patience is None else patience),
        reraise=True,
    )
    return await trying(attempt)
