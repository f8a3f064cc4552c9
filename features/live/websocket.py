"""Serves subscriptions over WebSocket. One connection may have several subscriptions.

The protocol is graphql-transport-ws:
https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md

The server closes connections with the codes of this protocol. It also uses two general codes:
1001 if the server stops, and 1013 if the client should connect again later, for example because the
client has read events too slowly
(https://www.iana.org/assignments/websocket/websocket.xhtml#close-code-number).
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import orjson
from asgi_correlation_id import correlation_id
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send
from strawberry.types import ExecutionResult
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from features.live.log import SlowListenerError
from features.live.subscriptions import STOPPING, End, encoded, failed, subscribe
from resolvers.context import Context
from schema.execution.executable_schema import EventResult, RefusedSubscriptionError
from server.auth.claims import InvalidTokenError
from server.auth.issuer import KeysUnavailableError
from server.http.admission import TOO_MANY_MESSAGES
from server.http.connections import BUSY, ENDING, STATE, Connection, SendTimeout
from server.http.errors import failure
from server.http.graphql import GraphQLView
from server.http.middleware import is_allowed, is_own, request_id_of
from server.http.request import header, request_of
from server.http.uvicorn_door import ASGIReceiveEvent, ASGISendEvent
from server.logs import FirstValues

MAX_FRAMES = 100
"""Maximum WebSocket frames per second on a connection. When a web page with 20 lists opens, it may
start 20 subscriptions within one second. Each frame costs 10 microseconds of CPU time before other
limits are checked."""

MAX_MESSAGE_FRAMES = 1_000
"""Maximum frames of one WebSocket message. Even an empty frame needs memory until the message is
complete."""

PROTOCOL = "graphql-transport-ws"

INIT_TIMEOUT = 10.0
"""Seconds within which a client must send ``connection_init``."""

MAX_SUBSCRIPTIONS = 20
"""Maximum number of subscriptions of one connection. A page needs one subscription for each
list."""

PING_EVERY = 20.0
"""Seconds between two pings. If a client has not answered a ping before the next ping is due, the
server closes the connection."""

MAX_MESSAGE = 131_072
"""Maximum bytes of a message. The longest document has 20,000 characters."""

_INVALID, _UNAUTHORIZED, _FORBIDDEN, _UNACCEPTABLE = 4400, 4401, 4403, 4406
_INIT_TIMEOUT, _EXISTS, _INIT_TWICE = 4408, 4409, 4429
_GOING_AWAY, _LATER = 1001, 1013

_MAX_REASON = 120
"""Maximum bytes of the reason in a close frame. RFC 6455, 5.5, allows 125 bytes, and the code needs
two of them."""

_PIECE = 1_024
"""Number of bytes that are parsed at a time, before frames are counted. A piece of this size
contains at most 170 frames, because a frame from a client has at least 6 bytes."""

_UPGRADE = re.compile(rb"\r\nupgrade(?=[ \t]*:(?![ \t]*websocket[ \t]*\r))", re.IGNORECASE)

logger = logging.getLogger(__name__)


class CloseError(Exception):
    """The server must close the connection with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(eq=False)
class GraphQLSocket:
    """Serves one accepted connection until the client or the server closes it."""

    view: GraphQLView
    scope: Scope
    receive: Receive
    send: Send
    seconds: float
    _context: Context | None = None
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _end: End = field(default_factory=End)

    async def serve(self) -> None:
        """Handle messages until the connection ends. Then end its subscriptions."""
        self._end.with_server(self.scope)
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
            await _cancel([reading, *self._running.values()])

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(INIT_TIMEOUT):
                message = await self._message()
                await self._initialise(message)
        except TimeoutError:
            raise CloseError(_INIT_TIMEOUT, "Connection initialisation timeout") from None
        while message is not None:
            message = await self._message()
            if message is not None:
                await self._handle(message)

    async def _message(self) -> dict[str, Any] | None:
        """Return the next message, or None if the client has disconnected.

        Answer pings, and skip pongs.
        """
        while True:
            received = await self.receive()
            if received["type"] == "websocket.disconnect":
                return None
            try:
                message = orjson.loads(received.get("text") or b"")
            except orjson.JSONDecodeError:
                reason = "A message must be a JSON object in a text frame."
                raise CloseError(_INVALID, reason) from None
            if not isinstance(message, dict) or not isinstance(message.get("type"), str):
                raise CloseError(_INVALID, "A message must be a JSON object with a 'type'.")
            if message["type"] == "ping":
                await self._send_json({"type": "pong"})
            elif message["type"] != "pong":
                return message

    async def _initialise(self, message: dict[str, Any] | None) -> None:
        """Respond to ``connection_init``, the first message.

        If this message or the request's headers contain a JWT, verify it.
        """
        if message is None:
            return
        if message["type"] != "connection_init":
            raise CloseError(_UNAUTHORIZED, "Unauthorized: send connection_init first")
        payload = message.get("payload")
        payload = {} if payload is None else payload
        if not isinstance(payload, dict):
            raise CloseError(_INVALID, "The payload of connection_init must be an object.")
        given = payload.get("Authorization", payload.get("authorization"))
        authorization = header(self.scope, b"authorization") if given is None else given
        if not isinstance(authorization, str | None):
            raise CloseError(_FORBIDDEN, "Send 'Authorization' as the text 'Bearer <JWT>'.")
        try:
            self._context = await self.view.context(authorization)
        except InvalidTokenError as error:
            raise CloseError(_FORBIDDEN, str(error)) from None
        except KeysUnavailableError as error:
            raise CloseError(_LATER, str(error)) from None
        self._end.with_jwt(self._context.viewer)
        await self._send_json({"type": "connection_ack"})

    async def _handle(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "subscribe":
                await self._subscribe(message)
            case "complete":
                task = self._running.pop(str(message.get("id")), None)
                if task is not None:
                    await _cancel([task])
            case "connection_init":
                raise CloseError(_INIT_TWICE, "Too many initialisation requests")
            case other:
                raise CloseError(_INVALID, f"Messages of type {other[:40]!r} are unknown.")

    async def _subscribe(self, message: dict[str, Any]) -> None:
        """Start a subscription with the id that the client has chosen."""
        name, payload = message.get("id"), message.get("payload")
        if not isinstance(name, str) or not name or not isinstance(payload, dict):
            raise CloseError(_INVALID, "A subscribe message needs an 'id' and a 'payload'.")
        try:
            request = request_of(payload)
        except HTTPException as error:
            raise CloseError(_INVALID, error.detail) from None
        if name in self._running:
            raise CloseError(_EXISTS, f"Subscriber for {name[:40]} already exists")
        if len(self._running) >= MAX_SUBSCRIPTIONS:
            text = f"This connection has {MAX_SUBSCRIPTIONS} subscriptions: complete one first."
            await self._send_errors(name, failed(text, "THROTTLED"))
            return
        assert self._context is not None  # noqa: S101 - set by connection_init
        try:
            events = await subscribe(self.view, request, self._context, seconds=self.seconds)
        except RefusedSubscriptionError as refused:
            await self._send_errors(name, ExecutionResult(None, refused.errors))
            return
        self._running[name] = asyncio.create_task(self._send_events(name, events))

    async def _send_events(self, name: str, events: AsyncGenerator[EventResult, None]) -> None:
        """Send the events of one subscription."""
        try:
            async with aclosing(events):
                async for event in events:
                    await self._send_raw(b"next", name, encoded(event.result))
            self._running.pop(name, None)
            await self._send_json({"id": name, "type": "complete"})
        except SlowListenerError as error:
            self._running.pop(name, None)
            await self._close(_LATER, str(error))

    async def _send_errors(self, name: str, result: ExecutionResult) -> None:
        errors = [error.formatted for error in result.errors or []]
        await self._send_raw(b"error", name, orjson.dumps(errors))

    async def _send_raw(self, kind: bytes, name: str, payload: bytes) -> None:
        """Send a message whose payload is already encoded as JSON."""
        text = b'{"id":%b,"type":"%b","payload":%b}' % (orjson.dumps(name), kind, payload)
        await self.send({"type": "websocket.send", "text": text.decode()})

    async def _send_json(self, message: dict[str, Any]) -> None:
        await self.send({"type": "websocket.send", "text": orjson.dumps(message).decode()})

    async def _close(self, code: int, reason: str) -> None:
        shown = reason.encode()[:_MAX_REASON].decode(errors="ignore")
        await self.send({"type": "websocket.close", "code": code, "reason": shown})


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(eq=False)
class WebSocketView:
    """Accepts WebSockets from pages of this server and of allowed origins, and from programs.

    A browser lets a page of any origin open a WebSocket, so the server must check the header
    ``Origin`` (RFC 6455, 10.2). Browsers always send this header, so a request without it is from
    a program.
    """

    view: GraphQLView
    origins: Sequence[str]
    local: bool
    seconds: float
    _logged: FirstValues = field(default_factory=FirstValues)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection until it ends, or refuse it with an HTTP response."""
        correlation_id.set(request_id_of(scope["headers"]).decode())
        await receive()
        origin = header(scope, b"origin")
        if not (
            origin is None
            or is_own(origin, header(scope, b"host"))
            or is_allowed(origin, self.origins, local=self.local)
        ):
            shown = origin[:100]
            if self._logged.adds(shown):
                logger.warning("Pages of %r may not connect: allow them with --cors-origin.", shown)
            message = f"Pages of {shown} may not connect to this server."
            await failure(403, message)(scope, receive, send)
            return
        if PROTOCOL not in scope["subprotocols"]:
            # The server accepts and then closes the connection, because a script in a browser can
            # read the code of a close frame, but not the status of an HTTP response.
            await send({"type": "websocket.accept"})
            reason = f"Subprotocol not acceptable: use {PROTOCOL}"
            await send({"type": "websocket.close", "code": _UNACCEPTABLE, "reason": reason})
            return
        await send({"type": "websocket.accept", "subprotocol": PROTOCOL})
        await GraphQLSocket(self.view, scope, receive, send, self.seconds).serve()


class HttpConnection(Connection):
    """A client's connection, which can switch to WebSocket."""

    upgrade = _UPGRADE

    def handle_websocket_upgrade(self) -> None:
        """Switch to WebSocket, unless the server is busy or has not answered earlier requests."""
        unanswered = self not in self._shared.expectant
        if self.surplus or self._shared.admission.waiting or unanswered:
            self.end(BUSY)
            return
        self._arrived()
        del self._shared.expectant[self]
        super().handle_websocket_upgrade()


class WebSocketProtocol(SendTimeout, WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol with additions.

    - It limits the number of frames per second, and of frames per message.
    - If a client does not read, the server stops reading from this client, and closes the
      connection after ``SEND_TIMEOUT``.
    - When the server stops, the application closes the connection with code 1001. uvicorn would
      use code 1012.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._shared = self.app_state[STATE]
        self._second = 0.0
        """The time at which the current second began. Frames are counted per second."""
        self._frames = 0

    def data_received(self, data: bytes) -> None:
        """Parse received bytes in pieces. Stop if there are too many frames."""
        # The first call has the complete head of the request that opens the WebSocket.
        if not self.handshake_initiated:
            super().data_received(data)
            if not self.handshake_initiated:
                # The handshake has failed. uvicorn would send nothing and leave the connection
                # open, so send the error and close the connection here.
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
        """Count frames of all kinds. Close the connection if there are too many."""
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
        else:  # The client has already got a close code, or it does not follow the protocol.
            self.transport.abort()

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message. Raise ClientDisconnected if the server has closed the connection."""
        await self.writable.wait()
        if self.close_sent:
            raise ClientDisconnected
        await super().send(message)

    async def receive(self) -> ASGIReceiveEvent:
        """Return the next message, after the client has read most of what the server has sent.

        Without this wait, the responses to a client that does not read would fill the memory.
        """
        await self.writable.wait()
        return await super().receive()

    def pause_writing(self) -> None:
        """Stop reading from a client that reads too slowly: the write buffer is full.

        Otherwise each ping from the client would add a pong to the full write buffer.
        """
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read from the client again, because the client has read most of the write buffer."""
        super().resume_writing()
        if not self.read_paused:
            self.transport.resume_reading()

    def handle_connect(self, event: Any) -> None:
        """Add the extension ``ENDING`` to the application's scope."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            extensions: Any = self.scope["extensions"]
            extensions[ENDING] = self._set_on_ending

    def shutdown(self) -> None:
        """Let the application close an accepted connection. Close any other connection here."""
        self._shared.ending = True
        if self._on_ending is not None and not self.close_sent:
            self._on_ending()
        else:
            super().shutdown()


PROTOCOLS: Mapping[str, Any] = {
    "http": HttpConnection,
    "ws": WebSocketProtocol,
    "ws_max_size": MAX_MESSAGE,
    "ws_ping_interval": PING_EVERY,
    "ws_ping_timeout": PING_EVERY,
    "ws_per_message_deflate": False,  # Compression would need 10 kB of memory per connection.
}
"""uvicorn's options for connections that can switch to WebSocket."""
