"""Subscriptions by WebSocket: the protocol graphql-transport-ws, one connection for several.

Closing codes are those of the protocol, and 1001 when the server stops, 1013 for whoever should
come back later: a client that is too slow for its events.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send
from strawberry.types import ExecutionResult

from dal.live.listener import SlowListenerError
from resolvers.request.context import Context
from schema.execution.subscribing import Answer, RefusedSubscriptionError
from server.auth.authenticator import InvalidTokenError, KeysUnavailableError
from server.http.graphql import GraphQLView
from server.http.graphql_request import Operation, header, operation_of
from server.http.subscribers import STOPPING, End, encoded, failed

PROTOCOL = "graphql-transport-ws"

INIT_TIMEOUT = 10.0
"""Seconds in which a client must introduce itself."""

MAX_SUBSCRIPTIONS = 20
"""Of one connection: the lists of one page."""

_INVALID, _UNAUTHORIZED, _FORBIDDEN = 4400, 4401, 4403
_INIT_TIMEOUT, _EXISTS, _INIT_TWICE = 4408, 4409, 4429
_GOING_AWAY, _LATER = 1001, 1013

_MAX_REASON = 120
"""Bytes of a reason that fit a closing frame."""


class CloseError(Exception):
    """The connection is to be closed, with a code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, slots=True)
class _Subscribe:
    """What a client asks to be told, under an id of its choice."""

    name: str
    operation: Operation


class GraphQLSocket:
    """One accepted connection, until one of both sides closes it."""

    def __init__(
        self, view: GraphQLView, scope: Scope, receive: Receive, send: Send, *, seconds: float
    ) -> None:
        self._view = view
        self._scope = scope
        self._receive = receive
        self._send = send
        self._seconds = seconds
        self._context: Context | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._end = End()

    async def serve(self) -> None:
        """Answer messages until the connection ends, then end all that was subscribed to."""
        self._end.with_server(self._scope)
        reading = asyncio.create_task(self._read())
        try:
            either: set[asyncio.Future[Any]] = {reading, self._end.reason}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
            else:
                reason = self._end.reason.result()
                code = _GOING_AWAY if reason == STOPPING else _FORBIDDEN
                await self._close(code, reason)
        except CloseError as close:
            await self._close(close.code, str(close))
        finally:
            self._end.close()
            await _cancelled([reading, *self._running.values()])

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(INIT_TIMEOUT):
                message = await self._message()
                await self._begin(message)
        except TimeoutError:
            raise CloseError(_INIT_TIMEOUT, "Connection initialisation timeout") from None
        while message is not None:
            message = await self._message()
            if message is not None:
                await self._act(message)

    async def _message(self) -> dict[str, Any] | None:
        """Return the next message that is no ping or pong, None when the client has left."""
        while True:
            received = await self._receive()
            if received["type"] == "websocket.disconnect":
                return None
            message = _parsed(received)
            if message["type"] == "ping":
                await self._say({"type": "pong"})
            elif message["type"] != "pong":
                return message

    async def _begin(self, message: dict[str, Any] | None) -> None:
        """Let the client introduce itself; without a JWT it is anybody."""
        if message is None:
            return
        if message["type"] != "connection_init":
            raise CloseError(_UNAUTHORIZED, "Unauthorized: send connection_init first")
        payload = message.get("payload")
        payload = {} if payload is None else payload
        if not isinstance(payload, dict):
            raise CloseError(_INVALID, "The payload of connection_init must be an object.")
        stated = payload.get("Authorization", payload.get("authorization"))
        authorization = header(self._scope, b"authorization") if stated is None else stated
        if not isinstance(authorization, str | None):
            raise CloseError(_FORBIDDEN, "Send 'Authorization' as the text 'Bearer <JWT>'.")
        try:
            self._context = await self._view.context(authorization)
        except InvalidTokenError as error:
            raise CloseError(_FORBIDDEN, str(error)) from None
        except KeysUnavailableError as error:
            raise CloseError(_LATER, str(error)) from None
        self._end.with_jwt(self._context.viewer)
        await self._say({"type": "connection_ack"})

    async def _act(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "subscribe":
                await self._subscribe(_subscribe(message))
            case "complete":
                task = self._running.pop(str(message.get("id")), None)
                if task is not None:
                    await _cancelled([task])
            case "connection_init":
                raise CloseError(_INIT_TWICE, "Too many initialisation requests")
            case other:
                raise CloseError(_INVALID, f"Messages of type {other[:40]!r} are unknown.")

    async def _subscribe(self, asked: _Subscribe) -> None:
        if asked.name in self._running:
            raise CloseError(_EXISTS, f"Subscriber for {asked.name[:40]} already exists")
        if len(self._running) >= MAX_SUBSCRIPTIONS:
            sentence = f"A connection has {MAX_SUBSCRIPTIONS} subscriptions: complete one first."
            await self._refuse(asked.name, failed(sentence, "THROTTLED"))
            return
        assert self._context is not None  # noqa: S101 - the client has introduced itself
        context = self._context
        try:
            answers = await self._view.listen(asked.operation, context, seconds=self._seconds)
        except RefusedSubscriptionError as refused:
            await self._refuse(asked.name, ExecutionResult(None, refused.errors))
            return
        task = asyncio.create_task(self._tell(asked.name, answers))
        self._running[asked.name] = task

    async def _tell(self, name: str, answers: AsyncGenerator[Answer, None]) -> None:
        """Send the events of one subscription."""
        try:
            async with aclosing(answers):
                async for answer in answers:
                    await self._write(b"next", name, encoded(answer.result))
            self._running.pop(name, None)
            await self._say({"id": name, "type": "complete"})
        except SlowListenerError as error:
            self._running.pop(name, None)
            await self._close(_LATER, str(error))

    async def _refuse(self, name: str, result: ExecutionResult) -> None:
        errors = [error.formatted for error in result.errors or []]
        await self._write(b"error", name, orjson.dumps(errors))

    async def _write(self, kind: bytes, name: str, payload: bytes) -> None:
        text = b'{"id":%b,"type":"%b","payload":%b}' % (orjson.dumps(name), kind, payload)
        await self._send({"type": "websocket.send", "text": text.decode()})

    async def _say(self, message: dict[str, Any]) -> None:
        await self._send({"type": "websocket.send", "text": orjson.dumps(message).decode()})

    async def _close(self, code: int, reason: str) -> None:
        shown = reason.encode()[:_MAX_REASON].decode(errors="ignore")
        await self._send({"type": "websocket.close", "code": code, "reason": shown})


def _parsed(received: Message) -> dict[str, Any]:
    """Return a message; CloseError for what is none."""
    try:
        message = orjson.loads(received.get("text") or b"")
    except orjson.JSONDecodeError:
        raise CloseError(_INVALID, "A message must be a JSON object in a text frame.") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise CloseError(_INVALID, "A message must be a JSON object with a 'type'.")
    return message


def _subscribe(message: dict[str, Any]) -> _Subscribe:
    name, payload = message.get("id"), message.get("payload")
    if not isinstance(name, str) or not name or not isinstance(payload, dict):
        raise CloseError(_INVALID, "A subscribe message needs an 'id' and a 'payload'.")
    try:
        return _Subscribe(name, operation_of(payload))
    except HTTPException as error:
        raise CloseError(_INVALID, error.detail) from None


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
