"""A circuit breaker: while the store is gone, nobody waits for it and few calls are made.

It opens when no call has succeeded for OUTAGE_SECONDS and FAILURES calls in a row have failed, so
that a restart of the store is waited for. From then on one call every PROBE_SECONDS goes through,
and the first that succeeds closes it. There is no state for "half-open": a probe that is lost, or
whose client left, is followed by the next.
"""

import logging
import time

from dal.errors import CircuitOpenError

logger = logging.getLogger(__name__)

FAILURES = 8
OUTAGE_SECONDS = 2.0
PROBE_SECONDS = 1.0


class CircuitBreaker:
    """Counts the calls in a row that did not reach the store."""

    def __init__(self) -> None:
        self._failures = 0
        self._began = 0.0
        """When the first of them failed."""
        self._next_probe: float | None = None
        """None while the circuit is closed."""

    @property
    def open(self) -> bool:
        """Whether calls are refused, but for a probe now and then."""
        return self._next_probe is not None

    def admit(self) -> None:
        """Return when a call may be made; raise CircuitOpenError when it would be in vain."""
        if self._next_probe is None:
            return
        if time.monotonic() < self._next_probe:
            raise CircuitOpenError(
                "DynamoDB has not answered for a while: try again in a few seconds."
            )
        self._next_probe = time.monotonic() + PROBE_SECONDS

    def succeeded(self) -> None:
        """Note that a call was answered, be it with a refusal."""
        self._failures = 0
        if self._next_probe is not None:
            self._next_probe = None
            logger.warning("DynamoDB answers again.")

    def failed(self) -> None:
        """Note that a call was not answered."""
        now = time.monotonic()
        if self._failures == 0:
            self._began = now
        self._failures += 1
        if self._failures < FAILURES or now - self._began < OUTAGE_SECONDS:
            return
        if self._next_probe is None:
            logger.warning(
                "DynamoDB has not answered %d calls in a row: requests fail at once now, and one a "
                "second tries it.",
                self._failures,
            )
        self._next_probe = now + PROBE_SECONDS
