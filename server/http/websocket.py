"""WebSockets: who may open one, and how uvicorn's protocol ends it."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from asgi_correlation_id import correlation_id
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from server.http.cors import is_allowed
from server.http.failures import failure, refusal
from server.http.graphql import GraphQLView
from server.http.graphql_request import header
from server.http.graphql_ws import PROTOCOL, GraphQLSocket
from server.http.request_ids import request_id_of
from server.http.subscribers import ABORT, ENDING, Subscribers, TooManySubscribersError

MAX_MESSAGE = 131_072
"""Bytes of a client's message: the longest document is 30,000 characters."""

PING_EVERY = 20.0
"""Seconds between two pings, and in which each must be answered."""

_UNACCEPTABLE = 4406


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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection until it ends; what is refused is answered by HTTP."""
        correlation_id.set(request_id_of(scope["headers"]).decode())
        await receive()
        origin = header(scope, b"origin")
        if origin is not None and not self._welcomes(scope, origin):
            sentence = f"Pages of {origin[:100]} may not connect: see --cors-origin."
            await failure(403, sentence)(scope, receive, send)
            return
        try:
            with self._subscribers.admitted(scope):
                await self._serve(scope, receive, send)
        except TooManySubscribersError as error:
            await refusal(503, str(error), 5)(scope, receive, send)

    def _welcomes(self, scope: Scope, origin: str) -> bool:
        own = urlsplit(origin).netloc == header(scope, b"host")
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
    """uvicorn's protocol, which lets its application say 1001 when the server stops."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._on_ending: Any = None

    def handle_connect(self, event: Any) -> None:
        """Offer the application what it may ask of the connection."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            extensions: Any = self.scope["extensions"]
            extensions[ENDING] = self._set_on_ending
            extensions[ABORT] = self._abort

    def _set_on_ending(self, act: Any) -> None:
        self._on_ending = act

    def _abort(self) -> None:
        self.transport.abort()

    def shutdown(self) -> None:
        """Have the application end the connection; where it is not accepted yet, end it at once."""
        if self._on_ending is not None and not self.close_sent:
            self._on_ending()
        else:
            super().shutdown()
