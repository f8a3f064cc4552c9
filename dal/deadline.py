"""The deadline of the work under way: one for all requests to the store that it makes.

Whoever serves a client sets it. Every request to the store and every wait of this layer obeys it,
in tasks begun meanwhile too. Where none is set, each request has a limit of its own.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Deadline:
    """An instant of the event loop's clock, in seconds; it may be moved."""

    at: float = math.inf

    def restart(self, seconds: float) -> None:
        """Let the work go on for ``seconds`` from now."""
        self.at = asyncio.get_running_loop().time() + seconds


_CURRENT: ContextVar[Deadline] = ContextVar("deadline")


def current_deadline() -> Deadline:
    """Return the deadline of the work under way; infinite where none is set."""
    return _CURRENT.get(Deadline())


@contextmanager
def deadline(at: Deadline) -> Iterator[None]:
    """Give the work in this block a deadline, whatever there was around it."""
    token = _CURRENT.set(at)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def time_left(most: float | None = None) -> float | None:
    """Return how many seconds a wait may take, ``most`` at most; None is any time."""
    current = _CURRENT.get(None)
    if current is None or current.at == math.inf:
        return most
    left = max(0.0, current.at - asyncio.get_running_loop().time())
    return left if most is None else min(left, most)
