"""Serves GraphQL over HTTP: executes one operation per request, and responds in JSON.

The specification of GraphQL over HTTP is https://graphql.github.io/graphql-over-http/draft/
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import orjson
from graphql import GraphQLError
from starlette.datastructures import URL
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from dal.stores import Stores
from resolvers.context import Context, Pace, Viewer
from resolvers.photo_files import PhotoFiles
from resolvers.publication import Publication
from schema.execution.executable_schema import (
    MAX_RESPONSE,
    ExecutableSchema,
)
from server.auth.authenticator import DEMO_LIFETIME, DEMO_USER, Authenticator
from server.auth.claims import InvalidTokenError
from server.auth.issuer import KeysUnavailableError
from server.http import graphiql
from server.http.errors import failure
from server.http.request import (
    GRAPHQL,
    HTML,
    JSON,
    GraphQLRequest,
    header,
    preferred,
    read_request,
)
from server.observability.observation import note_errors
from server.settings import Settings

NOT_KEPT = "private, no-store"

REJECTIONS = (InvalidTokenError, KeysUnavailableError, HTTPException)
"""Exceptions that end a request before an operation is executed."""

HASH_PREFIX = "sha256:"
"""The prefix of document ids that are hashes. GraphQL over HTTP defines it for persisted
documents."""

_POST_TYPES, _GET_TYPES = OperationType.from_http("POST"), OperationType.from_http("GET")

_TOO_LARGE = GraphQLError(
    f"The operation has run, but its response is larger than {MAX_RESPONSE:,} bytes, so it is not "
    "sent: select fewer rows or fields.",
    extensions={"code": "QUERY_TOO_COSTLY"},
)
TOO_LARGE = orjson.dumps({"data": None, "errors": [_TOO_LARGE.formatted]})
"""The body of a response in place of a body that is too large."""


class GraphQLResponse(NamedTuple):
    """A response in JSON. ``failed`` is true if the response contains errors."""

    body: bytes
    status_code: int
    media_type: str
    failed: bool = False
    vary: bytes = b"Accept"
    headers: Sequence[tuple[bytes, bytes]] = ()

    async def send_by(self, send: Send) -> None:
        """Send the response as ASGI messages."""
        headers = [(b"vary", self.vary), *self.headers]
        if self.body:
            headers.append((b"content-length", b"%d" % len(self.body)))
            headers.append((b"content-type", self.media_type.encode("latin-1")))
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def graphql_response(result: ExecutionResult, media_type: str) -> GraphQLResponse:
    """Return the response for a result. If it would be too large, return an error instead.

    A request error, such as an unknown field, prevents execution. The response then has no
    ``data``. In GraphQL's own media type, its status is 400, or 500 if the server failed. In plain
    JSON, the status is 200 for every well-formed request. Clients of plain JSON cannot trust other
    statuses, because a proxy may have sent them.
    https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes
    """
    errors = [error.formatted for error in result.errors or []]
    # An error of a field has a path, but a request error has no path.
    is_request_error = result.data is None and bool(errors) and "path" not in errors[0]
    body: dict[str, Any] = {} if is_request_error else {"data": result.data}
    if errors:
        body["errors"] = errors
    if result.extensions:
        body["extensions"] = result.extensions
    status = 200
    # The status is 400 because clients and the specification's tests expect it, not 422.
    if is_request_error and media_type == GRAPHQL:
        status = 500 if errors[0].get("extensions", {})["code"] == "INTERNAL" else 400
    encoded = orjson.dumps(body)
    if len(encoded) > MAX_RESPONSE:
        return GraphQLResponse(TOO_LARGE, status, media_type, failed=True)
    return GraphQLResponse(encoded, status, media_type, failed=bool(errors))


def not_kept(_: Scope, __: ExecutionResult, response: GraphQLResponse) -> GraphQLResponse:
    """Return the response to a GET, with the header that forbids caches to store the response."""
    return response._replace(headers=[(b"cache-control", NOT_KEPT.encode())])


Caching: TypeAlias = Callable[[Scope, ExecutionResult, GraphQLResponse], GraphQLResponse]
"""Returns the response to a GET with the header ``Cache-Control``."""


class Document(NamedTuple):
    """The text of a document, and the rule for caches of responses."""

    text: str
    caching: Caching = not_kept


class Documents:
    """Finds the document of a request: the text that the client has sent, or a built-in document.

    ``built_in`` returns the built-in documents by the SHA-256 of their text. ``caching`` is the
    rule for caches of responses to these documents.
    """

    def __init__(
        self, built_in: Callable[[], Mapping[str, str]] = dict, caching: Caching = not_kept
    ) -> None:
        self.built_in = built_in
        self.caching = caching

    async def find(self, request: GraphQLRequest) -> Document:
        """Return the document of a request. Raise GraphQLError with a code if there is none."""
        if request.query is not None:
            return Document(request.query)
        asked = (request.document_id or request.sha256 or "").removeprefix(HASH_PREFIX)
        if (text := self.built_in().get(asked)) is not None:
            return Document(text, self.caching)
        if request.document_id is not None:
            message = f"No document is registered under the id {request.document_id!r}."
            raise GraphQLError(message, extensions={"code": "NOT_FOUND"})
        # After this error, Apollo and urql send the text with this and every later request. Some
        # clients read the message, and others read the code:
        # https://www.apollographql.com/docs/apollo-server/performance/apq
        code = "PERSISTED_QUERY_NOT_SUPPORTED"
        raise GraphQLError("PersistedQueryNotSupported", extensions={"code": code})


def rejection(error: Exception) -> Response:
    """Return the response for an exception of ``REJECTIONS``."""
    if isinstance(error, InvalidTokenError):  # RFC 6750, 3, defines this header.
        return failure(401, str(error), {"WWW-Authenticate": 'Bearer error="invalid_token"'})
    if isinstance(error, HTTPException):
        return failure(error.status_code, error.detail, error.headers)
    return failure(503, str(error), {"Retry-After": "5"})


class GraphQLView:
    """Executes operations. A browser that opens the address gets GraphiQL.

    Only the Authorization header identifies the user. The endpoint ignores the cookie of the HTML
    pages. Otherwise another site could make a visitor's browser write in the visitor's name (CSRF).
    """

    def __init__(
        self,
        schema: ExecutableSchema,
        *,
        settings: Settings,
        stores: Stores,
        authenticator: Authenticator,
        services: Mapping[type[Any], Any],
        publication: Publication | None = None,
        documents: Documents | None = None,
        graphiql: bool = True,
    ) -> None:
        self.schema = schema
        self._offered_on_get = (HTML, GRAPHQL, JSON) if graphiql else (GRAPHQL, JSON)
        self.uploads: PhotoFiles | None = services.get(PhotoFiles)
        self.documents = documents or Documents()
        self._authenticator = authenticator
        self._demo = settings.demo
        self._site = settings.public_url
        self._context = partial(
            Context,
            stores=stores,
            explain=schema.explain,
            show_cost=settings.show_cost,
            known_products_only=settings.known_products_only,
            buyers_only=settings.buyers_only,
            allow_empty_text=settings.allow_empty_text,
            publication=publication or Publication(),
            services=services,
            pace=Pace(),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one HTTP request."""
        try:
            response: Response | GraphQLResponse = await self._response(scope, receive)
        except REJECTIONS as error:
            response = rejection(error)
        if isinstance(response, GraphQLResponse):
            await response.send_by(send)
        else:
            response.headers["Vary"] = "Accept"
            response.headers.setdefault("Cache-Control", NOT_KEPT)
            await response(scope, receive, send)

    async def _response(self, scope: Scope, receive: Receive) -> Response | GraphQLResponse:
        """Return the response, in the media type that the client's Accept header prefers."""
        post = scope["method"] == "POST"
        offered = (GRAPHQL, JSON) if post else self._offered_on_get
        media_type = preferred(header(scope, b"accept"), offered)
        if media_type is None:
            raise HTTPException(406, f"The response is {GRAPHQL} or {JSON}: accept one of them.")
        if media_type == HTML:
            address = str(URL(scope=scope).replace(query=""))
            jwt = self._authenticator.issue(DEMO_USER, DEMO_LIFETIME) if self._demo else None
            return graphiql.page(address, explain=self.schema.explain, jwt=jwt)
        context = await self.context(header(scope, b"authorization"))
        request = await read_request(scope, receive)
        try:
            document = await self.documents.find(request)
        except GraphQLError as error:
            note_errors([error])
            document, result = Document(""), ExecutionResult(None, [error])
        else:
            try:
                result = await self.schema.execute(
                    document.text,
                    request.variables,
                    context_value=context,
                    operation_name=request.operation_name,
                    # Any site can make a browser send a GET, so it may execute only queries.
                    allowed_operation_types=_POST_TYPES if post else _GET_TYPES,
                    operation_extensions=request.extensions,
                )
            except InvalidOperationTypeError as error:
                message = "A GET request only reads: send a mutation as JSON in a POST request."
                raise HTTPException(405, message, {"Allow": "POST"}) from error
        response = graphql_response(result, media_type)
        return response if post else document.caching(scope, result, response)

    async def context(self, authorization: str | None, site: str | None = None) -> Context:
        """Return the context for resolvers.

        ``site`` is the address of the HTML pages. If it is None, the context uses ``--public-url``.
        Raises InvalidTokenError if the JWT is invalid, and KeysUnavailableError if the issuer's
        keys cannot be fetched.
        """
        viewer = grant = None
        if authorization is not None:
            bearer = await self._authenticator.bearer(authorization)
            viewer, grant = (bearer, None) if isinstance(bearer, Viewer) else (None, bearer)
        return self._context(viewer, grant=grant, site=site or self._site)
