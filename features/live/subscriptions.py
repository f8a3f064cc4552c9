"""Limits the number of subscribers, and serves subscriptions as server-sent events.

The protocol is graphql-sse in its "distinct connections" mode:
https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md

Each event of the subscription is sent as ``event: next`` with an execution result. Its ``id`` is
the event's cursor. If the connection ends, the browser connects again and sends the last cursor in
the header ``Last-Event-ID``, and the subscription continues after this event. At the end of the
subscription, the server sends ``event: complete``.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import orjson
from graphql import GraphQLError
from starlette.types import ASGIApp, Receive, Scope, Send
from strawberry.types import ExecutionResult

from features.live.log import Log, SlowListenerError
from features.live.resolvers import LastEvent
from resolvers.context import Context, NotAvailableError, Viewer
from schema.errors import KNOWN_ERRORS
from schema.execution.errors import client_error
from schema.execution.executable_schema import EventResult, RefusedSubscriptionError
from server.http.admission import LEAVE
from server.http.connections import ENDING
from server.http.errors import refusal
from server.http.graphql import REJECTIONS, GraphQLView, graphql_response, rejection
from server.http.request import GRAPHQL, GraphQLRequest, header, read_request
from server.observability.observation import note_errors

MAX_SUBSCRIBERS = 1_000
"""Maximum number of connections with subscriptions in a process. Each connection needs about 50 kB
of memory, and CPU time for every event."""

MAX_PER_CLIENT = 20
"""Maximum number of one client's connections with subscriptions in a process. A client may be a
browser with several tabs, or a few people who share an address."""

EVENT_STREAM = "text/event-stream"

RETRY_MS = 2_000
"""Milliseconds after which a browser connects again if the connection has ended."""

KEEP_ALIVE = 15.0
"""Seconds without an event after which the server sends a colon (an empty SSE comment), which
clients ignore. Without it, a proxy may close the idle connection, often after a minute."""

STOPPING = "The server stops: connect again."
EXPIRED = "The JWT has expired: connect again with a new one."

_CODES = {STOPPING: "UNAVAILABLE", EXPIRED: "UNAUTHENTICATED"}

_HEADERS = (
    (b"content-type", EVENT_STREAM.encode() + b"; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # Without this header, nginx sends events only after it has received 4 kB of them.
    (b"x-accel-buffering", b"no"),
    (b"vary", b"Accept"),
)


class SubscriberLimit:
    """Refuses a subscriber's connection with 503 if the process or the client has too many."""

    def __init__(self, app: ASGIApp, client: Callable[[str], str | None]) -> None:
        self._app = app
        self._client = client
        self._count: Counter[str | None] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the connection and count it until it ends, or refuse it."""
        client = self._client(scope["client"][0]) if scope.get("client") else None
        if self._count.total() >= MAX_SUBSCRIBERS:
            message = "The server has too many subscribers: try again later."
        elif client is not None and self._count[client] >= MAX_PER_CLIENT:
            message = (
                f"{client} has {MAX_PER_CLIENT} connections for subscriptions: close one first."
            )
        else:
            self._count[client] += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._count[client] -= 1
                if not self._count[client]:
                    del self._count[client]
            return
        await refusal(503, message, 5)(scope, receive, send)


class End:
    """Ends a connection when the server stops or the client's JWT expires.

    ``reason`` is a future. Its result is the reason why the connection must end.
    """

    def __init__(self) -> None:
        self.reason: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None

    def with_server(self, scope: Scope) -> None:
        """End the connection when the server begins to stop."""
        set_on_ending = scope.get("extensions", {}).get(ENDING)
        if set_on_ending is not None:
            set_on_ending(lambda: self.now(STOPPING))

    def with_jwt(self, viewer: Viewer | None) -> None:
        """End the connection when the viewer's JWT expires."""
        if viewer is None or viewer.expires is None:
            return
        left = max(0.0, viewer.expires - time.time())
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(left, self.now, EXPIRED)

    def now(self, reason: str) -> None:
        """End the connection now, unless it has ended already."""
        if not self.reason.done():
            self.reason.set_result(reason)

    def close(self) -> None:
        """Stop the timer, because the connection has ended."""
        if self._timer is not None:
            self._timer.cancel()
        self.reason.cancel()


async def subscribe(
    view: GraphQLView, request: GraphQLRequest, context: Context, *, seconds: float
) -> AsyncGenerator[EventResult, None]:
    """Return an iterator over the results of a subscription, one result for each event.

    The server has ``seconds`` to compute each result. Raises RefusedSubscriptionError if the
    subscription cannot begin.
    """
    try:
        context.service(Log)
        document = await view.documents.find(request)
    except NotAvailableError as error:
        refused = client_error(GraphQLError(str(error), original_error=error), KNOWN_ERRORS)
        raise RefusedSubscriptionError([refused]) from None
    except GraphQLError as error:
        note_errors([error])
        raise RefusedSubscriptionError([error]) from None
    return await view.schema.listen(
        document.text,
        request.variables,
        request.operation_name,
        # Each event needs a new context, because a context caches the rows that it has read.
        context=lambda: replace(context, parts={**context.parts}),
        seconds=seconds,
    )


def failed(message: str, code: str) -> ExecutionResult:
    """Return a result with one error: why the subscription ends or cannot begin."""
    return ExecutionResult(None, [GraphQLError(message, extensions={"code": code})])


def encoded(result: ExecutionResult) -> bytes:
    """Return the result of one event as JSON."""
    body: dict[str, Any] = {"data": result.data}
    if result.errors:
        body["errors"] = [error.formatted for error in result.errors]
    return orjson.dumps(body)


@dataclass(eq=False)
class EventStreamView:
    """Responds to a subscription with a stream of server-sent events."""

    view: GraphQLView
    seconds: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request until its subscription ends, or refuse it."""
        try:
            await self._serve(scope, receive, send)
        except REJECTIONS as error:
            await rejection(error)(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = await self.view.context(header(scope, b"authorization"))
        context.parts[LastEvent] = LastEvent(context, header(scope, b"last-event-id"))
        request = await read_request(scope, receive)
        try:
            events = await subscribe(self.view, request, context, seconds=self.seconds)
        except RefusedSubscriptionError as refused:
            result = ExecutionResult(None, refused.errors)
            await graphql_response(result, GRAPHQL).send_by(send)
            return
        leave = scope.get("extensions", {}).get(LEAVE)
        if leave is not None:
            leave()
        end = End()
        end.with_server(scope)
        end.with_jwt(context.viewer)
        try:
            async with aclosing(events):
                await self._stream(events, end, send)
        finally:
            end.close()

    @staticmethod
    async def _stream(events: AsyncGenerator[EventResult, None], end: End, send: Send) -> None:
        """Send events until the subscription ends.

        If ``end`` gets a reason before that, or if the client is too slow, the last event is an
        error with the reason.
        """

        async def write(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
        await write(b"retry: %d\n\n" % RETRY_MS)
        following = asyncio.ensure_future(anext(events, None))
        try:
            while not end.reason.done():
                either: set[asyncio.Future[Any]] = {following, end.reason}
                await asyncio.wait(either, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
                if following.done():
                    event = following.result()
                    if event is None:
                        break
                    await write(_event(event.result, event.cursor))
                    following = asyncio.ensure_future(anext(events, None))
                elif not end.reason.done():
                    await write(b":\n\n")
            else:
                reason = end.reason.result()
                await write(_event(failed(reason, _CODES[reason])))
        except SlowListenerError as error:
            await write(_event(failed(str(error), "TOO_SLOW")))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await write(b"event: complete\ndata:\n\n")
        await send({"type": "http.response.body", "body": b""})


def _event(result: ExecutionResult, cursor: str | None = None) -> bytes:
    """Return a result as a server-sent event.

    A line break would end the field ``data``, but orjson writes JSON without line breaks.
    """
    name = b"" if cursor is None else b"id: " + cursor.encode() + b"\n"
    return name + b"event: next\ndata: " + encoded(result) + b"\n\n"
