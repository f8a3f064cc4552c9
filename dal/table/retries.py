"""The policies of retries: backoff with full jitter, for transient errors, inside a deadline."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    retry_if_exception_type,
    stop_before_delay,
)
from tenacity.wait import wait_random_exponential

from dal import errors
from dal.table.deadline import time_left
from dal.table.failure_log import log_failure
from dal.table.gate import WRITES
from dal.table.instrumentation import STORE_INSTRUMENTS

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


async def retry(
    attempt: Callable[[], Coroutine[Any, Any, Answer]], operation: str = "request"
) -> Answer:
    """Return the first answer in time; else raise what last stood in the way.

    Throttling, a table that does not answer, and conflicts are tried again; other errors are not,
    nor is an open circuit where somebody waits with a deadline. Once an attempt at a write has had
    no answer, no refusal that follows proves what became of it: that is StoreUnavailableError. A
    failed condition is for the caller to interpret.
    """
    left = time_left(DEADLINE)
    if left == 0:
        raise errors.StoreUnavailableError(_TOO_LATE)
    latest: errors.DalError | None = None
    unknown: errors.DalError | None = None
    number = 0

    async def numbered() -> Answer:
        nonlocal latest, unknown, number
        latest, number = None, number + 1
        if number > 1 and (told := STORE_INSTRUMENTS.get()) is not None:
            told.retried(operation)
        try:
            return await attempt()
        except errors.DalError as error:
            latest = error
            if _unanswered(error):
                unknown = error
            log_failure(operation, error, number)
            raise

    try:
        async with asyncio.timeout(left):
            try:
                return await numbered()
            except errors.DalError as error:
                return await _further(numbered, error)
    except TimeoutError:
        if latest is None:
            latest = errors.StoreUnavailableError(_TOO_LATE)
            log_failure(operation, latest, number)
        raise (unknown or latest) from None
    except errors.DalError as error:
        raise _known(operation, unknown, error) from error.__cause__


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


def _known(
    operation: str, unknown: errors.DalError | None, error: errors.DalError
) -> errors.DalError:
    """Return what is known after an attempt without an answer, if there was one, and an error."""
    if operation not in WRITES or isinstance(error, errors.ConditionFailedError):
        return error
    return unknown or error


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
