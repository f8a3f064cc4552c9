"""Subscriptions as server-sent events: graphql-sse's "distinct connections" mode.

Each event is ``event: next`` with an execution result and the cursor as its ``id``, so that a
browser that connects again says by ``Last-Event-ID`` where to go on. ``event: complete`` ends it.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from starlette.types import Receive, Scope, Send
from strawberry.types import ExecutionResult

from dal.live.listener import SlowListenerError
from schema.execution.subscribing import Answer, RefusedSubscriptionError
from server.http.admission import LEAVE
from server.http.failures import refusal
from server.http.graphql import REFUSALS, GraphQLView, refused
from server.http.graphql_request import header, read_operation
from server.http.graphql_response import graphql_response
from server.http.media_types import EVENT_STREAM, GRAPHQL, JSON, preferred
from server.http.subscribers import (
    End,
    Subscribers,
    TooManySubscribersError,
    encoded,
    failed,
)

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

    async def send_all(self, answers: AsyncGenerator[Answer, None]) -> None:
        """Send all events, then the reason why the stream ends."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
        await self._write(b"retry: %d\n\n" % RETRY_MS)
        await self._send_events(answers)
        await self._write(b"event: complete\ndata:\n\n")
        await self._send({"type": "http.response.body", "body": b""})

    async def _send_events(self, answers: AsyncGenerator[Answer, None]) -> None:
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


async def _next(answers: AsyncGenerator[Answer, None]) -> Answer | None:
    """Return the next answer, None after the last."""
    return await anext(answers, None)


def _event(result: ExecutionResult, cursor: str | None = None) -> bytes:
    """Return a result as an event; JSON has no line breaks."""
    name = b"" if cursor is None else b"id: " + cursor.encode() + b"\n"
    return name + b"event: next\ndata: " + encoded(result) + b"\n\n"


def _nothing() -> None:
    """Stand in where no connection offers an extension."""
