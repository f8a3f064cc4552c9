"""Which requests are served at once, which wait, and which are refused.

A process on one core serves a limited number of requests a second. Each request above that number
slows down all others, until clients give up on responses that the server still computes. Therefore
a fixed number of requests runs at once, as many wait as can likely be served in time, and the
server refuses the rest with 503. A burst always waits: a waiting request costs only its memory.
Clients take turns, so a client with a thousand waiting requests delays another client's request by
one of them. Before that, each client has a rate limit.
"""

import asyncio
import logging
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from throttled import RateLimiterType, Throttled, per_duration
from throttled.rate_limiter.quota_parser import parse
from throttled.store import MemoryStore
from uvicorn._types import HTTPScope
from uvicorn.middleware.proxy_headers import _TrustedHosts

from dal.limits import MAX_CLIENTS, SECONDS_OF_REQUEST
from schema.execution.documents import charging
from server.http.errors import refusal

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


_AT_ONCE = 1_000
"""Addresses whose client is not worked out again with each request."""

_CUSTOMER_BITS = 64
"""What one customer has of IPv6 at least: all of its addresses are one client."""


class Clients:
    """Tells clients apart: an IPv4 address, or an IPv6 network of 64 bits.

    A trusted proxy is none: where it forwards no address it asks for itself, as often as it likes.
    """

    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._trusted = _TrustedHosts([*trusted_proxies])
        self.at = lru_cache(_AT_ONCE)(self._at)

    def of(self, scope: HTTPScope) -> str | None:
        """Return the client of a request as it arrived; None for a trusted proxy itself.

        Behind uvicorn's ``ProxyHeadersMiddleware``, which reads the same header in the same way,
        ``scope["client"]`` has that client's address, and ``at`` is enough.
        """
        host = scope["client"][0] if scope["client"] else ""
        if host in self._trusted:
            values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
            forwarded = b", ".join(values).decode("latin-1")
            host = self._trusted.get_trusted_client_address(forwarded)[0] or host
        return self.at(host)

    def _at(self, host: str) -> str | None:
        """Return who is limited, None for a trusted proxy."""
        try:
            address = ip_address(host)
        except ValueError:
            return "unknown"  # a proxy forwards a name; its length is nobody's to choose
        if host in self._trusted:
            return None
        if isinstance(address, IPv6Address):
            return str(ip_network((address, _CUSTOMER_BITS), strict=False))
        return str(address)


TOO_MANY_MESSAGES = 4429
"""The code that closes a WebSocket whose client sends too much."""


class RateLimitMiddleware:
    """Answers 429 to a client that asks more often than ``rate``, such as ``100/s``.

    Each message by WebSocket counts as a request; one too many closes it. ``server.http.admission``
    says who is a client.

    A document is charged after the work, so a client may owe requests: as many as its burst. The
    limiter has twice the burst for that, and a request is refused from the first one that is owed.
    """

    def __init__(self, app: ASGIApp, rate: str, trusted_proxies: Sequence[str]) -> None:
        self._app = app
        self._rate = rate
        self._clients = Clients(trusted_proxies)
        (quota,) = parse(rate)
        self._burst = quota.burst
        self._interval = quota.emission_interval
        """Seconds in which a client may send one request more."""
        self._limiter = Throttled(
            using=RateLimiterType.GCRA.value,
            quota=per_duration(quota.rate.period, quota.rate.limit, 2 * quota.burst),
            store=MemoryStore(options={"MAX_SIZE": MAX_CLIENTS}),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or say when the next one is welcome."""
        limited = scope["type"] != "lifespan" and not is_health(scope["path"])
        client = self._clients.at(scope["client"][0]) if limited else None
        if client is None:
            await self._app(scope, receive, send)
            return
        wait = self._wait(client)
        if wait is not None:
            seconds = max(1, math.ceil(wait))
            sentence = (
                f"{client} sends more than {self._rate}: try again in {seconds} s. A document that "
                "the server has not seen counts as several requests: send values as variables."
            )
            await refusal(429, sentence, seconds)(scope, receive, send)
            return
        if scope["type"] == "websocket":
            receive = self._limited(client, receive, send)
        with charging(partial(self._charge, client)):
            await self._app(scope, receive, send)

    def _wait(self, client: str) -> float | None:
        """Return the seconds until a client may send a request; None where it may, and count it."""
        state = self._limiter.peek(client)
        if state.remaining <= self._burst:
            return state.reset_after - (self._burst - 1) * self._interval
        self._limiter.limit(client)
        return None

    def _charge(self, client: str, seconds: float) -> None:
        """Count the processor time of a document as requests."""
        requests = int(seconds / SECONDS_OF_REQUEST)
        if requests:
            owed = min(requests, self._limiter.peek(client).remaining)
            self._limiter.limit(client, owed)

    def _limited(self, client: str, receive: Receive, send: Send) -> Receive:
        """Return what receives the messages of a WebSocket, until they are too many."""

        async def limited_receive() -> Message:
            message = await receive()
            if message["type"] != "websocket.receive" or self._wait(client) is None:
                return message
            reason = f"{client} sends more than {self._rate}."
            close = {"type": "websocket.close", "code": TOO_MANY_MESSAGES, "reason": reason}
            await send(close)
            return {"type": "websocket.disconnect", "code": TOO_MANY_MESSAGES}

        return limited_receive
