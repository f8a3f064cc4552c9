"""How many requests one client may send."""

import math
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send
from throttled import RateLimiterType, Throttled
from throttled.store import MemoryStore

from server.http.admission import is_health
from server.http.failures import refusal

MAX_CLIENTS = 100_000
"""Clients remembered, in 40 MB; beyond it the one that was silent for longest is forgotten."""

_CLIENTS_AT_ONCE = 1_000
"""Addresses whose client is not worked out again with each request."""

_CUSTOMER_BITS = 64
"""What one customer has of IPv6 at least: all of its addresses are one client."""


class RateLimitMiddleware:
    """Answers 429 to a client that asks more often than ``rate``, such as ``100/s``.

    A client is an IPv4 address, or an IPv6 network of 64 bits. A trusted proxy is none: where it
    forwards no address it asks for itself, as often as it likes.
    """

    def __init__(self, app: ASGIApp, rate: str, trusted_proxies: Sequence[str]) -> None:
        self._app = app
        self._rate = rate
        self._trusted = [ip_network(proxy) for proxy in trusted_proxies]
        self._client = lru_cache(_CLIENTS_AT_ONCE)(self._client_at)
        self._limiter = Throttled(
            using=RateLimiterType.GCRA.value,
            quota=rate,
            store=MemoryStore(options={"MAX_SIZE": MAX_CLIENTS}),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or say when the next one is welcome."""
        limited = scope["type"] == "http" and not is_health(scope["path"])
        client = self._client(scope["client"][0]) if limited else None
        limit = self._limiter.limit(client) if client else None
        if limit is None or not limit.limited:
            await self._app(scope, receive, send)
            return
        seconds = math.ceil(limit.state.retry_after)
        sentence = f"{client} sends more than {self._rate}: try again in {seconds} s."
        await refusal(429, sentence, seconds)(scope, receive, send)

    def _client_at(self, host: str) -> str | None:
        """Return who is limited, None for a trusted proxy."""
        try:
            address = ip_address(host)
        except ValueError:
            return "unknown"  # a proxy forwards a name; its length is nobody's to choose
        if any(address in network for network in self._trusted):
            return None
        if isinstance(address, IPv6Address):
            return str(ip_network((address, _CUSTOMER_BITS), strict=False))
        return str(address)
