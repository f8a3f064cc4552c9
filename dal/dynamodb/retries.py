"""Retries transient errors of DynamoDB until the deadline, after random and growing delays.

The delays are exponential backoff with full jitter.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    retry_if_exception_type,
    stop_before_delay,
)
from tenacity.wait import wait_random_exponential

from dal.dynamodb.account import WRITES
from dal.dynamodb.deadline import time_left
from dal.dynamodb.errors import (
    CircuitOpenError,
    ConditionFailedError,
    ConflictError,
    CredentialsExpiredError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.dynamodb.instrumentation import STORE_INSTRUMENTS
from dal.table.errors import DalError, StoreRefusedError

logger = logging.getLogger(__name__)

Response = TypeVar("Response")

DEADLINE = 10.0
"""Maximum seconds of a request to DynamoDB, including its retries. The deadline of the client's
request may be earlier."""

MAINTENANCE_DEADLINE = 60.0
"""Maximum seconds in which a bulk write or a maintenance command retries conflicts on the same
items."""

REPORT_SECONDS = 10.0
"""Minimum seconds between two reports of a command that waits for DynamoDB without a time limit."""

LOG_SECONDS = 1.0
"""Minimum seconds between two log lines about the same kind of failure."""

_TRANSIENT = (
    ThrottledError,
    StoreUnavailableError,
    ConflictError,
    CredentialsExpiredError,
)

_LOGGED = (
    ThrottledError,
    StoreUnavailableError,
    StoreFullError,
    StoreRefusedError,
)
"""Errors that are logged as failures of DynamoDB. Failed conditions and conflicts are part of
normal operation, so they are not logged."""

_TOO_LATE = "DynamoDB did not answer in time: try again in a moment."


class Patience:
    """Lets a command wait for DynamoDB without a time limit, after DynamoDB has answered once.

    ``report`` receives the seconds that a request has waited, and the latest error.
    """

    def __init__(self, report: Callable[[float, DalError], None]) -> None:
        self.answered = False
        self._report = report
        self._reported = -math.inf

    def waiting(self, began: float, error: DalError) -> None:
        """Report a wait, at most once in REPORT_SECONDS. ``began`` is when the request began."""
        now = time.monotonic()
        if now - max(began, self._reported) >= REPORT_SECONDS:
            self._reported = now
            self._report(now - began, error)


_PATIENCE: ContextVar[Patience | None] = ContextVar("patience", default=None)


@contextmanager
def patient(patience: Patience) -> Iterator[None]:
    """Apply ``patience`` to the requests in the ``with`` block that have no deadline."""
    token = _PATIENCE.set(patience)
    try:
        yield
    finally:
        _PATIENCE.reset(token)


def waits() -> bool:
    """Return whether this task's requests wait for DynamoDB without a time limit."""
    patience = _PATIENCE.get()
    return patience is not None and patience.answered and time_left() is None


async def retry(
    attempt: Callable[[], Coroutine[Any, Any, Response]],
    operation: str = "request",
    bound: Callable[[str], float] = lambda _: math.inf,
) -> Response:
    """Repeat ``attempt`` until it succeeds, and return its response.

    After throttling, a lost response, a conflict or expired credentials, retry until the deadline.
    All other errors are raised immediately. After CircuitOpenError, retry only if the caller has no
    deadline. ``bound`` returns the seconds after which an attempt ends by itself.

    If no attempt succeeds, one of these errors is raised:

    - At the deadline: StoreUnavailableError if the response to any attempt was lost, otherwise the
      latest error.
    - Before the deadline: the first error that is not retried. But if the response to an earlier
      attempt at a write was lost, StoreUnavailableError is raised instead, because the write may
      have happened. This does not apply to ConditionFailedError: it is raised even then, and the
      caller must consider that an earlier attempt may have succeeded.
    """
    left = time_left(None if waits() else DEADLINE)
    if left == 0:
        raise StoreUnavailableError(_TOO_LATE)
    attempts = _Attempts(attempt, operation)
    try:
        try:
            if left is None or bound(operation) < left:  # the usual case needs no timer
                return await attempts.next()
            async with asyncio.timeout(left):
                return await attempts.next()
        except DalError as error:
            passed = time.monotonic() - attempts.began
            rest = None if left is None else max(0.0, left - passed)
            async with asyncio.timeout(rest):
                return await _retry_after(
                    error,
                    attempts.next,
                    retry=retry_if_exception(_is_transient),
                    wait=wait_random_exponential(multiplier=0.05, max=1),
                )
    except TimeoutError:
        raise attempts.too_late() from None
    except DalError as error:
        raise attempts.outcome(error) from error.__cause__


@dataclass(slots=True)
class _Attempts(Generic[Response]):
    """Makes the attempts at one request, and determines the error that is raised at the end."""

    attempt: Callable[[], Coroutine[Any, Any, Response]]
    operation: str
    number: int = 0
    began: float = field(default_factory=time.monotonic)
    latest: DalError | None = None
    lost: DalError | None = None
    """The error of the latest attempt that was sent and had no response."""

    async def next(self) -> Response:
        """Make an attempt."""
        self.latest, self.number = None, self.number + 1
        if self.number > 1 and (instruments := STORE_INSTRUMENTS.get()) is not None:
            instruments.retried(self.operation)
        patience = _PATIENCE.get()
        try:
            response = await self.attempt()
        except DalError as error:
            self.latest = error
            sent = not isinstance(error, CircuitOpenError)
            if sent and isinstance(error, StoreUnavailableError):
                self.lost = error
            log_failure(self.operation, error, self.number)
            if patience is not None:
                patience.waiting(self.began, error)
            raise
        if patience is not None:
            patience.answered = True
        return response

    def too_late(self) -> DalError:
        """Return the error to raise at the deadline."""
        if self.latest is None:
            self.latest = StoreUnavailableError(_TOO_LATE)
            log_failure(self.operation, self.latest, self.number)
        return self.lost or self.latest

    def outcome(self, error: DalError) -> DalError:
        """Return the error to raise after the last attempt.

        This is ``error``, the error of the last attempt. But if an attempt at a write had no
        response, it is the error of that attempt, unless ``error`` is a ConditionFailedError.
        """
        if self.operation not in WRITES or isinstance(error, ConditionFailedError):
            return error
        return self.lost or error


async def _retry_after(
    failure: DalError, attempt: Callable[[], Coroutine[Any, Any, Response]], **options: Any
) -> Response:
    """Retry after a first attempt that raised ``failure``. ``options`` are tenacity's options.

    The caller makes the first attempt without tenacity. Otherwise, a successful call would spend a
    third of its time in tenacity. For tenacity, ``failure`` is the result of the first attempt.
    """
    failures = [failure]

    async def following() -> Response:
        if failures:
            raise failures.pop()
        return await attempt()

    return await AsyncRetrying(**options)(following)


def _is_transient(error: BaseException) -> bool:
    if isinstance(error, CircuitOpenError) and time_left() is not None:
        return False
    return isinstance(error, _TRANSIENT)


async def retry_on_conflict(
    attempt: Callable[[], Coroutine[Any, Any, Response]], deadline: float | None = None
) -> Response:
    """Repeat ``attempt`` while it raises ConflictError, and return its response.

    Raises the latest ConflictError after ``deadline`` seconds, or at the deadline of the current
    request if that is earlier. The default of ``deadline`` is DEADLINE. Other errors are raised
    immediately.
    """
    most, began = time_left(DEADLINE if deadline is None else deadline), time.monotonic()
    assert most is not None  # noqa: S101 - time_left returns a number for a number
    try:
        return await attempt()
    except ConflictError as error:
        return await _retry_after(
            error,
            attempt,
            retry=retry_if_exception_type(ConflictError),
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            stop=stop_before_delay(most - (time.monotonic() - began)),
            reraise=True,
        )


async def retry_on_change(
    attempt: Callable[[], Coroutine[Any, Any, Response]],
    changed: str,
    deadline: float | None = None,
) -> Response:
    """Repeat ``attempt`` while it raises ConditionFailedError, and return its response.

    ``attempt`` reads items, and writes on condition that they have not changed meanwhile. Errors
    are those of ``retry_on_conflict``. ``changed`` names the items in the ConflictError.
    """

    async def once() -> Response:
        try:
            return await attempt()
        except ConditionFailedError:
            raise ConflictError(
                f"Other requests keep changing {changed}: try again in a moment."
            ) from None

    return await retry_on_conflict(once, deadline)


@dataclass(slots=True)
class _Kind:
    next_line: float = 0.0
    suppressed: int = 0


class FailureLog:
    """Logs failures of DynamoDB: at most one line per second for each kind of failure.

    Each line shows how many lines were omitted since the previous line of the same kind.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: dict[type[DalError], _Kind] = {}

    def note(self, operation: str, error: DalError, attempt: int) -> None:
        """Log a failed attempt, or count it as omitted."""
        if not isinstance(error, _LOGGED) or isinstance(error, CircuitOpenError):
            return
        kind = self._kinds.setdefault(type(error), _Kind())
        if self._clock() < kind.next_line:
            kind.suppressed += 1
            return
        fields = {
            "operation": operation,
            "error": type(error).__name__,
            "attempt": attempt,
            "suppressed": kind.suppressed,
        }
        logger.warning(
            "DynamoDB failed: operation=%(operation)s error=%(error)s attempt=%(attempt)d "
            "suppressed=%(suppressed)d: %(sentence)s",
            {**fields, "sentence": str(error)},
            extra=fields,
        )
        kind.next_line, kind.suppressed = self._clock() + LOG_SECONDS, 0


log_failure = FailureLog().note
