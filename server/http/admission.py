"""Admission: decides which requests run at once, which wait, and which the server refuses.

A process on one core can serve a limited number of requests per second. Each further request slows
down all others, until clients give up before they get their responses. So the server runs a fixed
number of requests at once. It lets as many others wait as it can probably serve in time, and
refuses the rest with 503. A short burst of requests always waits, because a waiting request costs
only memory. Clients take turns: if one client has a thousand waiting requests, another client's
request waits for only one of them. A rate limit restricts each client's requests.
"""

import asyncio
import logging
import math
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn._types import HTTPScope
from uvicorn.middleware.proxy_headers import _TrustedHosts

from dal.limits import MAX_CLIENTS, SECONDS_OF_REQUEST
from schema.execution.documents import charging
from server.http.errors import refusal

if TYPE_CHECKING:
    from throttled import Throttled

logger = logging.getLogger(__name__)

BURST = 1.0
"""If no request has waited for longer than these seconds, every new request may wait: this is a
burst, and the pace of earlier requests does not show how fast it will be served."""

WAIT = 6.0
"""If a request has waited for longer than BURST, a new request may wait only if it is expected to
start within these seconds."""

LONGEST = 8.0
"""Seconds after which a waiting request is refused. This happens if earlier requests take longer
than expected."""

PACE = 0.002
"""Seconds between the ends of two requests while others wait. This value is used before the first
measurement."""

_STALL = 0.03
"""Maximum seconds that count for one request, so that a single long pause hardly changes the
pace."""

_WEIGHT = 1 / 64
"""The weight of the latest request in the mean pace."""

PAUSE = 0.01
"""Seconds before a refusal is sent, which slows down clients that retry at once."""

REFUSALS = 1_000
"""Maximum refusals per second, because each costs CPU time that served requests need. Further
refusals are delayed."""

ON_TIME = 0.003
"""If the event loop's timer is late by less than these seconds, the event loop has free time."""

MOST_WAITING = 20
"""The number of running requests may grow by this factor while they wait for the store and not for
the CPU."""

LEAVE = "marginalia.leave"
"""ASGI extension: a function by which a subscription gives its place to another request."""

TOO_MANY_MESSAGES = 4429
"""The close code of a WebSocket after too many messages."""

_LOOK_EVERY = 0.005
_LOG_EVERY = 10.0
"""Seconds between two checks of the queue, and between two lines of the log."""

_CACHED_ADDRESSES = 1_000

_CUSTOMER_BITS = 64
"""Bits of an IPv6 network whose addresses count as one client: providers assign a network of 64
bits or more to one customer (RFC 6177)."""


def is_health(path: str) -> bool:
    """Return whether a path is a health check. Load and limits never delay health checks."""
    return path == "/health" or path.startswith("/health/")


class Clients:
    """Identifies clients by address: an IPv4 address, or an IPv6 network of 64 bits.

    A trusted proxy is not a client. Requests of its own, without a forwarded address, have no
    limit.
    """

    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._trusted = _TrustedHosts([*trusted_proxies])
        self.at = lru_cache(_CACHED_ADDRESSES)(self._at)

    def of(self, scope: HTTPScope) -> str | None:
        """Return the client of a request before uvicorn's middleware; None for a trusted proxy.

        After uvicorn's ``ProxyHeadersMiddleware``, use ``at``: ``scope["client"]`` is then the
        client's address. Both interpret the header in the same way.
        """
        host = scope["client"][0] if scope["client"] else ""
        if host in self._trusted:
            values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
            forwarded = b", ".join(values).decode("latin-1")
            host = self._trusted.get_trusted_client_address(forwarded)[0] or host
        return self.at(host)

    def _at(self, host: str) -> str | None:
        """Return the client with an address; None for a trusted proxy."""
        try:
            address = ip_address(host)
        except ValueError:
            # A proxy may forward a name instead of an address, which must not become a key of any
            # length.
            return "unknown"
        if host in self._trusted:
            return None
        if isinstance(address, IPv6Address):
            return str(ip_network((address, _CUSTOMER_BITS), strict=False))
        return str(address)


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A request that waits for its turn."""

    client: str | None
    since: float
    serve: Callable[[], bool]
    refuse: Callable[[], object]


class _Queue:
    """The waiting requests.

    Clients take turns, and each client's requests are in order of arrival.
    """

    def __init__(self) -> None:
        self._by_age: OrderedDict[_Waiting, None] = OrderedDict()
        self._by_client: OrderedDict[str | None, deque[_Waiting]] = OrderedDict()
        """The clients in the order of their turns, each with its waiting requests."""

    def __len__(self) -> int:
        return len(self._by_age)

    def add(self, request: _Waiting) -> None:
        """Add a request after the others of its client."""
        self._by_age[request] = None
        self._by_client.setdefault(request.client, deque()).append(request)

    def oldest(self) -> _Waiting:
        """Return the request that has waited longest."""
        return next(iter(self._by_age))

    def ahead_of(self, client: str | None) -> int:
        """Return how many requests run at most before the next request of a client."""
        own = len(self._by_client.get(client, ())) + 1
        return min(len(self), own * len(self._by_client))

    def next_client(self) -> str | None:
        """Return the client that has the next turn."""
        return next(iter(self._by_client))

    def take(self, client: str | None) -> _Waiting:
        """Remove and return a client's oldest request.

        The client's next turn comes after all others.
        """
        requests = self._by_client[client]
        request = requests.popleft()
        del self._by_age[request]
        self._by_client.move_to_end(client)
        if not requests:
            del self._by_client[client]
        return request


class Admission:
    """Decides when each request runs. It is also the ASGI middleware around the running requests.

    ``submit`` serves a request, lets it wait, or refuses it. At most ``most`` requests run at once.
    If requests wait although the event loop has free time, the running requests wait for a slow
    store and not for the CPU. Then one more request may run.
    """

    def __init__(self, app: ASGIApp, most: int, trusted_proxies: Sequence[str]) -> None:
        self._app = app
        self._most = most
        self._clients = Clients(trusted_proxies)
        self._running = 0
        self._pace = PACE
        """Mean seconds between the ends of two recent requests. It is measured only while others
        wait: otherwise it would measure the store's latency, or how often clients send requests."""
        self._ended_at = 0.0
        """When the last request ended."""
        self._waiting = _Queue()
        self._timer: asyncio.TimerHandle | None = None
        self.refused = 0
        """The number of refused requests since the start."""
        self._refusal_due = 0.0
        """The time at which the last of the delayed refusals is sent."""
        self._unlogged = 0
        self._logged_at = -_LOG_EVERY

    @property
    def running(self) -> int:
        """The number of running requests."""
        return self._running

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._waiting)

    def submit(
        self, scope: HTTPScope, serve: Callable[[], bool], refuse: Callable[[], object]
    ) -> None:
        """Call ``serve`` now or in its turn, or call ``refuse`` after a pause.

        ``serve`` runs the application, and returns False if the client has disconnected. Health
        checks never wait.
        """
        loop = asyncio.get_running_loop()
        if self._running < self._most or is_health(scope["path"]):
            self._running += serve()
            return
        now, client = loop.time(), self._clients.of(scope)
        longest = now - self._waiting.oldest().since if self._waiting else 0.0
        if longest < BURST or self._waiting.ahead_of(client) < WAIT / self._pace:
            self._waiting.add(_Waiting(client, now, serve, refuse))
            self._start_timer()
        else:
            self._refusal_due = max(now + PAUSE, self._refusal_due + 1 / REFUSALS)
            loop.call_at(self._refusal_due, self._refuse, refuse)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request that ``submit`` serves. Then serve the next waiting request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        left = False

        def leave() -> None:
            nonlocal left
            if left:
                return
            left = True
            now = asyncio.get_running_loop().time()
            if self._waiting:
                self._pace += (min(now - self._ended_at, _STALL) - self._pace) * _WEIGHT
            self._ended_at = now
            self._running -= 1
            while self._waiting and self._running < self._most:
                self._serve_next()

        scope.setdefault("extensions", {})[LEAVE] = leave
        try:
            await self._app(scope, receive, send)
        finally:
            leave()

    def _start_timer(self) -> None:
        if self._timer is None and self._waiting:
            loop = asyncio.get_running_loop()
            due = loop.time() + _LOOK_EVERY
            self._timer = loop.call_at(due, self._look, due)

    def _look(self, due: float) -> None:
        """Refuse requests that have waited too long.

        Serve one more request if the event loop has free time.
        """
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._waiting and now - self._waiting.oldest().since > LONGEST:
            self._refuse(self._waiting.take(self._waiting.oldest().client).refuse)
        on_time = now - due < ON_TIME
        if on_time and self._waiting and self._running < self._most * MOST_WAITING:
            self._serve_next()
        self._start_timer()

    def _serve_next(self) -> None:
        self._running += self._waiting.take(self._waiting.next_client()).serve()

    def _refuse(self, refuse: Callable[[], object]) -> None:
        refuse()
        self.refused += 1
        self._unlogged += 1
        now = asyncio.get_running_loop().time()
        if now >= self._logged_at + _LOG_EVERY:
            logger.warning("Busy: %d requests were answered 503.", self._unlogged)
            self._unlogged, self._logged_at = 0, now


class RateLimitMiddleware:
    """Refuses a client with 429 if it sends more requests than ``rate``, such as ``100/s``.

    Each message on a WebSocket counts as a request. A message above the limit closes the WebSocket.

    The CPU time of a client's new documents also counts as requests, but it is known only after the
    document was processed. So a client may exceed its rate, at most by its burst. Therefore the
    limiter allows twice the burst, and then refuses the client until it is below its rate again.
    """

    def __init__(self, app: ASGIApp, rate: str, trusted_proxies: Sequence[str]) -> None:
        self._app = app
        self._rate = rate
        self._clients = Clients(trusted_proxies)
        self._burst, self._interval = 0, 0.0
        """The burst, and the seconds after which a client may send one further request."""

    @cached_property
    def _limiter(self) -> "Throttled":
        """The limiter. The first limited request creates it: servers behind a proxy need none."""
        # it imports redis if it is installed, which takes an eighth of a start
        from throttled import RateLimiterType, Throttled, per_duration  # noqa: PLC0415 - see above
        from throttled.rate_limiter.quota_parser import parse  # noqa: PLC0415 - see above
        from throttled.store import MemoryStore  # noqa: PLC0415 - see above

        (quota,) = parse(self._rate)
        self._burst, self._interval = quota.burst, quota.emission_interval
        return Throttled(
            using=RateLimiterType.GCRA.value,
            quota=per_duration(quota.rate.period, quota.rate.limit, 2 * quota.burst),
            store=MemoryStore(options={"MAX_SIZE": MAX_CLIENTS}),
        )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on, or respond with the number of seconds that the client must wait."""
        limited = scope["type"] != "lifespan" and not is_health(scope["path"])
        client = self._clients.at(scope["client"][0]) if limited else None
        if client is None:
            return self._app(scope, receive, send)
        return self._limit(client, scope, receive, send)

    async def _limit(self, client: str, scope: Scope, receive: Receive, send: Send) -> None:
        wait = self._wait(client)
        if wait is not None:
            seconds = max(1, math.ceil(wait))
            message = (
                f"{client} sends more than {self._rate}: try again in {seconds} s. A document that "
                "the server has not seen counts as several requests: send values as variables."
            )
            await refusal(429, message, seconds)(scope, receive, send)
            return

        async def limited_receive() -> Message:
            """Receive a message. Close the WebSocket if its messages are too many."""
            message = await receive()
            if message["type"] != "websocket.receive" or self._wait(client) is None:
                return message
            reason = f"{client} sends more than {self._rate}."
            close = {"type": "websocket.close", "code": TOO_MANY_MESSAGES, "reason": reason}
            await send(close)
            return {"type": "websocket.disconnect", "code": TOO_MANY_MESSAGES}

        with charging(partial(self._charge, client)):
            counted = limited_receive if scope["type"] == "websocket" else receive
            await self._app(scope, counted, send)

    def _wait(self, client: str) -> float | None:
        """Count a request and return None. If it exceeds the rate, return the seconds to wait."""
        state = self._limiter.peek(client)
        if state.remaining <= self._burst:
            return state.reset_after - (self._burst - 1) * self._interval
        self._limiter.limit(client)
        return None

    def _charge(self, client: str, seconds: float) -> None:
        """Count the CPU time of a document as requests."""
        requests = int(seconds / SECONDS_OF_REQUEST)
        if requests:
            owed = min(requests, self._limiter.peek(client).remaining)
            self._limiter.limit(client, owed)
