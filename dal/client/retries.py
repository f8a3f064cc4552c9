"""The policies of retries: backoff with full jitter, for transient errors, inside a deadline."""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    retry_if_exception_type,
    stop_before_delay,
)
from tenacity.wait import wait_random_exponential

from dal import errors
from dal.client.failure_log import log_failure
from dal.client.gate import WRITES
from dal.deadline import time_left
from dal.instrumentation import STORE_INSTRUMENTS

Answer = TypeVar("Answer")

DEADLINE = 10.0
"""Seconds a request to the store may take, retries included; less where a deadline is set."""

MAINTENANCE_DEADLINE = 60.0
"""Seconds that bulk writes and rebuilds go on while others keep changing the very same items."""

_TRANSIENT = (
    errors.ThrottledError,
    errors.StoreUnavailableError,
    errors.ConflictError,
    errors.CredentialsExpiredError,
)

_TOO_LATE = "DynamoDB did not answer in time: try again in a moment."


TELL_EVERY = 10.0
"""Seconds between two reports of a wait without a limit."""


class Patience:
    """A wait without a limit for a store that has answered before.

    ``tell`` gets the seconds that a request has waited, and the latest error.
    """

    def __init__(self, tell: Callable[[float, errors.DalError], None]) -> None:
        self.answered = False
        self._tell = tell
        self._told = -math.inf

    def waiting(self, began: float, error: errors.DalError) -> None:
        """Note that a request of some time ago has failed again."""
        now = time.monotonic()
        if now - max(began, self._told) >= TELL_EVERY:
            self._told = now
            self._tell(now - began, error)


_PATIENCE: ContextVar[Patience | None] = ContextVar("patience", default=None)


@contextmanager
def patient(patience: Patience) -> Iterator[None]:
    """Let requests in this block wait as long as it takes, unless they have a deadline."""
    token = _PATIENCE.set(patience)
    try:
        yield
    finally:
        _PATIENCE.reset(token)


def waits() -> bool:
    """Return whether requests wait for the store as long as it takes."""
    patience = _PATIENCE.get()
    return patience is not None and patience.answered and time_left() is None


async def retry(
    attempt: Callable[[], Coroutine[Any, Any, Answer]], operation: str = "request"
) -> Answer:
    """Return the first answer before the deadline; else raise the latest error.

    Throttling, lost answers and conflicts are retried. Other errors are not, nor is an open circuit
    under a deadline. After a lost answer to a write, a later refusal does not prove the outcome:
    the error is then StoreUnavailableError. The caller interprets a failed condition.
    """
    left = time_left(None if waits() else DEADLINE)
    if left == 0:
        raise errors.StoreUnavailableError(_TOO_LATE)
    attempts = _Attempts(attempt, operation)
    try:
        async with asyncio.timeout(left):
            try:
                return await attempts.next()
            except errors.DalError as error:
                return await _further(attempts.next, error)
    except TimeoutError:
        raise attempts.too_late() from None
    except errors.DalError as error:
        raise attempts.known(error) from error.__cause__


class _Attempts(Generic[Answer]):
    """The attempts at one request, and what they leave known."""

    def __init__(self, attempt: Callable[[], Coroutine[Any, Any, Answer]], operation: str) -> None:
        self._attempt = attempt
        self._operation = operation
        self._number = 0
        self._began = time.monotonic()
        self._latest: errors.DalError | None = None
        self._unknown: errors.DalError | None = None

    async def next(self) -> Answer:
        """Make an attempt."""
        self._latest, self._number = None, self._number + 1
        if self._number > 1 and (instruments := STORE_INSTRUMENTS.get()) is not None:
            instruments.retried(self._operation)
        patience = _PATIENCE.get()
        try:
            answer = await self._attempt()
        except errors.DalError as error:
            self._latest = error
            if _unanswered(error):
                self._unknown = error
            log_failure(self._operation, error, self._number)
            if patience is not None:
                patience.waiting(self._began, error)
            raise
        if patience is not None:
            patience.answered = True
        return answer

    def too_late(self) -> errors.DalError:
        """Return the error to raise at the deadline."""
        if self._latest is None:
            self._latest = errors.StoreUnavailableError(_TOO_LATE)
            log_failure(self._operation, self._latest, self._number)
        return self._unknown or self._latest

    def known(self, error: errors.DalError) -> errors.DalError:
        """Return the error to raise after the last attempt: of a lost write, that it is unknown."""
        if self._operation not in WRITES or isinstance(error, errors.ConditionFailedError):
            return error
        return self._unknown or error


async def _further(
    attempt: Callable[[], Coroutine[Any, Any, Answer]], failure: errors.DalError
) -> Answer:
    """Go on after a first attempt: tenacity takes a third of a call's time where nothing fails."""
    failures = [failure]

    async def following() -> Answer:
        if failures:
            raise failures.pop()
        return await attempt()

    retrying = AsyncRetrying(
        retry=retry_if_exception(_worth_another_try),
        wait=wait_random_exponential(multiplier=0.05, max=1),
    )
    return await retrying(following)


def _unanswered(error: errors.DalError) -> bool:
    sent = not isinstance(error, errors.CircuitOpenError)
    return sent and isinstance(error, errors.StoreUnavailableError)


def _worth_another_try(error: BaseException) -> bool:
    if isinstance(error, errors.CircuitOpenError) and time_left() is not None:
        return False
    return isinstance(error, _TRANSIENT)


async def retry_on_conflict(
    attempt: Callable[[], Coroutine[Any, Any, Answer]], deadline: float | None = None
) -> Answer:
    """Return the answer of the first attempt that meets no ConflictError.

    Attempts follow each other with jitter. After ``deadline`` seconds (None: a request's), or once
    the deadline around it has passed, the last one's conflict is raised.
    """
    most = time_left(DEADLINE if deadline is None else deadline)
    assert most is not None  # noqa: S101 - it was given one
    retrying = AsyncRetrying(
        retry=retry_if_exception_type(errors.ConflictError),
        wait=wait_random_exponential(multiplier=0.02, max=0.5),
        stop=stop_before_delay(most),
        reraise=True,
    )
    return await retrying(attempt)
