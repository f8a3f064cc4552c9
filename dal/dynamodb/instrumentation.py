"""Instrumentation: what the DynamoDB client and the follower report to metrics and traces.

The follower reads the records of the table's stream, and updates the counts of comments. Each
context variable of this module holds the object that receives the reports, or None. With None,
nothing is reported.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import datetime
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


class FollowerInstruments(Protocol):
    """Observes the follower, which applies the records of the table's stream."""

    def applied(self, made: datetime | None, now: datetime) -> None:
        """Report that records of a shard were applied.

        ``made`` is the time of the last record's change; None if it is unknown.
        """

    def round(self, now: datetime, *, unread: bool) -> None:
        """Report that the follower has read all shards once.

        ``unread`` is True if a shard may have unread records.
        """


FOLLOWER_INSTRUMENTS: ContextVar[FollowerInstruments | None] = ContextVar(
    "follower_instruments", default=None
)
