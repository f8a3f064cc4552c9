"""The policies of retries: backoff with full jitter, for transient errors, inside a deadline."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_delay
from tenacity.wait import wait_random_exponential

from dal import errors

Answer = TypeVar("Answer")

DEADLINE = 10.0
"""Seconds a request may take, retries included."""

MAINTENANCE_DEADLINE = 60.0
"""Seconds that bulk writes and rebuilds go on while others keep changing the very same items."""

_TRANSIENT = (errors.ThrottledError, errors.StoreUnavailableError, errors.ConflictError)


async def retry(attempt: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
    """Return the first answer within ``DEADLINE``; else raise what last stood in the way.

    Throttling, a table that does not answer, and conflicts are tried again; other errors are not.
    """
    latest: BaseException = errors.StoreUnavailableError(
        f"DynamoDB did not answer within {DEADLINE:.0f} seconds: try again in a moment."
    )

    def remember(state: RetryCallState) -> None:
        nonlocal latest
        if state.outcome is not None:
            latest = state.outcome.exception() or latest

    retrying = AsyncRetrying(
        retry=retry_if_exception_type(_TRANSIENT),
        wait=wait_random_exponential(multiplier=0.05, max=1),
        before_sleep=remember,
    )
    try:
        async with asyncio.timeout(DEADLINE):
            return await retrying(attempt)
    except TimeoutError:
        raise latest from None


async def retry_on_conflict(
    attempt: Callable[[], Coroutine[Any, Any, Answer]], deadline: float | None = None
) -> Answer:
    """Return the answer of the first attempt that meets no ConflictError.

    Attempts follow each other with jitter. After ``deadline`` seconds (None: a request's) the last
    one's conflict is raised.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception_type(errors.ConflictError),
        wait=wait_random_exponential(multiplier=0.02, max=0.5),
        stop=stop_after_delay(DEADLINE if deadline is None else deadline),
        reraise=True,
    )
    return await retrying(attempt)
