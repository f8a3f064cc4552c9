"""How many requests run at once, and what becomes of the rest.

One process on one core serves so many requests a second. Whatever is let in beyond that makes all
of them slower, until clients give up on answers that the server still works for. So a fixed number
runs at once, others wait a moment for a place, and then are told to come back.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

logger = logging.getLogger(__name__)

WAIT = 0.03
"""Seconds that a request waits for a place: a burst is served, and clients that ask again at once
go round no faster than that. With the event loop's own delay it stays below 100 ms."""

ON_TIME = 0.01
"""Seconds by which the event loop may be late and still has time to spare."""

MOST_WAITING = 20
"""How many times as many requests may run where they do not work, but wait for the store."""

_LOG_EVERY = 10.0
"""Seconds between two lines of the log."""


def is_health(path: str) -> bool:
    """Return whether a path tells the server's health: no load and no limit may silence it."""
    return path == "/health" or path.startswith("/health/")


@dataclass(frozen=True, slots=True)
class Request:
    """What waits for a place: one of the two is called, once."""

    serve: Callable[[], bool]
    """Runs the application; False when the client has left."""
    refuse: Callable[[], object]
    deadline: float


class Admission:
    """ASGI middleware around requests that were let in: at most ``most`` run at once.

    ``ask`` lets a request in before it comes here, or refuses it when there was no place for
    ``WAIT`` seconds. Where the event loop is on time then, those that run wait for a slow store
    rather than for the process, and one more is let in.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most
        self._running = 0
        self._waiting: deque[Request] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._refused = 0
        self._logged = -_LOG_EVERY

    def ask(self, path: str, serve: Callable[[], bool], refuse: Callable[[], object]) -> None:
        """Call ``serve`` or ``refuse`` within ``WAIT`` seconds; health is served at once."""
        if self._running < self._most or is_health(path):
            self._running += serve()
            return
        deadline = asyncio.get_running_loop().time() + WAIT
        self._waiting.append(Request(serve, refuse, deadline))
        self._set_timer()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request that was let in; then let in the next."""
        try:
            await self._app(scope, receive, send)
        finally:
            if scope["type"] == "http":
                self._leave()

    def _leave(self) -> None:
        self._running -= 1
        while self._waiting and self._running < self._most:
            self._running += self._waiting.popleft().serve()

    def _set_timer(self) -> None:
        if self._timer is None and self._waiting:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._waiting[0].deadline, self._expire)

    def _expire(self) -> None:
        now = asyncio.get_running_loop().time()
        on_time = now - self._waiting[0].deadline < ON_TIME if self._waiting else False
        if on_time and self._running < self._most * MOST_WAITING:
            self._running += self._waiting.popleft().serve()
        while self._waiting and self._waiting[0].deadline <= now:
            self._waiting.popleft().refuse()
            self._refused += 1
        self._timer = None
        self._set_timer()
        self._log(now)

    def _log(self, now: float) -> None:
        if self._refused and now >= self._logged + _LOG_EVERY:
            logger.warning("Busy: %d requests were answered 503.", self._refused)
            self._refused, self._logged = 0, now
