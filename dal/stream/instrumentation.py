"""Instrumentation of the follower: who is told how far it is. Mostly nobody."""

from contextvars import ContextVar
from datetime import datetime
from typing import Protocol


class FollowerInstruments(Protocol):
    """Is told what a follower of the table's stream has applied."""

    def applied(self, made: datetime | None, now: datetime) -> None:
        """Note that a shard's records were applied; ``made`` is the newest one's time, if known."""

    def round(self, now: datetime, *, left: bool) -> None:
        """Take note of a round over all shards: whether one of them had anything left."""


FOLLOWER_INSTRUMENTS: ContextVar[FollowerInstruments | None] = ContextVar(
    "follower_instruments", default=None
)
"""Who is told of the work under way."""
