"""Serves the schema in GraphQL's schema definition language, for code generators."""

from collections.abc import Callable
from functools import cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from server.http.middleware import entity_tag, matching

PATH = "/schema.graphql"

_HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}


def schema_route(printed: Callable[[], str]) -> Route:
    """Return the route of the schema. The first request calls ``printed``, which takes 0.1 s."""

    @cache
    def content() -> tuple[bytes, str]:
        body = printed().encode()
        return body, entity_tag(body)

    def show(request: Request) -> Response:
        """Return the schema, or 304 if the client has it."""
        body, tag = content()
        known = matching(request.headers.get("if-none-match"), tag)
        headers = {**_HEADERS, "ETag": known or tag}
        if known is not None:
            # CompressMiddleware adds Vary only to responses with a body.
            return Response(status_code=304, headers={**headers, "Vary": "Accept-Encoding"})
        return Response(body, headers=headers, media_type="text/plain")

    return Route(PATH, show)
