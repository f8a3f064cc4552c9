"""Request ids: a proxy's or client's own, or a new one; in the answer, the log and errors."""

import os
import re

from asgi_correlation_id import correlation_id
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dal.limits import MAX_REQUEST_ID

_NAME = b"x-request-id"
_PLAIN = re.compile(rb"[\w.:=-]{1,%d}" % MAX_REQUEST_ID)
"""An id that can stand in logs as it is."""


class RequestIdMiddleware:
    """Gives each request its id. The package's own middleware takes ten times as long for it.

    What caches keep for everybody has none: it would be the id of whoever asked first.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and its id back with the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = request_id_of(scope["headers"])
        correlation_id.set(request_id.decode())

        async def naming_send(message: Message) -> None:
            if message["type"] == "http.response.start" and not _shared(message["headers"]):
                message["headers"] = [*message["headers"], (_NAME, request_id)]
            await send(message)

        await self._app(scope, receive, naming_send)


def _shared(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"cache-control" and value.startswith(b"public") for name, value in headers)


def request_id_of(headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the id that came with a request, or a new one."""
    return _given(headers) or os.urandom(16).hex().encode()


def _given(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the id that came with a request, unless it does not do."""
    given = next((value for name, value in headers if name == _NAME), b"")
    return given if _PLAIN.fullmatch(given) else None
