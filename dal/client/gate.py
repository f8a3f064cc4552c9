"""The gate of every call to DynamoDB: the circuit breaker, and limits of concurrency and time.

One attempt takes a few seconds at most, so that time remains for another. A transaction without a
response is sent again with the same request token. If DynamoDB has not completed the transaction,
the second attempt makes it do so.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from dal.account import WRITES
from dal.errors import CircuitOpenError, DalError, StoreUnavailableError

logger = logging.getLogger(__name__)

Response = TypeVar("Response")
Send: TypeAlias = Callable[[], Coroutine[Any, Any, Response]]

CONNECTIONS = 64
"""The maximum number of calls in progress, each on a connection. Further calls wait in order of
arrival."""

ATTEMPT_SECONDS = 2.0
"""The time limit of one attempt. A call usually takes milliseconds."""

MAINTENANCE_SECONDS = 5.0
"""The limit of one attempt of other calls: they handle megabytes or whole tables, and no page
waits."""

_QUICK = {"query", "get_item", "batch_get_item", *WRITES} - {"batch_write_item"}

FAILURES = 8
OUTAGE_SECONDS = 2.0
PROBE_SECONDS = 1.0


class CircuitBreaker:
    """Makes calls fail at once while DynamoDB is unreachable, except one probe each PROBE_SECONDS.

    The circuit opens after FAILURES failed calls in a row and OUTAGE_SECONDS without a success, so
    a short restart of the store does not open it. The first probe that succeeds closes it. There is
    no "half-open" state, because another probe follows if a probe has no response or its client
    disconnects.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._began = 0.0
        """When the first of the consecutive failures happened."""
        self._next_probe: float | None = None
        """None while the circuit is closed."""

    @property
    def open(self) -> bool:
        """Whether calls fail at once."""
        return self._next_probe is not None

    def admit(self) -> None:
        """Return if a call may be sent now; else raise CircuitOpenError."""
        if self._next_probe is None:
            return
        if time.monotonic() < self._next_probe:
            raise CircuitOpenError(
                "DynamoDB has not answered for a while: try again in a few seconds."
            )
        self._next_probe = time.monotonic() + PROBE_SECONDS

    def succeeded(self) -> None:
        """Note a response of DynamoDB. A refusal is a success, too."""
        self._failures = 0
        if self._next_probe is not None:
            self._next_probe = None
            logger.warning("DynamoDB answers again.")

    def failed(self) -> None:
        """Note a call without a response."""
        now = time.monotonic()
        if self._failures == 0:
            self._began = now
        self._failures += 1
        if self._failures < FAILURES or now - self._began < OUTAGE_SECONDS:
            return
        if self._next_probe is None:
            logger.warning(
                "DynamoDB has not answered %d calls in a row: requests fail at once, except one "
                "probe a second.",
                self._failures,
            )
        self._next_probe = now + PROBE_SECONDS


class Gate:
    """Passes the calls of one client."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._breaker = CircuitBreaker()
        self._under_way: set[asyncio.Task[Any]] = set()

    async def call(self, operation: str, send: Send[Response]) -> Response:
        """Return the response of one call; raises DalError, as ``send`` does.

        If the caller is cancelled, a write that was already sent continues, because its outcome
        must become known.
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
        """Whether calls fail at once."""
        return self._breaker.open

    async def drain(self) -> None:
        """Wait for the writes that were sent."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        self._free.release()
        if not task.cancelled():
            # Without this, asyncio logs the exception if the caller was cancelled.
            task.exception()

    async def _attempt(self, operation: str, send: Send[Response]) -> Response:
        self._breaker.admit()
        limit = ATTEMPT_SECONDS if operation in _QUICK else MAINTENANCE_SECONDS
        try:
            async with asyncio.timeout(limit):
                response = await send()
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
        return response
