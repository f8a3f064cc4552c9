"""brotli or gzip for whoever asks: GraphQL's answers and the pages, at the levels that cost least.

zstd stays off: with 6 % fewer bytes than brotli it takes longer, and its import 24 ms of the start.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette_compress import CompressMiddleware, add_compress_type, remove_compress_type

from server.http.entity_tags import encoded
from server.http.media_types import EVENT_STREAM, GRAPHQL

SMALLEST = 1_000
"""Bytes; what is smaller fits into one packet as it is."""

add_compress_type(GRAPHQL)
remove_compress_type(EVENT_STREAM)  # an encoder would be kept for each who listens


class CompressionMiddleware:
    """Compresses answers, but no files, which browsers keep, and nothing for a cookie.

    What is compressed tells by its length whether parts of it are alike. A page for a cookie holds
    that session's ``form_key`` beside what its address says, which any site could choose (BREACH).
    GraphQL's answers hold no secret that a browser sends by itself.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._as_it_is = CompressMiddleware(
            app, minimum_size=SMALLEST, zstd=False, brotli=False, gzip=False
        )
        self._compressed = CompressMiddleware(
            app, minimum_size=SMALLEST, zstd=False, brotli_quality=1, gzip_level=1
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; caches are told that answers differ, to other clients as well."""
        if scope["type"] != "http" or "/static/" in scope["path"]:
            await self._app(scope, receive, send)
        elif any(name == b"cookie" for name, _ in scope["headers"]):
            await self._as_it_is(scope, receive, send)
        else:

            async def tagging_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    encoded(message["headers"])
                await send(message)

            await self._compressed(scope, receive, tagging_send)
