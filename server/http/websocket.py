"""WebSockets, and subscriptions by the protocol graphql-transport-ws: several on one connection.

The protocol: https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md

Close codes are those of the protocol, and 1001 when the server stops, 1013 when the client should
come back later, for example because it read its events too slowly.
"""

import asyncio
import logging
from asyncio import BaseTransport
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import orjson
from asgi_correlation_id import correlation_id
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send
from strawberry.types import ExecutionResult
from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from dal.limits import MAX_FRAMES, MAX_MESSAGE_FRAMES
from dal.live.log import SlowListenerError
from resolvers.context import Context
from schema.execution.executable_schema import EventResult, RefusedSubscriptionError
from server.auth.authenticator import InvalidTokenError, KeysUnavailableError
from server.http.admission import TOO_MANY_MESSAGES
from server.http.connections import UnreadTimer
from server.http.errors import failure, refusal
from server.http.graphql import GraphQLView
from server.http.middleware import is_allowed, is_own, request_id_of
from server.http.request import Operation, header, operation_of
from server.http.subscriptions import (
    ENDING,
    STOPPING,
    End,
    Subscribers,
    TooManySubscribersError,
    encoded,
    failed,
)
from server.logs import FirstValues

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

    async def _tell(self, name: str, answers: AsyncGenerator[EventResult, None]) -> None:
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


logger = logging.getLogger(__name__)

PING_EVERY = 20.0
"""Seconds between two pings, and in which each must be answered."""

_UNACCEPTABLE = 4406

_PIECE = 1_024
"""Bytes that are parsed before their frames are counted: at most 170 frames."""


class WebSocketView:
    """Accepts WebSockets of the API's own origin, of allowed ones, and of programs without one."""

    def __init__(
        self,
        view: GraphQLView,
        subscribers: Subscribers,
        *,
        origins: Sequence[str],
        local: bool,
        seconds: float,
    ) -> None:
        self._view = view
        self._subscribers = subscribers
        self._origins = origins
        self._local = local
        self._seconds = seconds
        self._logged = FirstValues()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection until it ends; what is refused is answered by HTTP."""
        correlation_id.set(request_id_of(scope["headers"]).decode())
        await receive()
        origin = header(scope, b"origin")
        if origin is not None and not self._welcomes(scope, origin):
            shown = origin[:100]
            if self._logged.adds(shown):
                logger.warning("Pages of %r may not connect: allow them with --cors-origin.", shown)
            sentence = f"Pages of {shown} may not connect to this server."
            await failure(403, sentence)(scope, receive, send)
            return
        try:
            with self._subscribers.admitted(scope):
                await self._serve(scope, receive, send)
        except TooManySubscribersError as error:
            await refusal(503, str(error), 5)(scope, receive, send)

    def _welcomes(self, scope: Scope, origin: str) -> bool:
        own = is_own(origin, header(scope, b"host"))
        return own or is_allowed(origin, self._origins, local=self._local)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if PROTOCOL not in scope["subprotocols"]:
            await send({"type": "websocket.accept"})
            reason = f"Subprotocol not acceptable: speak {PROTOCOL}"
            await send({"type": "websocket.close", "code": _UNACCEPTABLE, "reason": reason})
            return
        await send({"type": "websocket.accept", "subprotocol": PROTOCOL})
        await GraphQLSocket(self._view, scope, receive, send, seconds=self._seconds).serve()


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol with what it lacks: a limit on frames, and flow control while reading.

    Its application may say 1001 when the server stops.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._on_ending: Any = None
        self._second = 0.0
        """Start of the second in which frames are counted."""
        self._frames = 0

    def connection_made(self, transport: BaseTransport) -> None:
        """Prepare to cut off a client that takes nothing."""
        super().connection_made(transport)
        self._unread = UnreadTimer(self.loop, self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._unread.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, until there are too many frames."""
        if not self.handshake_initiated:  # this is the whole head, from the HTTP connection
            super().data_received(data)
            if not self.handshake_initiated:  # uvicorn would keep the connection, silently
                self.transport.write(b"".join(self.conn.data_to_send()))
                self.transport.close()
            return
        for start in range(0, len(data), _PIECE):
            super().data_received(data[start : start + _PIECE])
            if self.transport.is_closing():
                return
        if not self.writable.is_set():
            self.transport.pause_reading()

    def handle_events(self) -> None:
        """Count frames of all kinds, and fail the connection when there are too many."""
        now = self.loop.time()
        if now >= self._second + 1:
            self._second, self._frames = now, 0
        self._frames += len(self.conn.events)
        super().handle_events()
        if self._frames <= MAX_FRAMES and len(self.frames) <= MAX_MESSAGE_FRAMES:
            return
        if self.conn.state is State.OPEN:
            most = f"{MAX_FRAMES} frames a second, {MAX_MESSAGE_FRAMES} a message"
            self.conn.fail(TOO_MANY_MESSAGES, f"Too many frames: send at most {most}.")
            self.handle_parser_exception()
        else:  # the client has the close code already, or does not speak the protocol
            self.transport.abort()

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message; ClientDisconnected once the connection is closed, as by a limit."""
        await self.writable.wait()
        if self.close_sent:
            raise ClientDisconnected
        await super().send(message)

    async def receive(self) -> ASGIReceiveEvent:
        """Return the next message once the client has read most of its data."""
        await self.writable.wait()
        return await super().receive()

    def pause_writing(self) -> None:
        """Stop reading until the client reads its data: each ping would add an answer."""
        super().pause_writing()
        self._unread.start()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """Continue: the client has read most of its data."""
        super().resume_writing()
        self._unread.stop()
        if not self.read_paused:
            self.transport.resume_reading()

    def handle_connect(self, event: Any) -> None:
        """Offer the application to learn when the server stops."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            extensions: Any = self.scope["extensions"]
            extensions[ENDING] = self._set_on_ending

    def _set_on_ending(self, act: Any) -> None:
        self._on_ending = act

    def shutdown(self) -> None:
        """Have the application end the connection; where it is not accepted yet, end it at once."""
        if self._on_ending is not None and not self.close_sent:
            self._on_ending()
        else:
            super().shutdown()
