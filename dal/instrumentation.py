"""Instrumentation: what the store and the follower report for metrics and traces.

The context variables hold the objects that receive the reports. By default they are None: nothing
is reported.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Protocol

Send = Callable[[], Awaitable[dict[str, Any]]]


class StoreInstruments(Protocol):
    """Observes requests to DynamoDB."""

    async def call(self, operation: str, arguments: dict[str, Any], send: Send) -> dict[str, Any]:
        """Await ``send``, one attempt at an operation, and return its response."""

    def retried(self, operation: str) -> None:
        """Note that an attempt failed and another follows."""


STORE_INSTRUMENTS: ContextVar[StoreInstruments | None] = ContextVar(
    "store_instruments", default=None
)


class FollowerInstruments(Protocol):
    """Observes what a follower of the table's stream applies."""

    def applied(self, made: datetime | None, now: datetime) -> None:
        """Note that a shard's records were applied; ``made`` is the newest one's time."""

    def round(self, now: datetime, *, left: bool) -> None:
        """Note a round over all shards; ``left`` is True if a shard has unread records."""


FOLLOWER_INSTRUMENTS: ContextVar[FollowerInstruments | None] = ContextVar(
    "follower_instruments", default=None
)
