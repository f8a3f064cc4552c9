"""Limits of subscribers, and subscriptions as server-sent events.

The protocol is graphql-sse in its "distinct connections" mode:
https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md

Each event is ``event: next`` with an execution result, and the cursor as its ``id``: a browser that
reconnects sends it back as ``Last-Event-ID``. ``event: complete`` ends the stream.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any

import orjson
from graphql import GraphQLError
from starlette.types import Receive, Scope, Send
from strawberry.types import ExecutionResult

from dal.live.log import SlowListenerError
from resolvers.context import Viewer
from schema.execution.executable_schema import EventResult, RefusedSubscriptionError
from server.http.admission import LEAVE
from server.http.errors import refusal
from server.http.graphql import REFUSALS, GraphQLView, graphql_response, refused
from server.http.request import EVENT_STREAM, GRAPHQL, JSON, header, preferred, read_operation

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


RETRY_MS = 2_000
"""What browsers wait for before they connect again."""

KEEP_ALIVE = 15.0
"""Seconds after which something is sent in any case: proxies end what is silent for a minute."""

_HEADERS = (
    (b"content-type", EVENT_STREAM.encode() + b"; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would keep events until there are 4 kB of them
    (b"vary", b"Accept"),
)


def wants_events(scope: Scope) -> bool:
    """Return whether a request likes server-sent events best; urql names them with every query."""
    accept = header(scope, b"accept")
    return preferred(accept, (GRAPHQL, JSON, EVENT_STREAM)) == EVENT_STREAM


class EventStreamView:
    """Answers a subscription by as many events as there are."""

    def __init__(self, view: GraphQLView, subscribers: Subscribers, *, seconds: float) -> None:
        self._view = view
        self._subscribers = subscribers
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request until its client leaves, its JWT expires or the server stops."""
        try:
            with self._subscribers.admitted(scope):
                await self._answer(scope, receive, send)
        except TooManySubscribersError as error:
            await refusal(503, str(error), 5)(scope, receive, send)
        except REFUSALS as error:
            await refused(error)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = await self._view.context(header(scope, b"authorization"))
        context = replace(context, last_event_id=header(scope, b"last-event-id"))
        operation = await read_operation(scope, receive)
        try:
            answers = await self._view.listen(operation, context, seconds=self._seconds)
        except RefusedSubscriptionError as refused:
            result = ExecutionResult(None, refused.errors)
            await graphql_response(result, GRAPHQL).send_by(send)
            return
        scope.get("extensions", {}).get(LEAVE, _nothing)()
        end = End()
        end.with_server(scope)
        end.with_jwt(context.viewer)
        try:
            async with aclosing(answers):
                await _Stream(send, end).send_all(answers)
        finally:
            end.close()


class _Stream:
    """One answer as it is sent."""

    def __init__(self, send: Send, end: End) -> None:
        self._send = send
        self._end = end

    async def send_all(self, answers: AsyncGenerator[EventResult, None]) -> None:
        """Send all events, then the reason why the stream ends."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
        await self._write(b"retry: %d\n\n" % RETRY_MS)
        await self._send_events(answers)
        await self._write(b"event: complete\ndata:\n\n")
        await self._send({"type": "http.response.body", "body": b""})

    async def _send_events(self, answers: AsyncGenerator[EventResult, None]) -> None:
        """Send events until there are no more, or the end has come."""
        following = asyncio.create_task(_next(answers))
        try:
            while not self._end.reason.done():
                either: set[asyncio.Future[Any]] = {following, self._end.reason}
                await asyncio.wait(either, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
                if following.done():
                    answer = following.result()
                    if answer is None:
                        return
                    await self._write(_event(answer.result, answer.cursor))
                    following = asyncio.create_task(_next(answers))
                elif not self._end.reason.done():
                    await self._write(b":\n\n")
            await self._write(_event(failed(self._end.reason.result())))
        except SlowListenerError as error:
            await self._write(_event(failed(str(error), "TOO_SLOW")))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


async def _next(answers: AsyncGenerator[EventResult, None]) -> EventResult | None:
    """Return the next answer, None after the last."""
    return await anext(answers, None)


def _event(result: ExecutionResult, cursor: str | None = None) -> bytes:
    """Return a result as an event; JSON has no line breaks."""
    name = b"" if cursor is None else b"id: " + cursor.encode() + b"\n"
    return name + b"event: next\ndata: " + encoded(result) + b"\n\n"


def _nothing() -> None:
    """Stand in where no connection offers an extension."""
