"""The one policy of retries: backoff with full jitter, for what may pass, inside a deadline."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type
from tenacity.wait import wait_random_exponential

from dal import errors

Answer = TypeVar("Answer")

_RETRIED = (errors.ThrottledError, errors.StoreUnavailableError, errors.ConflictError)


async def insist(attempt: Callable[[], Coroutine[Any, Any, Answer]], deadline: float) -> Answer:
    """Return the first answer within ``deadline`` seconds; else raise what last stood in the way.

    Throttling, a store that does not answer, and conflicts are tried again; other errors are not.
    """
    latest: BaseException = errors.StoreUnavailableError(
        f"DynamoDB did not answer within {deadline:.0f} seconds: try again in a moment."
    )

    def remember(state: RetryCallState) -> None:
        nonlocal latest
        if state.outcome is not None:
            latest = state.outcome.exception() or latest

    retrying = AsyncRetrying(
        retry=retry_if_exception_type(_RETRIED),
        wait=wait_random_exponential(multiplier=0.05, max=1),
        before_sleep=remember,
    )
    try:
        async with asyncio.timeout(deadline):
            return await retrying(attempt)
    except TimeoutError:
        raise latest from None
