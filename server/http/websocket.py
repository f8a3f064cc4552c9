"""WebSockets: who may open one, and how uvicorn's protocol ends it."""

import logging
from asyncio import BaseTransport
from collections.abc import Sequence
from typing import Any

from asgi_correlation_id import correlation_id
from starlette.types import Receive, Scope, Send
from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from dal.limits import MAX_FRAMES, MAX_MESSAGE_FRAMES
from server.http.cors import is_allowed, is_own
from server.http.failures import failure, refusal
from server.http.graphql import GraphQLView
from server.http.graphql_request import header
from server.http.graphql_ws import PROTOCOL, GraphQLSocket
from server.http.rate_limit import TOO_MANY_MESSAGES
from server.http.request_ids import request_id_of
from server.http.slow_clients import UnreadTimer
from server.http.subscribers import ENDING, Subscribers, TooManySubscribersError
from server.logs import FirstValues

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
