"""GraphQL over HTTP: one operation a POST, JSON in and out."""

from http import HTTPStatus
from typing import Any, TypeVar

import orjson
from cross_web import AsyncHTTPRequestAdapter, HTTPException, StarletteRequestAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry import Schema
from strawberry.asgi import GraphQL
from strawberry.http import GraphQLRequestData
from strawberry.http.base import BaseRequestProtocol

from dal.stores import Stores
from resolvers.request.context import Context
from server.auth.jwt import Authenticator, InvalidTokenError, KeysUnavailableError
from server.http import graphiql
from server.http.failures import failure

MAX_BODY = 1_000_000
"""Bytes; the longest comment takes 60,000 of them."""

_Member = TypeVar("_Member", str, dict[str, Any])


class BoundedBody(StarletteRequestAdapter):
    """A request whose body is read no further than ``MAX_BODY``."""

    async def get_body(self) -> bytes:
        """Return the whole body; HTTPException 413 when it is too large."""
        body = bytearray()
        async for chunk in self._request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise HTTPException(413, f"The body is larger than {MAX_BODY:,} bytes.")
        return bytes(body)


class GraphQLView(GraphQL[Context, None]):
    """Runs operations for whoever the Authorization header names; browsers get GraphiQL by GET."""

    request_adapter_class = BoundedBody

    def __init__(
        self,
        schema: Schema,
        *,
        stores: Stores,
        authenticator: Authenticator,
        explain: bool,
    ) -> None:
        super().__init__(schema, subscription_protocols=())
        self._stores = stores
        self._authenticator = authenticator
        self._explain = explain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request; what is refused before execution is a 4xx in JSON."""
        try:
            response = await self.run(Request(scope, receive))
        except InvalidTokenError as error:
            challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
            response = failure(401, str(error), challenge)
        except KeysUnavailableError as error:
            response = failure(503, str(error), {"Retry-After": "5"})
        except HTTPException as error:
            refused_method = error.status_code == HTTPStatus.METHOD_NOT_ALLOWED
            headers = {"Allow": "POST"} if refused_method else {}
            if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                headers = {"Connection": "close"}  # or the rest of the body would be read
            response = failure(error.status_code, error.reason, headers)
        await response(scope, receive, send)

    async def get_context(
        self, request: Request | WebSocket, response: Response | WebSocket
    ) -> Context:
        """Return what resolvers see of this request.

        Only the header says who asks, never the pages' cookie: what a browser sends by itself
        could be made to act by any site, and so this endpoint needs no defence against that.
        """
        del response
        return await self.context(request.headers.get("authorization"))

    async def context(self, authorization: str | None) -> Context:
        """Return what resolvers see of who this is; InvalidTokenError for a JWT that fails."""
        return Context(
            viewer=await self._authenticator.viewer(authorization),
            stores=self._stores,
            explain=self._explain,
        )

    def is_request_allowed(self, request: BaseRequestProtocol) -> bool:
        """Return True: the route has chosen among the methods already."""
        del request
        return True

    def should_render_graphql_ide(self, request: BaseRequestProtocol) -> bool:
        """Return whether a browser asks for GraphiQL."""
        return request.method != "POST" and "text/html" in request.headers.get("accept", "")

    async def render_graphql_ide(self, request: Request) -> Response:
        """Return GraphiQL's page."""
        del request
        return graphiql.page()

    async def parse_http_body(self, request: AsyncHTTPRequestAdapter) -> GraphQLRequestData:
        """Return the operation of a POST; HTTPException says what the body lacks."""
        if request.method != "POST":
            sentence = "Send the operation as JSON in a POST request."
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, sentence)
        media_type = (request.content_type or "").partition(";")[0]
        if media_type.strip().lower() != "application/json":
            raise HTTPException(415, "Send the operation with Content-Type: application/json.")
        try:
            body = orjson.loads(await request.get_body())
        except orjson.JSONDecodeError as error:
            raise HTTPException(400, f"The body is not valid JSON: {error}.") from error
        return _operation(body)

    def encode_json(self, data: object) -> bytes:
        """Return the response's body."""
        return orjson.dumps(data)


def _operation(body: object) -> GraphQLRequestData:
    if not isinstance(body, dict):
        raise HTTPException(400, "The body must be a JSON object that holds one operation.")
    query = _member(body, "query", str)
    if not query:
        raise HTTPException(400, "The body lacks the operation: put its text in 'query'.")
    return GraphQLRequestData(
        query=query,
        variables=_member(body, "variables", dict),
        operation_name=_member(body, "operationName", str),
        extensions=_member(body, "extensions", dict),
    )


def _member(body: dict[str, Any], name: str, kind: type[_Member]) -> _Member | None:
    value = body.get(name)
    if value is None or isinstance(value, kind):
        return value
    expected = "a string" if kind is str else "an object"
    raise HTTPException(400, f"{name!r} must be {expected}.")
