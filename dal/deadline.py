"""The deadline of the work in progress, which all its requests to the store share.

The server sets a deadline for each client's request. Every request to the store and every wait in
``dal`` ends by this time, even in tasks that the work starts. Without a deadline, each request has
its own limit.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Deadline:
    """A time on the event loop's clock, in seconds. It can be moved."""

    at: float = math.inf

    def restart(self, seconds: float) -> None:
        """Move the deadline to ``seconds`` from now."""
        self.at = asyncio.get_running_loop().time() + seconds


_CURRENT: ContextVar[Deadline] = ContextVar("deadline")


def current_deadline() -> Deadline:
    """Return the deadline of the work in progress; infinite if none is set."""
    return _CURRENT.get(Deadline())


@contextmanager
def deadline(at: Deadline) -> Iterator[None]:
    """Set the deadline of the work in this block. It replaces the deadline around the block."""
    token = _CURRENT.set(at)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def time_left(most: float | None = None) -> float | None:
    """Return how many seconds a wait may take: at most ``most``. None means no limit."""
    current = _CURRENT.get(None)
    if current is None or current.at == math.inf:
        return most
    left = max(0.0, current.at - asyncio.get_running_loop().time())
    return left if most is None else min(left, most)
