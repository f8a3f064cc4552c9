"""The deadline of the current request, for all calls to DynamoDB that the request makes.

The server sets a deadline for each client's request. Every call to DynamoDB and every wait in
``dal`` ends by this time, also in tasks that the request starts. Without a deadline, each call has
its own time limit.
"""

import asyncio
import math
from contextvars import ContextVar

CURRENT: ContextVar[float] = ContextVar("deadline", default=math.inf)
"""The current request's deadline: a time on the event loop's clock, in seconds. Infinite if no
deadline is set."""


class deadline:  # noqa: N801 - named like contextlib's classes
    """Sets the deadline of the ``with`` block. In the block, an outer deadline has no effect.

    ``at`` is a time on the event loop's clock.
    """

    # Every request enters one. A generator with ``contextmanager`` takes twice as long.
    __slots__ = ("_at", "_token")

    def __init__(self, at: float) -> None:
        self._at = at

    def __enter__(self) -> None:
        self._token = CURRENT.set(self._at)

    def __exit__(self, *_: object) -> None:
        CURRENT.reset(self._token)


def deadline_in(seconds: float) -> deadline:
    """Set a deadline for the ``with`` block, ``seconds`` after this call."""
    return deadline(asyncio.get_running_loop().time() + seconds)


def time_left(most: float | None = None) -> float | None:
    """Return the seconds until the deadline, at most ``most``.

    Without a deadline, return ``most``. As argument or result, None means that there is no limit.
    """
    at = CURRENT.get()
    if at == math.inf:
        return most
    left = max(0.0, at - asyncio.get_running_loop().time())
    return left if most is None else min(left, most)
