"""How many requests run at once, and what becomes of the rest.

One process on one core serves so many requests a second. Whatever is let in beyond that makes all
of them slower, until clients give up on answers that the server still works for. So a fixed number
runs at once, as many wait as are likely to be served in time, and the rest are told to come back.
A burst waits in any case: what a waiting request costs is its memory. Clients take turns: one that
has a thousand requests waiting delays another client's request by one of them.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn._types import HTTPScope

from server.http.clients import Clients

logger = logging.getLogger(__name__)

BURST = 1.0
"""Seconds that nobody has waited for yet while a burst comes: all of it may wait. The pace of what
came before says nothing of it."""

WAIT = 6.0
"""Seconds that a request may be expected to wait where some wait for longer than a burst. The
busier a server is with costly requests, the fewer wait."""

LONGEST = 8.0
"""Seconds after which it is refused, where what came before took longer than expected."""

PACE = 0.002
"""Seconds from one end of a request to the next while others wait, until it is known."""

_STALL = 0.03
"""Seconds that one request counts for at most: one stall says little of the pace."""

_WEIGHT = 1 / 64

PAUSE = 0.01
"""Seconds before a request is refused: clients that ask again at once go round no faster than that
and a few turns of the event loop."""

REFUSALS = 1_000
"""Refusals a second: to write more would take the time of those who are served. Where more are due,
they are told later, which also slows clients that ask again at once."""

ON_TIME = 0.003
"""Seconds by which the event loop may be late and still has time to spare."""

MOST_WAITING = 20
"""How many times as many requests may run where they do not work, but wait for the store."""

LEAVE = "marginalia.leave"
"""The extension by which a request that listens gives its place back."""

_LOOK_EVERY = 0.005
_LOG_EVERY = 10.0
"""Seconds between two looks at the queue, and between two lines of the log."""


def is_health(path: str) -> bool:
    """Return whether a path tells the server's health: no load and no limit may silence it."""
    return path == "/health" or path.startswith("/health/")


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A request that waits for its turn."""

    client: str | None
    since: float
    serve: Callable[[], bool]
    refuse: Callable[[], object]


class _Queue:
    """The requests that wait: clients in turn, and each client's requests as they came."""

    def __init__(self) -> None:
        self._by_age: OrderedDict[_Waiting, None] = OrderedDict()
        self._by_client: OrderedDict[str | None, deque[_Waiting]] = OrderedDict()
        """The next in turn first."""

    def __len__(self) -> int:
        return len(self._by_age)

    def add(self, one: _Waiting) -> None:
        """Have a request wait behind the others of its client."""
        self._by_age[one] = None
        self._by_client.setdefault(one.client, deque()).append(one)

    def oldest(self) -> _Waiting:
        """Return the request that waits for longest."""
        return next(iter(self._by_age))

    def ahead_of(self, client: str | None) -> int:
        """Return how many requests are served before the next one of a client, at most."""
        own = len(self._by_client.get(client, ())) + 1
        return min(len(self), own * len(self._by_client))

    def take(self) -> _Waiting:
        """Remove and return the next request: clients take turns."""
        return self._remove(next(iter(self._by_client)))

    def take_oldest(self) -> _Waiting:
        """Remove and return the request that has waited for longest."""
        return self._remove(self.oldest().client)

    def _remove(self, client: str | None) -> _Waiting:
        """Remove a client's oldest request, and move the client behind all other clients."""
        requests = self._by_client[client]
        one = requests.popleft()
        del self._by_age[one]
        self._by_client.move_to_end(client)
        if not requests:
            del self._by_client[client]
        return one


class _Place:
    """A request's place among those that run, which it gives back once."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back: Callable[[], None] | None = give_back

    def leave(self) -> None:
        """Let another one run: this one has been served, or will not work for most of its time."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()


class Admission:
    """ASGI middleware around requests that were let in: at most ``most`` run at once.

    ``ask`` lets a request in before it comes here, now or in its turn, or refuses it. Where some
    wait and the event loop is on time, those that run wait for a slow store rather than for the
    process, and one more is let in.
    """

    def __init__(self, app: ASGIApp, most: int, trusted_proxies: Sequence[str]) -> None:
        self._app = app
        self._most = most
        self._clients = Clients(trusted_proxies)
        self._running = 0
        self._pace = PACE
        """Seconds from one end of a request to the next while others wait: a mean of late. Where
        none wait, it says how long the store takes or how often clients ask."""
        self._since = 0.0
        """When a request ended last."""
        self._waiting = _Queue()
        self._looking: asyncio.TimerHandle | None = None
        self.refused = 0
        """Requests that were refused so far."""
        self._refusal = 0.0
        """When the latest refusal is due."""
        self._refused = 0
        self._logged = -_LOG_EVERY

    @property
    def running(self) -> int:
        """How many requests run."""
        return self._running

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return len(self._waiting)

    @property
    def busy(self) -> bool:
        """Whether requests wait for their turn."""
        return bool(self._waiting)

    def ask(
        self, scope: HTTPScope, serve: Callable[[], bool], refuse: Callable[[], object]
    ) -> None:
        """Call one of two: ``serve``, for health at once, or after ``PAUSE`` seconds ``refuse``.

        ``serve`` runs the application, and returns False when the client has left.
        """
        loop = asyncio.get_running_loop()
        if self._running < self._most or is_health(scope["path"]):
            self._running += serve()
            return
        one = _Waiting(self._clients.of(scope), loop.time(), serve, refuse)
        if self._may_wait(one):
            self._waiting.add(one)
            self._look_later()
        else:
            self._refusal = max(one.since + PAUSE, self._refusal + 1 / REFUSALS)
            loop.call_at(self._refusal, self._refuse, refuse)

    def _may_wait(self, one: _Waiting) -> bool:
        longest = one.since - self._waiting.oldest().since if self._waiting else 0.0
        return longest < BURST or self._waiting.ahead_of(one.client) < WAIT / self._pace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request that was let in; then let in the next."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        place = _Place(self._leave)
        scope.setdefault("extensions", {})[LEAVE] = place.leave
        try:
            await self._app(scope, receive, send)
        finally:
            place.leave()

    def _leave(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._waiting:
            self._pace += (min(now - self._since, _STALL) - self._pace) * _WEIGHT
        self._since = now
        self._running -= 1
        while self._waiting and self._running < self._most:
            self._let_in()

    def _look_later(self) -> None:
        if self._looking is None and self._waiting:
            loop = asyncio.get_running_loop()
            due = loop.time() + _LOOK_EVERY
            self._looking = loop.call_at(due, self._look, due)

    def _look(self, due: float) -> None:
        self._looking = None
        now = asyncio.get_running_loop().time()
        while self._waiting and now - self._waiting.oldest().since > LONGEST:
            self._refuse(self._waiting.take_oldest().refuse)
        on_time = now - due < ON_TIME
        if on_time and self._waiting and self._running < self._most * MOST_WAITING:
            self._let_in()
        self._look_later()

    def _let_in(self) -> None:
        """Serve the next request."""
        self._running += self._waiting.take().serve()

    def _refuse(self, refuse: Callable[[], object]) -> None:
        refuse()
        self.refused += 1
        self._refused += 1
        now = asyncio.get_running_loop().time()
        if now >= self._logged + _LOG_EVERY:
            logger.warning("Busy: %d requests were answered 503.", self._refused)
            self._refused, self._logged = 0, now
