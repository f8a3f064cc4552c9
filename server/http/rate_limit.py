"""How many requests one client may send."""

import math
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from throttled import RateLimiterType, Throttled
from throttled.store import MemoryStore

from server.http.admission import is_health
from server.http.clients import Clients
from server.http.failures import refusal

MAX_CLIENTS = 100_000
"""Clients remembered, in 40 MB; beyond it the one that was silent for longest is forgotten."""

TOO_MANY_MESSAGES = 4429
"""The code that closes a WebSocket whose client sends too much."""


class RateLimitMiddleware:
    """Answers 429 to a client that asks more often than ``rate``, such as ``100/s``.

    Each message by WebSocket counts as a request; one too many closes it. ``server.http.clients``
    says who is a client.
    """

    def __init__(self, app: ASGIApp, rate: str, trusted_proxies: Sequence[str]) -> None:
        self._app = app
        self._rate = rate
        self._clients = Clients(trusted_proxies)
        self._limiter = Throttled(
            using=RateLimiterType.GCRA.value,
            quota=rate,
            store=MemoryStore(options={"MAX_SIZE": MAX_CLIENTS}),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or say when the next one is welcome."""
        limited = scope["type"] != "lifespan" and not is_health(scope["path"])
        client = self._clients.at(scope["client"][0]) if limited else None
        limit = self._limiter.limit(client) if client else None
        if limit is None or not limit.limited:
            if client is not None and scope["type"] == "websocket":
                receive = self._limited(client, receive, send)
            await self._app(scope, receive, send)
            return
        seconds = math.ceil(limit.state.retry_after)
        sentence = f"{client} sends more than {self._rate}: try again in {seconds} s."
        await refusal(429, sentence, seconds)(scope, receive, send)

    def _limited(self, client: str, receive: Receive, send: Send) -> Receive:
        """Return what receives the messages of a WebSocket, until they are too many."""

        async def limited_receive() -> Message:
            message = await receive()
            if message["type"] != "websocket.receive" or not self._limiter.limit(client).limited:
                return message
            reason = f"{client} sends more than {self._rate}."
            close = {"type": "websocket.close", "code": TOO_MANY_MESSAGES, "reason": reason}
            await send(close)
            return {"type": "websocket.disconnect", "code": TOO_MANY_MESSAGES}

        return limited_receive
