"""Instrumentation of the store: who is told of calls and of what is tried again. Mostly nobody."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Protocol

Send = Callable[[], Awaitable[dict[str, Any]]]


class StoreInstruments(Protocol):
    """Is told what is asked of DynamoDB."""

    async def call(self, operation: str, arguments: dict[str, Any], send: Send) -> dict[str, Any]:
        """Return what ``send`` answers, or raise what it raises: one attempt at an operation."""

    def retried(self, operation: str) -> None:
        """Take note of another attempt, after one that failed."""


STORE_INSTRUMENTS: ContextVar[StoreInstruments | None] = ContextVar(
    "store_instruments", default=None
)
"""Who is told of the work under way, set by whoever serves a client or runs a command."""
