"""Who listens, by WebSocket or by server-sent events: how many may, and when they must end."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from graphql import GraphQLError
from starlette.types import Scope
from strawberry.types import ExecutionResult

from resolvers.request.context import Viewer

MAX_SUBSCRIBERS = 1_000
"""Connections of a process that listen: each takes some 50 kB, and time for every event."""

MAX_PER_CLIENT = 20
"""Of them, those of one client: the tabs of a browser, or a few people behind one address."""

ENDING = "marginalia.ending"
"""The extension that takes what to call when the server is told to stop."""


STOPPING = "The server stops: connect again."
EXPIRED = "The JWT has expired: connect again with a new one."

_CODES = {STOPPING: "UNAVAILABLE", EXPIRED: "UNAUTHENTICATED"}


class TooManySubscribersError(Exception):
    """There is no room for another one who listens; the message says for whom."""


class Subscribers:
    """The connections that listen; ``client`` tells whose an address is, None for no limit."""

    def __init__(self, client: Callable[[str], str | None]) -> None:
        self._client = client
        self._count: Counter[str | None] = Counter()

    @contextmanager
    def admitted(self, scope: Scope) -> Iterator[None]:
        """Count a connection while it listens; TooManySubscribersError where it is one too many."""
        client = self._client(scope["client"][0]) if scope.get("client") else None
        if self._count.total() >= MAX_SUBSCRIBERS:
            raise TooManySubscribersError("The server has no room for more who listen: try later.")
        if client is not None and self._count[client] >= MAX_PER_CLIENT:
            raise TooManySubscribersError(
                f"{client} listens by {MAX_PER_CLIENT} connections already: share them."
            )
        self._count[client] += 1
        try:
            yield
        finally:
            self._count[client] -= 1
            if not self._count[client]:
                del self._count[client]


class End:
    """When a connection must end, and why: its server stops, or the JWT of its client expires."""

    def __init__(self) -> None:
        self.reason: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None

    def with_server(self, scope: Scope) -> None:
        """End when the server is told to stop."""
        on_ending = scope.get("extensions", {}).get(ENDING)
        if on_ending is not None:
            on_ending(lambda: self.now(STOPPING))

    def with_jwt(self, viewer: Viewer | None) -> None:
        """End when a viewer's JWT does."""
        if viewer is None or viewer.expires is None:
            return
        left = max(0.0, viewer.expires - time.time())
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(left, self.now, EXPIRED)

    def now(self, reason: str) -> None:
        """End, unless it has ended."""
        if not self.reason.done():
            self.reason.set_result(reason)

    def close(self) -> None:
        """Wait for nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        self.reason.cancel()


def failed(sentence: str, code: str | None = None) -> ExecutionResult:
    """Return what tells a client in GraphQL's shape why nothing more comes."""
    code = code or _CODES.get(sentence, "BAD_REQUEST")
    return ExecutionResult(None, [GraphQLError(sentence, extensions={"code": code})])


def encoded(result: ExecutionResult) -> bytes:
    """Return the result of one event as JSON."""
    body: dict[str, Any] = {"data": result.data}
    if result.errors:
        body["errors"] = [error.formatted for error in result.errors]
    return orjson.dumps(body)
