"""GraphQL over HTTP: one operation per request, JSON responses, and rules for shared caches.

The specification: https://graphql.github.io/graphql-over-http/draft/
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson
from graphql import GraphQLError
from starlette.datastructures import URL
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from dal.analytics.service import Analytics
from dal.limits import MAX_RESPONSE
from dal.live.log import Broker
from dal.repositories.photo_uploads import PhotoUploads
from dal.stores import Stores
from resolvers.context import Context
from schema.execution.executable_schema import (
    EventResult,
    ExecutableSchema,
    RefusedSubscriptionError,
    SizedResult,
)
from server.auth.authenticator import Authenticator
from server.auth.claims import InvalidTokenError
from server.auth.issuer import KeysUnavailableError
from server.http import graphiql
from server.http.errors import failure
from server.http.middleware import SMALLEST, entity_tag, matching
from server.http.request import (
    GRAPHQL,
    HTML,
    JSON,
    Document,
    GraphQLRequest,
    PersistedDocuments,
    header,
    preferred,
    read_request,
)
from server.moderation import moderation_of
from server.observability.observation import note_errors
from server.settings import Settings

NOT_KEPT = "private, no-store"

REJECTIONS = (InvalidTokenError, KeysUnavailableError, HTTPException)
"""Exceptions that end a request before an operation is executed."""

_POST_TYPES, _GET_TYPES = OperationType.from_http("POST"), OperationType.from_http("GET")

_CREDENTIALS = frozenset({b"authorization", b"cookie"})

_SHARED_VARY = b"Accept, Authorization, Origin"
"""Responses differ by these headers. Shared caches must not give a stored response to a signed-in
user, or to pages of another origin, because CORS headers differ. GraphQL's responses do not depend
on cookies."""

_FEW_VALUES = 500
"""A result with more values than this is measured before it is encoded, because it may be too
large."""

_TOO_LARGE = GraphQLError(
    f"The operation has run, but its answer of more than {MAX_RESPONSE:,} bytes is not sent: "
    "ask for fewer rows or fields.",
    extensions={"code": "QUERY_TOO_COSTLY"},
)
_TOO_LARGE_BODY = orjson.dumps({"data": None, "errors": [_TOO_LARGE.formatted]})


@dataclass(frozen=True, slots=True)
class GraphQLResponse:
    """A response in JSON. ``failed`` is true if it contains errors."""

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
    """Return the response for a result.

    After a request error nothing was executed, and the response has no ``data``. With GraphQL's own
    media type, its status is 4xx. With plain JSON, the status of a well-formed request is always
    200, because any other status could come from a proxy between client and server.
    https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes
    """
    errors = [error.formatted for error in result.errors or []]
    # An error of a field has a path. A request error has none.
    is_request_error = result.data is None and bool(errors) and "path" not in errors[0]
    body: dict[str, Any] = {} if is_request_error else {"data": result.data}
    if errors:
        body["errors"] = errors
    if result.extensions:
        body["extensions"] = result.extensions
    status = 200
    # The status is 400 and not 422, because all clients and audits expect 400.
    if is_request_error and media_type == GRAPHQL:
        status = 500 if errors[0].get("extensions", {})["code"] == "INTERNAL" else 400
    values = result.values if isinstance(result, SizedResult) else None
    few = values is not None and values <= _FEW_VALUES
    encoded = orjson.dumps(body) if few or not _is_too_large(body) else b""
    if not encoded or len(encoded) > MAX_RESPONSE:
        return GraphQLResponse(_TOO_LARGE_BODY, status, media_type, failed=True)
    return GraphQLResponse(encoded, status, media_type, failed=bool(errors))


def _is_too_large(body: Any) -> bool:
    """Return whether the texts of a result exceed the limit, without encoding the result."""
    values, left = [body], MAX_RESPONSE
    for value in values:  # the loop appends the contents of lists and objects to ``values``
        kind = type(value)
        if kind is str:
            left -= len(value)
            if left < 0:
                return True
        elif kind is dict:
            values += value.values()
        elif kind is list:
            values += value
    return False


@dataclass(frozen=True, slots=True)
class SharedCaching:
    """Lets shared caches keep the responses to public reads of trusted documents for some seconds.

    A cache may serve a response for ``s_maxage`` seconds. After that it may serve it for
    ``stale_while_revalidate`` seconds while it fetches a new one (RFC 5861). If ``s_maxage`` is 0,
    caches keep nothing. They must not keep any other response to a GET, nor responses to requests
    with credentials.
    """

    s_maxage: int
    stale_while_revalidate: int

    def response(
        self, scope: Scope, document: Document, result: ExecutionResult, response: GraphQLResponse
    ) -> GraphQLResponse:
        """Return the response to a GET, with ``Cache-Control``; 304 if the client has it."""
        if not self.s_maxage or response.failed or not _is_shareable(scope, document, result):
            return replace(response, headers=[(b"cache-control", NOT_KEPT.encode())])
        kept = b"public, s-maxage=%d, stale-while-revalidate=%d" % (
            self.s_maxage,
            self.stale_while_revalidate,
        )
        tag = entity_tag(response.media_type.encode() + response.body)
        known = matching(header(scope, b"if-none-match"), tag)
        headers = [(b"cache-control", kept), (b"etag", (known or tag).encode())]
        if known is None:
            return replace(response, vary=_SHARED_VARY, headers=headers)
        # RFC 9110, 15.4.5: a 304 must have the same Vary as the 200. Compression adds a value to
        # it.
        compressed = len(response.body) >= SMALLEST
        vary = _SHARED_VARY + b", Accept-Encoding" if compressed else _SHARED_VARY
        return replace(response, status_code=304, body=b"", vary=vary, headers=headers)


def _is_shareable(scope: Scope, document: Document, result: ExecutionResult) -> bool:
    """Return whether all clients get the same response for this document."""
    if not document.trusted or any(name in _CREDENTIALS for name, _ in scope["headers"]):
        return False
    if not isinstance(result, SizedResult) or result.operation is None:
        return False
    return not result.errors and not result.extensions and result.operation.public


def rejection(error: Exception) -> Response:
    """Return the response to one of ``REJECTIONS``."""
    if isinstance(error, InvalidTokenError):  # RFC 6750, 3.1: the challenge in ``WWW-Authenticate``
        return failure(401, str(error), {"WWW-Authenticate": 'Bearer error="invalid_token"'})
    if isinstance(error, HTTPException):
        return failure(error.status_code, error.detail, error.headers)
    return failure(503, str(error), {"Retry-After": "5"})


class GraphQLView:
    """Executes operations for the user in the Authorization header. Browsers get GraphiQL by GET.

    Only this header identifies the user. The endpoint ignores the pages' cookie, because any site
    can make a browser send a forged request with the cookie.
    """

    def __init__(  # noqa: PLR0913 - what a server is made of
        self,
        schema: ExecutableSchema,
        *,
        stores: Stores,
        documents: PersistedDocuments,
        authenticator: Authenticator,
        caching: SharedCaching,
        settings: Settings,
        broker: Broker,
        analytics: Analytics,
        uploads: PhotoUploads | None = None,
    ) -> None:
        self.schema = schema
        self.uploads = uploads
        self._documents = documents
        self._caching = caching
        self._authenticator = authenticator
        self._explain = settings.plans
        self._site = settings.public_url
        self._context = partial(
            Context,
            stores=stores,
            explain=settings.plans,
            known_products_only=settings.known_products_only,
            buyers_only=settings.buyers_only,
            allow_empty_text=settings.allow_empty_text,
            moderation=moderation_of(settings),
            broker=broker if settings.live else None,
            analytics=analytics,
            uploads=uploads,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
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
        """Return the response in the media type that the client prefers by its Accept header."""
        post = scope["method"] == "POST"
        offered = (GRAPHQL, JSON) if post else (HTML, GRAPHQL, JSON)
        media_type = preferred(header(scope, b"accept"), offered)
        if media_type is None:
            raise HTTPException(406, f"The answer is {GRAPHQL} or {JSON}: accept one of them.")
        if media_type == HTML:
            address = str(URL(scope=scope).replace(query=""))
            return graphiql.page(address, explain=self._explain)
        context = await self.context(header(scope, b"authorization"))
        request = await read_request(scope, receive)
        try:
            document = await self._documents.find(request)
        except GraphQLError as error:
            note_errors([error])
            document, result = Document(""), ExecutionResult(None, [error])
        else:
            result = await self._execute(document, request, context, post=post)
        response = graphql_response(result, media_type)
        return response if post else self._caching.response(scope, document, result, response)

    async def _execute(
        self, document: Document, request: GraphQLRequest, context: Context, *, post: bool
    ) -> ExecutionResult:
        """Execute an operation, and return its result.

        A GET may execute queries only, because any site can make a browser send a GET.
        """
        try:
            return await self.schema.execute(
                document.text,
                request.variables,
                context_value=context,
                operation_name=request.operation_name,
                allowed_operation_types=_POST_TYPES if post else _GET_TYPES,
                operation_extensions=request.extensions,
            )
        except InvalidOperationTypeError as error:
            message = "A GET request only reads: send a mutation as JSON in a POST request."
            raise HTTPException(405, message, {"Allow": "POST"}) from error

    async def context(self, authorization: str | None, site: str | None = None) -> Context:
        """Return the context for resolvers. Raise InvalidTokenError if the JWT is refused.

        ``site`` is the address of the pages if ``--public-url`` is not set.
        """
        viewer = None
        if authorization is not None:
            viewer = await self._authenticator.viewer(authorization)
        return self._context(viewer, site=site or self._site)

    async def subscribe(
        self, request: GraphQLRequest, context: Context, *, seconds: float
    ) -> AsyncGenerator[EventResult, None]:
        """Yield the results of a subscription's events.

        Each result must be complete within ``seconds``. Raises RefusedSubscriptionError if the
        subscription cannot begin.
        """
        if context.broker is None:
            message = "This server offers no subscriptions: read the list again instead."
            refused = GraphQLError(message, extensions={"code": "NOT_AVAILABLE"})
            raise RefusedSubscriptionError([refused])
        try:
            document = await self._documents.find(request)
        except GraphQLError as error:
            note_errors([error])
            raise RefusedSubscriptionError([error]) from None
        made_by = partial(self._context, context.viewer, last_event_id=context.last_event_id)
        return await self.schema.listen(
            document.text,
            request.variables,
            request.operation_name,
            # a new context for each event, because an event must not read cached rows
            context=made_by,
            seconds=seconds,
        )
