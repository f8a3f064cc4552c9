"""Instrumentation: what the DynamoDB client reports to metrics and traces.

The context variable holds the object that receives the reports, or None. With None, nothing is
reported.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Protocol

Send = Callable[[], Awaitable[dict[str, Any]]]


class StoreInstruments(Protocol):
    """Observes requests to DynamoDB."""

    async def call(self, operation: str, arguments: dict[str, Any], send: Send) -> dict[str, Any]:
        """Await ``send``, which makes one attempt at an operation, and return its response."""

    def retried(self, operation: str) -> None:
        """Count an attempt that failed and is retried."""


STORE_INSTRUMENTS: ContextVar[StoreInstruments | None] = ContextVar(
    "store_instruments", default=None
)
