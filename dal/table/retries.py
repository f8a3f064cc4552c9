"""The policies of retries: backoff with full jitter, for transient errors, inside a deadline."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from dal import errors
from dal.table.deadline import time_left
from dal.table.failure_log import log_failure

Answer = TypeVar("Answer")

DEADLINE = 10.0
"""Seconds a request to the store may take, retries included; less where a deadline is set."""

MAINTENANCE_DEADLINE = 60.0
"""Seconds that bulk writes and rebuilds go on while others keep changing the very same items."""

_TRANSIENT = (errors.ThrottledError, errors.StoreUnavailableError, errors.ConflictError)

_TOO_LATE = "DynamoDB did not answer in time: try again in a moment."

_MOST_DOUBLINGS = 20


async def retry(
    attempt: Callable[[], Coroutine[Any, Any, Answer]], operation: str = "request"
) -> Answer:
    """Return the first answer in time; else raise what last stood in the way.

    Throttling, a table that does not answer, and conflicts are tried again; other errors are not,
    nor is an open circuit where somebody waits with a deadline. Once an attempt has had no answer,
    also at the very end, that is StoreUnavailableError: whether it was carried out is unknown.
    """
    left = time_left(DEADLINE)
    if left == 0:
        raise errors.StoreUnavailableError(_TOO_LATE)
    latest: errors.DalError | None = None
    unknown: errors.DalError | None = None
    number = 0
    try:
        async with asyncio.timeout(left):
            while True:
                latest, number = None, number + 1
                try:
                    return await attempt()
                except errors.DalError as error:
                    latest = error
                    if _unanswered(error):
                        unknown = error
                    log_failure(operation, error, number)
                    if not _worth_another_try(error):
                        raise
                await asyncio.sleep(_jitter(number, 0.05, most=1))
    except TimeoutError:
        if latest is None:
            latest = errors.StoreUnavailableError(_TOO_LATE)
            log_failure(operation, latest, number)
        raise (unknown or latest) from None


def _unanswered(error: errors.DalError) -> bool:
    sent = not isinstance(error, errors.CircuitOpenError)
    return sent and isinstance(error, errors.StoreUnavailableError)


def _worth_another_try(error: errors.DalError) -> bool:
    if isinstance(error, errors.CircuitOpenError) and time_left() is not None:
        return False
    return isinstance(error, _TRANSIENT)


def _jitter(number: int, seconds: float, *, most: float) -> float:
    """Return how long to wait after a number of attempts: any time up to a limit that doubles."""
    return random.uniform(0, min(most, seconds * 2 ** min(number - 1, _MOST_DOUBLINGS)))  # noqa: S311


async def retry_on_conflict(
    attempt: Callable[[], Coroutine[Any, Any, Answer]], deadline: float | None = None
) -> Answer:
    """Return the answer of the first attempt that meets no ConflictError.

    Attempts follow each other with jitter. After ``deadline`` seconds (None: a request's), or once
    the deadline around it has passed, the last one's conflict is raised.
    """
    most = time_left(DEADLINE if deadline is None else deadline)
    assert most is not None  # noqa: S101 - it was given one
    clock = asyncio.get_running_loop().time
    end, number = clock() + most, 0
    while True:
        number += 1
        try:
            return await attempt()
        except errors.ConflictError:
            pause = _jitter(number, 0.02, most=0.5)
            if clock() + pause >= end:
                raise
        await asyncio.sleep(pause)
