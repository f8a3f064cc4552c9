"""What every call of DynamoDB passes: a free connection, the circuit breaker, and its own limit.

A limit of a few seconds for one attempt leaves time for another: a lost answer is asked for again
under the same request token, which is also how DynamoDB goes on with a transaction that got stuck.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from dal.client.breaker import CircuitBreaker
from dal.errors import DalError, StoreUnavailableError

Answer = TypeVar("Answer")
Send: TypeAlias = Callable[[], Coroutine[Any, Any, Answer]]

CONNECTIONS = 64
"""Calls at once, and as many connections are kept; further calls wait in order of arrival."""

ATTEMPT_SECONDS = 2.0
"""The limit of one attempt at what takes milliseconds unless something is wrong."""

MAINTENANCE_SECONDS = 5.0
"""Of one attempt at all else: a megabyte or a whole table at a time, with nobody at a page."""

_SMALL_WRITES = {"put_item", "update_item", "delete_item", "transact_write_items"}
_QUICK = {"query", "get_item", "batch_get_item", *_SMALL_WRITES}
WRITES = {"batch_write_item", *_SMALL_WRITES}
"""Operations with an unknown outcome after a lost answer."""


class Gate:
    """Lets the calls of one client through."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._breaker = CircuitBreaker()
        self._under_way: set[asyncio.Task[Any]] = set()

    async def call(self, operation: str, send: Send[Answer]) -> Answer:
        """Return what one call answers; raises DalError, as ``send`` does.

        A write that was sent goes on when who waits for it leaves: its outcome would be unknown.
        """
        if operation not in WRITES:
            async with self._free:
                return await self._attempt(operation, send)
        await self._free.acquire()
        task = asyncio.create_task(self._attempt(operation, send))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    @property
    def circuit_open(self) -> bool:
        """Whether the circuit breaker refuses calls."""
        return self._breaker.open

    async def drain(self) -> None:
        """Wait for the writes that were sent."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        self._free.release()
        if not task.cancelled():
            task.exception()  # who waited for it may have left, and asyncio would complain

    async def _attempt(self, operation: str, send: Send[Answer]) -> Answer:
        self._breaker.admit()
        limit = ATTEMPT_SECONDS if operation in _QUICK else MAINTENANCE_SECONDS
        try:
            async with asyncio.timeout(limit):
                answer = await send()
        except TimeoutError:
            self._breaker.failed()
            raise StoreUnavailableError(
                f"DynamoDB did not answer within {limit:.0f} seconds: try again in a moment."
            ) from None
        except StoreUnavailableError:
            self._breaker.failed()
            raise
        except DalError:
            self._breaker.succeeded()
            raise
        self._breaker.succeeded()
        return answer
