"""gzip for whoever asks for it: GraphQL's answers and the pages, at the level that costs least."""

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.media_types import preferred

SMALLEST = 1_000
"""Bytes; what is smaller fits into one packet as it is."""

_GZIP = "gzip"


class CompressionMiddleware:
    """Compresses answers, but no files, which browsers keep, and nothing for a cookie.

    What is compressed tells by its length whether parts of it are alike. A page for a cookie holds
    that session's ``form_key`` beside what its address says, which any site could choose (BREACH).
    GraphQL's answers hold no secret that a browser sends by itself.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._gzip = GZipMiddleware(app, minimum_size=SMALLEST, compresslevel=1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; caches are told that answers differ, to other clients as well."""
        if scope["type"] != "http" or "/static/" in scope["path"]:
            await self._app(scope, receive, send)
        elif _compressible(scope["headers"]):
            await self._gzip(scope, receive, send)
        else:

            async def varying_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(raw=message["headers"]).add_vary_header("Accept-Encoding")
                await send(message)

            await self._app(scope, receive, varying_send)


def _compressible(headers: list[tuple[bytes, bytes]]) -> bool:
    asked = None
    for name, value in headers:
        if name == b"cookie":
            return False
        if name == b"accept-encoding":
            asked = value
    return asked is not None and preferred(asked.decode("latin-1"), (_GZIP,)) == _GZIP
