"""How many requests one client may send, and how much processor time its documents may take."""

import math
from collections.abc import Sequence
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from throttled import RateLimiterType, Throttled, per_duration
from throttled.rate_limiter.quota_parser import parse
from throttled.store import MemoryStore

from dal.limits import MAX_CLIENTS, SECONDS_OF_REQUEST
from schema.execution.processor_time import charging
from server.http.admission import is_health
from server.http.clients import Clients
from server.http.failures import refusal

TOO_MANY_MESSAGES = 4429
"""The code that closes a WebSocket whose client sends too much."""


class RateLimitMiddleware:
    """Answers 429 to a client that asks more often than ``rate``, such as ``100/s``.

    Each message by WebSocket counts as a request; one too many closes it. ``server.http.clients``
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
