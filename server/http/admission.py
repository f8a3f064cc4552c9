"""Admission: decides which requests start immediately, which wait, and which the server refuses.

A process on one core can serve a limited number of requests per second. Beyond this number, each
new request slows down all others, until clients give up before they get their responses. So a
process limits the number of requests that run at the same time. Other requests wait if the process
can probably serve them in time. The process refuses the rest with status 503. All requests of a
short burst may wait, because a waiting request costs only memory.

Clients take turns. If one client has a thousand waiting requests, another client's request waits
for only one of them. A rate limit also restricts the number of requests from each client.
"""

import asyncio
import logging
import math
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schema.execution.documents import charging
from server.http.errors import refusal
from server.http.request import is_shared
from server.http.uvicorn_door import HTTPScope, TrustedHosts

if TYPE_CHECKING:
    from throttled import Throttled

MAX_CLIENTS = 100_000
"""Maximum clients whose request rate the server remembers, in 40 MB of memory. Beyond this limit,
the server forgets the client that has sent no request for the longest time."""

SECONDS_OF_REQUEST = 0.002
"""Seconds of CPU time that count as one additional request in a client's request rate. The server
measures the CPU time of parsing and validating each new document. A short document takes less time
than this, and adds no request. At the default limit of 100 requests per second, a client's new
documents take at most about 0.2 seconds of CPU time per second."""

logger = logging.getLogger(__name__)

BURST = 1.0
"""Until a waiting request has waited for this number of seconds, every new request may wait. The
server cannot know earlier how fast it will serve the waiting requests of a burst."""

WAIT = 6.0
"""Maximum seconds that a new request is expected to wait. The server refuses a request that would
wait longer, but only while another request has waited for longer than ``BURST``."""

LONGEST = 8.0
"""Seconds after which the server refuses a waiting request. A request waits so long only if
earlier requests took longer than expected."""

PACE = 0.002
"""Seconds from the end of one request to the end of the next: the value that the server assumes
until it has measured this pace."""

_STALL = 0.03
"""Maximum seconds of one measurement of the pace. A longer measurement counts as this maximum, so
that a single long pause hardly changes the pace."""

_WEIGHT = 1 / 64
"""The weight of the latest request in the measured pace, which is a moving average."""

PAUSE = 0.01
"""Seconds before the server sends a refusal. The pause slows down clients that retry
immediately."""

REFUSALS = 1_000
"""Maximum refusals per second. Further refusals are delayed, because each refusal uses CPU time
that other requests need."""

ON_TIME = 0.003
"""If a timer is late by less than this number of seconds, the event loop has free time."""

MOST_WAITING = 20
"""``Admission`` normally lets ``most`` requests run at the same time. If they wait for the store
and the CPU has free time, it lets more requests run: up to this number times ``most``."""

LEAVE = "marginalia.leave"
"""The key of a function in ``scope["extensions"]``. A subscription calls this function when it
begins to wait for events, so that it no longer counts as a running request."""

TOO_MANY_MESSAGES = 4429
"""The code with which the server closes a WebSocket if the client sends too many messages or
frames."""

_LOOK_EVERY = 0.005
_LOG_EVERY = 10.0
"""Seconds between two checks of the queue, and minimum seconds between two log lines about
refusals."""

_CACHED_ADDRESSES = 1_000

_CUSTOMER_BITS = 64
"""Length in bits of an IPv6 network prefix. All addresses with the same prefix count as one client,
because a provider gives each customer at least such a network (RFC 6177)."""


def is_health(path: str) -> bool:
    """Return whether a path is a health check. Health checks never wait, and have no rate limit."""
    return path == "/health" or path.startswith("/health/")


class Clients:
    """Identifies a client by its IPv4 address or by the first 64 bits of its IPv6 address.

    A trusted proxy is not a client. If a request from a proxy has no forwarded address, it comes
    from the proxy itself and has no rate limit.
    """

    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._trusted = TrustedHosts([*trusted_proxies])
        self.at = lru_cache(_CACHED_ADDRESSES)(self._at)

    def of(self, scope: HTTPScope) -> str | None:
        """Return the client of a request, or None if it comes from a trusted proxy itself.

        Use this method before uvicorn's ``ProxyHeadersMiddleware`` has run. Use ``at`` afterwards,
        because ``scope["client"]`` then contains the client's address. Both methods return the same
        client.
        """
        host = scope["client"][0] if scope["client"] else ""
        if host in self._trusted:
            values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
            forwarded = b", ".join(values).decode("latin-1")
            host = self._trusted.get_trusted_client_address(forwarded)[0] or host
        return self.at(host)

    def _at(self, host: str) -> str | None:
        """Return the client with the address ``host``, or None if this is a trusted proxy."""
        try:
            address = ip_address(host)
        except ValueError:
            # A proxy may forward any text instead of an address. All such texts count as one
            # client, so that long texts do not fill the memory.
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
    """The waiting requests. Clients take turns, and the oldest request of a client runs first."""

    def __init__(self) -> None:
        self._by_age: OrderedDict[_Waiting, None] = OrderedDict()
        self._by_client: OrderedDict[str | None, deque[_Waiting]] = OrderedDict()
        """The clients in the order of their turns, each with its waiting requests."""

    def __len__(self) -> int:
        return len(self._by_age)

    def add(self, request: _Waiting) -> None:
        """Add a request after the other requests of its client."""
        self._by_age[request] = None
        self._by_client.setdefault(request.client, deque()).append(request)

    def oldest(self) -> _Waiting:
        """Return the request that has waited longest."""
        return next(iter(self._by_age))

    def ahead_of(self, client: str | None) -> int:
        """Return how many waiting requests may run before a new request of ``client``."""
        own = len(self._by_client.get(client, ())) + 1
        return min(len(self), own * len(self._by_client))

    def next_client(self) -> str | None:
        """Return the client that has the next turn."""
        return next(iter(self._by_client))

    def take(self, client: str | None) -> _Waiting:
        """Remove and return a client's oldest request. The client then has the last turn."""
        requests = self._by_client[client]
        request = requests.popleft()
        del self._by_age[request]
        self._by_client.move_to_end(client)
        if not requests:
            del self._by_client[client]
        return request


class Admission:
    """Decides when each request runs. It is also the ASGI middleware that counts running requests.

    ``submit`` starts a request, lets it wait, or refuses it. At most ``most`` requests run at the
    same time, with two exceptions:

    - Health checks start immediately.
    - If the event loop has free time although requests wait, the running requests probably wait for
      a slow store. In this case one more request starts every 5 ms, until ``MOST_WAITING`` times
      ``most`` requests run.
    """

    def __init__(self, app: ASGIApp, most: int, trusted_proxies: Sequence[str]) -> None:
        self._app = app
        self._most = most
        self._clients = Clients(trusted_proxies)
        self.running = 0
        """The number of running requests."""
        self._pace = PACE
        """Mean seconds between the ends of two consecutive requests. It is measured only while
        other requests wait, because otherwise it depends on how often clients send requests."""
        self._ended_at = 0.0
        """The time at which the last request ended."""
        self._waiting = _Queue()
        self._timer: asyncio.TimerHandle | None = None
        self.refused = 0
        """The number of requests that this object has refused since the process started."""
        self._refusal_due = 0.0
        """The time at which the server sends the last of the delayed refusals."""
        self._unlogged = 0
        self._logged_at = -_LOG_EVERY

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._waiting)

    def submit(
        self, scope: HTTPScope, serve: Callable[[], bool], refuse: Callable[[], object]
    ) -> None:
        """Call ``serve`` now or when it is the request's turn, or call ``refuse``.

        ``serve`` starts the application. It returns False if the client has already disconnected.
        ``refuse`` is called after a pause, or when the request has waited for ``LONGEST`` seconds.
        """
        loop = asyncio.get_running_loop()
        if self.running < self._most or is_health(scope["path"]):
            self.running += serve()
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
        """Run one request that ``submit`` has started.

        Start the next requests when this request ends, or when its subscription calls the function
        ``LEAVE`` because it begins to wait for events.
        """
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
            self.running -= 1
            while self._waiting and self.running < self._most:
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

        If the event loop has free time, also start one waiting request.
        """
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._waiting and now - self._waiting.oldest().since > LONGEST:
            self._refuse(self._waiting.take(self._waiting.oldest().client).refuse)
        on_time = now - due < ON_TIME
        if on_time and self._waiting and self.running < self._most * MOST_WAITING:
            self._serve_next()
        self._start_timer()

    def _serve_next(self) -> None:
        self.running += self._waiting.take(self._waiting.next_client()).serve()

    def _refuse(self, refuse: Callable[[], object]) -> None:
        refuse()
        self.refused += 1
        self._unlogged += 1
        now = asyncio.get_running_loop().time()
        if now >= self._logged_at + _LOG_EVERY:
            logger.warning("The server is busy: %d requests got status 503.", self._unlogged)
            self._unlogged, self._logged_at = 0, now


class RateLimitMiddleware:
    """Refuses a client's requests with status 429 if they exceed ``rate``, such as ``100/s``.

    Each message on a WebSocket counts as a request. If there are too many messages, the server
    closes the WebSocket.

    A GraphQL document that the server has not seen before may count as several requests, depending
    on the CPU time of its parsing and validation. The server counts these additional requests
    afterwards, because it does not know the time earlier.

    A client may send a limited number of requests without a pause: its burst. The limiter allows
    twice this number. The second half is only for additional requests, so that they count even if
    the client has used up its burst. If the second half is used up, too, they do not count.

    Each response has the headers ``RateLimit-Policy``, with the burst and the seconds after which
    it is complete again, and ``RateLimit``, with the rest of the client's burst. Only responses for
    shared caches lack them, because a cache would send them to other clients.
    https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/10/
    """

    def __init__(self, app: ASGIApp, rate: str, trusted_proxies: Sequence[str]) -> None:
        self._app = app
        self._rate = rate
        self._clients = Clients(trusted_proxies)
        self._burst, self._interval = 0, 0.0
        """The number of requests that a client may send without a pause, and the seconds after
        which it may send one more."""
        self._policy = b""

    @cached_property
    def _limiter(self) -> "Throttled":
        """The limiter. The first limited request creates it, so that the server starts faster."""
        # If redis is installed, this import takes an eighth of the time of the server's start.
        from throttled import RateLimiterType, Throttled, per_duration  # noqa: PLC0415 - slow import
        from throttled.rate_limiter.quota_parser import parse  # noqa: PLC0415 - slow import
        from throttled.store import MemoryStore  # noqa: PLC0415 - slow import

        (quota,) = parse(self._rate)
        self._burst, self._interval = quota.burst, quota.emission_interval
        window = int(self._burst * self._interval + 0.999)
        self._policy = b'"default";q=%d;w=%d' % (self._burst, window)
        return Throttled(
            using=RateLimiterType.GCRA.value,
            quota=per_duration(quota.rate.period, quota.rate.limit, 2 * quota.burst),
            store=MemoryStore(options={"MAX_SIZE": MAX_CLIENTS}),
        )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on, or refuse it and tell the client how many seconds it must wait."""
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
                "the server has not seen may count as several requests: send values as variables, "
                "so that the document stays the same."
            )
            response = refusal(429, message, seconds)
            response.raw_headers += self._headers(0, seconds)
            await response(scope, receive, send)
            return

        state = self._limiter.limit(client).state

        def charge(seconds: float) -> None:
            """Count the CPU time of a document, in ``seconds``, as a number of requests."""
            nonlocal state
            requests = int(seconds / SECONDS_OF_REQUEST)
            if requests:
                owed = min(requests, self._limiter.peek(client).remaining)
                state = self._limiter.limit(client, owed).state

        def limited_send(message: Message) -> Awaitable[None]:
            """Send a message with the rest of the client's burst."""
            if message["type"] == "http.response.start" and not is_shared(message["headers"]):
                rest = max(0, state.remaining - self._burst)
                limits = self._headers(rest, int(state.reset_after + 0.999))
                message["headers"] = [*message["headers"], *limits]
            return send(message)

        async def limited_receive() -> Message:
            """Receive a message. If there are too many messages, close the WebSocket."""
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            if self._wait(client) is None:
                self._limiter.limit(client)
                return message
            reason = f"{client} sends more than {self._rate}."
            close = {"type": "websocket.close", "code": TOO_MANY_MESSAGES, "reason": reason}
            await send(close)
            return {"type": "websocket.disconnect", "code": TOO_MANY_MESSAGES}

        with charging(charge):
            counted = limited_receive if scope["type"] == "websocket" else receive
            await self._app(scope, counted, limited_send)

    def _wait(self, client: str) -> float | None:
        """Return the seconds after which a client may send its next request.

        Return None if it may send the request now.
        """
        state = self._limiter.peek(client)
        if state.remaining <= self._burst:
            return state.reset_after - (self._burst - 1) * self._interval
        return None

    def _headers(self, rest: int, seconds: int) -> tuple[tuple[bytes, bytes], ...]:
        """Return the headers for a client that may send ``rest`` requests.

        After ``seconds``, it may send its whole burst, or after a refused request, one request.
        """
        rate = b'"default";r=%d;t=%d' % (rest, seconds)
        return (b"ratelimit-policy", self._policy), (b"ratelimit", rate)
