"""Limits the number and the duration of calls to DynamoDB, and stops calls during an outage.

An attempt at a call is stopped after a few seconds without a response, so that a second attempt is
possible before the deadline. The second attempt at a transaction has the same request token as the
first attempt. DynamoDB therefore executes the transaction only once.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, TypeAlias

from dal.dynamodb.account import WRITES
from dal.dynamodb.errors import CircuitOpenError, StoreUnavailableError
from dal.table.errors import DalError

logger = logging.getLogger(__name__)

Send: TypeAlias = Callable[[str, dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]]
"""Sends an operation with its arguments once, and returns its response."""

CONNECTIONS = 64
"""Maximum calls in progress, each on its own connection. Further calls wait in order of arrival."""

ATTEMPT_SECONDS = 2.0
"""Maximum seconds of one attempt at a call that a client's request waits for. Such a call usually
takes milliseconds."""

MAINTENANCE_SECONDS = 5.0
"""Maximum seconds of one attempt at any other call, such as a Scan or CreateTable. Such a call may
transfer megabytes or change a whole table, and usually no client's request waits for it."""

_WATCH_EVERY = 0.05
"""Seconds between two checks of the calls in progress."""

_QUICK = {"query", "get_item", "batch_get_item", *WRITES} - {"batch_write_item"}

FAILURES = 8
OUTAGE_SECONDS = 2.0
PROBE_SECONDS = 1.0


class CircuitBreaker:
    """Makes calls fail immediately during an outage, except one probe every PROBE_SECONDS.

    The circuit opens after FAILURES failed calls in a row and OUTAGE_SECONDS without a success, so
    a short restart of DynamoDB does not open it. A probe is a call that is sent although the
    circuit is open. The first successful probe closes the circuit. The time of the next probe is
    set when a probe starts, so a probe that never ends does not prevent the next probe. Therefore
    no "half-open" state is needed.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._began = 0.0
        """When the first failure of the current series happened."""
        self._next_probe: float | None = None
        """When the next probe may be sent. None while the circuit is closed."""

    @property
    def open(self) -> bool:
        """Whether calls fail without being sent to DynamoDB, except probes."""
        return self._next_probe is not None

    def admit(self) -> None:
        """Raise CircuitOpenError if a call must not be sent. An admitted call may be a probe."""
        if self._next_probe is None:
            return
        if time.monotonic() < self._next_probe:
            raise CircuitOpenError(
                "DynamoDB has not answered for a while: try again in a few seconds."
            )
        self._next_probe = time.monotonic() + PROBE_SECONDS

    def succeeded(self) -> None:
        """Close the circuit, because DynamoDB has answered. An error response is an answer too."""
        self._failures = 0
        if self._next_probe is not None:
            self._next_probe = None
            logger.warning("DynamoDB answers again.")

    def failed(self) -> None:
        """Count a call that had no response. The circuit may open."""
        now = time.monotonic()
        if self._failures == 0:
            self._began = now
        self._failures += 1
        if self._failures < FAILURES or now - self._began < OUTAGE_SECONDS:
            return
        if self._next_probe is None:
            logger.warning(
                "DynamoDB has not answered %d calls in a row: requests fail immediately, except "
                "one probe a second.",
                self._failures,
            )
        self._next_probe = now + PROBE_SECONDS


class Gate:
    """Sends the calls of one ``Table`` by ``send``, within the limits of this module."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._free = asyncio.Semaphore(CONNECTIONS)
        self.breaker = CircuitBreaker()
        self._under_way: set[asyncio.Task[Any]] = set()
        self._due: dict[asyncio.Timeout, float] = {}
        """The attempts in progress, each with the time at which ``_watch`` ends it."""
        self._watching = False

    async def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Send one call and return its response. Raises DalError.

        If the caller is cancelled after a write was sent, the write continues. If the write were
        aborted, it would be unknown whether it happened.
        """
        if operation not in WRITES:
            async with self._free:
                return await self._attempt(operation, arguments)
        await self._free.acquire()
        task = asyncio.create_task(self._attempt(operation, arguments))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def bound(self, operation: str) -> float:
        """Return the seconds after which a call that begins now ends by itself.

        The number is infinite if the call must wait for a connection.
        """
        limit = ATTEMPT_SECONDS if operation in _QUICK else MAINTENANCE_SECONDS
        return inf if self._free.locked() else limit + _WATCH_EVERY

    async def drain(self) -> None:
        """Wait for the responses to the writes that were sent."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    def _watch(self) -> None:
        """End the attempts that take too long, and look again if others are in progress.

        One timer for all attempts is enough. A timer for each attempt would let the event loop poll
        once more for each response.
        """
        loop = asyncio.get_running_loop()
        for timeout, due in self._due.items():
            if due <= loop.time() and timeout.when() is None:
                timeout.reschedule(due)
        self._watching = bool(self._due)
        if self._watching:
            loop.call_later(_WATCH_EVERY, self._watch)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        self._free.release()
        if not task.cancelled():
            # Read the exception, because a cancelled caller does not read it, and asyncio logs
            # exceptions that are never read.
            task.exception()

    async def _attempt(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.breaker.admit()
        limit = ATTEMPT_SECONDS if operation in _QUICK else MAINTENANCE_SECONDS
        try:
            async with asyncio.timeout(None) as timeout:
                self._due[timeout] = asyncio.get_running_loop().time() + limit
                if not self._watching:
                    self._watch()
                try:
                    response = await self._send(operation, arguments)
                finally:
                    del self._due[timeout]
        except TimeoutError:
            self.breaker.failed()
            raise StoreUnavailableError(
                f"DynamoDB did not answer within {limit:.0f} seconds: try again in a moment."
            ) from None
        except StoreUnavailableError:
            self.breaker.failed()
            raise
        except DalError:
            self.breaker.succeeded()
            raise
        self.breaker.succeeded()
        return response
