"""The log of what the store failed at: a line a second for each kind, however many fail."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from dal import errors

logger = logging.getLogger(__name__)

EVERY_SECONDS = 1.0

FAILURES = (
    errors.ThrottledError,
    errors.StoreUnavailableError,
    errors.StoreFullError,
    errors.StoreRefusedError,
)
"""What is a failure; conditions that do not hold and conflicts are answers, and everyday ones."""


@dataclass(slots=True)
class _Kind:
    next_line: float = 0.0
    suppressed: int = 0


class FailureLog:
    """Writes one line for each kind of failure in a while, with how many went without one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: dict[type[errors.DalError], _Kind] = {}

    def note(self, operation: str, error: errors.DalError, attempt: int) -> None:
        """Log an attempt that failed, or count it."""
        if not isinstance(error, FAILURES) or isinstance(error, errors.CircuitOpenError):
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
        kind.next_line, kind.suppressed = self._clock() + EVERY_SECONDS, 0


log_failure = FailureLog().note
