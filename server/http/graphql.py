"""GraphQL over HTTP: one operation per request, JSON responses, and what shared caches may keep.

The specification: https://graphql.github.io/graphql-over-http/draft/
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
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
from dal.stores import Stores
from resolvers.context import Context
from schema.execution.executable_schema import (
    EventResult,
    ExecutableSchema,
    RefusedSubscriptionError,
    SizedResult,
)
from server.auth.authenticator import Authenticator, InvalidTokenError, KeysUnavailableError
from server.http import graphiql
from server.http.errors import failure
from server.http.middleware import SMALLEST, entity_tag, matching
from server.http.request import (
    GRAPHQL,
    HTML,
    JSON,
    Asked,
    Operation,
    PersistedDocuments,
    header,
    preferred,
    read_operation,
)
from server.observability.observation import note_errors
from server.settings import Settings

_FEW = 500
"""Values that are never too many to make JSON of them, however long they are."""

_TOO_LARGE = GraphQLError(
    f"The operation has run, but its answer of more than {MAX_RESPONSE:,} bytes is not sent: "
    "ask for fewer rows or fields.",
    extensions={"code": "QUERY_TOO_COSTLY"},
)
_TOO_LARGE_ANSWER = orjson.dumps({"data": None, "errors": [_TOO_LARGE.formatted]})


@dataclass(frozen=True, slots=True)
class GraphQLResponse:
    """An answer in JSON, and whether it ``failed``: whether it tells an error."""

    body: bytes
    status_code: int
    media_type: str
    failed: bool = False
    vary: bytes = b"Accept"
    headers: Sequence[tuple[bytes, bytes]] = ()
    """Those beside the usual ones."""

    async def send_by(self, send: Send) -> None:
        """Send the answer as ASGI has it."""
        headers = [(b"vary", self.vary), *self.headers]
        if self.body:
            headers.append((b"content-length", b"%d" % len(self.body)))
            headers.append((b"content-type", self.media_type.encode("latin-1")))
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def graphql_response(result: ExecutionResult, media_type: str) -> GraphQLResponse:
    """Return the answer of a result.

    A request error, after which nothing has run, has no ``data``. It is a 4xx in GraphQL's own
    media type. In plain JSON every answer to a request that could be read is a 200, because a
    client cannot tell there whether GraphQL or something on the way has answered.
    """
    body: dict[str, Any] = {} if _is_request_error(result) else {"data": result.data}
    if result.errors:
        body["errors"] = [error.formatted for error in result.errors]
    if result.extensions:
        body["extensions"] = result.extensions
    status = 200 if "data" in body or media_type != GRAPHQL else _status(body["errors"][0])
    encoded = _encoded(body, few=_is_small(result))
    failed = encoded is None or "errors" in body
    return GraphQLResponse(encoded or _TOO_LARGE_ANSWER, status, media_type, failed)


def _is_request_error(result: ExecutionResult) -> bool:
    """Return whether nothing has run: what fails in a field names its path."""
    errors = result.errors or []
    return result.data is None and bool(errors) and errors[0].path is None


def _status(error: Any) -> int:
    """Return the status of a request error; all clients and audits expect 400, and no 422."""
    return 500 if error["extensions"]["code"] == "INTERNAL" else 400


def _is_small(result: ExecutionResult) -> bool:
    """Return whether few values were expected."""
    return isinstance(result, SizedResult) and result.values is not None and result.values <= _FEW


def _encoded(body: dict[str, Any], *, few: bool) -> bytes | None:
    """Return an answer in JSON, None where it is too large."""
    if few or not _surely_larger(body, MAX_RESPONSE):
        encoded = orjson.dumps(body)
        if len(encoded) <= MAX_RESPONSE:
            return encoded
    return None


def _surely_larger(body: Any, most: int) -> bool:
    """Return whether the characters alone are more than ``most``: then no JSON is made of them."""
    values, left = [body], most
    for value in values:  # it grows by what is in a list or an object
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


NOT_KEPT = "private, no-store"

_CREDENTIALS = frozenset({b"authorization", b"cookie"})

_VARY = b"Accept, Authorization, Origin"
"""Who is signed in, and pages of another origin, are never answered with what others were: CORS's
headers differ. A cookie changes nothing that GraphQL says."""


@dataclass(frozen=True, slots=True)
class SharedCaching:
    """For how many seconds caches may keep an answer, and then show it while they ask again.

    With an ``s_maxage`` of 0 they keep none.
    """

    s_maxage: int
    stale_while_revalidate: int

    def told(
        self, scope: Scope, asked: Asked, result: ExecutionResult, response: GraphQLResponse
    ) -> GraphQLResponse:
        """Return the answer to a GET with what caches may do, or 304 to whoever has it."""
        if not self.s_maxage or response.failed or not _is_shareable(scope, asked, result):
            return replace(response, headers=[(b"cache-control", NOT_KEPT.encode())])
        tag = entity_tag(response.media_type.encode() + response.body)
        known = matching(header(scope, b"if-none-match"), tag)
        headers = [(b"cache-control", self._kept), (b"etag", (known or tag).encode())]
        if known is None:
            return replace(response, vary=_VARY, headers=headers)
        # The whole answer varies by its coding too, where it is large enough to have one.
        vary = _VARY + b", Accept-Encoding" if len(response.body) >= SMALLEST else _VARY
        return replace(response, status_code=304, body=b"", vary=vary, headers=headers)

    @property
    def _kept(self) -> bytes:
        return b"public, s-maxage=%d, stale-while-revalidate=%d" % (
            self.s_maxage,
            self.stale_while_revalidate,
        )


def _is_shareable(scope: Scope, asked: Asked, result: ExecutionResult) -> bool:
    """Return whether an answer is the same for everybody who asks for this document."""
    if not asked.trusted or any(name in _CREDENTIALS for name, _ in scope["headers"]):
        return False
    if not isinstance(result, SizedResult) or result.operation is None:
        return False
    return not result.errors and not result.extensions and result.operation.public


_ANY, _READING = OperationType.from_http("POST"), OperationType.from_http("GET")


_NOT_LIVE = "This server answers no subscriptions: read the list again instead."
_BAD_REQUEST = {"code": "BAD_REQUEST"}

REFUSALS = (InvalidTokenError, KeysUnavailableError, HTTPException)
"""What is raised of a request before GraphQL sees it."""


def refused(error: Exception) -> Response:
    """Return the answer for one of ``REFUSALS``."""
    if isinstance(error, InvalidTokenError):
        return failure(401, str(error), {"WWW-Authenticate": 'Bearer error="invalid_token"'})
    if isinstance(error, HTTPException):
        return failure(error.status_code, error.detail, error.headers)
    return failure(503, str(error), {"Retry-After": "5"})


class GraphQLView:
    """Runs operations for whoever the Authorization header names; browsers get GraphiQL by GET."""

    def __init__(
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
    ) -> None:
        self.schema = schema
        self._analytics = analytics
        self._broker = broker
        self._stores = stores
        self._documents = documents
        self._caching = caching
        self._authenticator = authenticator
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request; what is refused before GraphQL sees it is a 4xx in JSON."""
        try:
            response: Response | GraphQLResponse = await self._answer(scope, receive)
        except REFUSALS as error:
            response = refused(error)
        if isinstance(response, GraphQLResponse):
            await response.send_by(send)
        else:
            response.headers["Vary"] = "Accept"
            response.headers.setdefault("Cache-Control", NOT_KEPT)
            await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response | GraphQLResponse:
        """Return the answer in the media type that is asked for.

        Only the header says who asks, never the pages' cookie: what a browser sends by itself
        could be made to act by any site, and so this endpoint needs no defence against that.
        """
        pages = () if scope["method"] == "POST" else (HTML,)
        media_type = preferred(header(scope, b"accept"), (*pages, GRAPHQL, JSON))
        if media_type is None:
            raise HTTPException(406, f"The answer is {GRAPHQL} or {JSON}: accept one of them.")
        if media_type == HTML:
            return graphiql.page(str(URL(scope=scope).replace(query="")))
        context = await self.context(header(scope, b"authorization"))
        operation = await read_operation(scope, receive)
        asked, result = await self._result(scope, operation, context)
        response = graphql_response(result, media_type)
        if scope["method"] == "POST":
            return response
        return self._caching.told(scope, asked, result, response)

    async def _result(
        self, scope: Scope, operation: Operation, context: Context
    ) -> tuple[Asked, ExecutionResult]:
        """Return the document that is asked for and its result; without one, why."""
        try:
            asked = await self._documents.asked_by(operation)
        except GraphQLError as error:
            note_errors([error])
            return Asked(""), ExecutionResult(None, [error])
        return asked, await self._run(scope, asked, operation, context)

    async def context(self, authorization: str | None) -> Context:
        """Return what resolvers see of who this is; InvalidTokenError for a JWT that fails."""
        if authorization is None:
            viewer = None
        else:
            viewer = await self._authenticator.viewer(authorization)
        return Context(
            viewer=viewer,
            stores=self._stores,
            explain=self._settings.explain,
            known_products_only=self._settings.known_products_only,
            broker=self._broker,
            analytics=self._analytics,
        )

    async def listen(
        self, operation: Operation, context: Context, *, seconds: float
    ) -> AsyncGenerator[EventResult, None]:
        """Return the answers to come of a subscription, each made within some ``seconds``.

        RefusedSubscriptionError says why there will be none.
        """
        if not self._settings.live:
            raise RefusedSubscriptionError([GraphQLError(_NOT_LIVE, extensions=_BAD_REQUEST)])
        try:
            asked = await self._documents.asked_by(operation)
        except GraphQLError as error:
            note_errors([error])
            raise RefusedSubscriptionError([error]) from None
        return await self.schema.listen(
            asked.text,
            operation.variables,
            operation.name,
            context=lambda: self._fresh(context),
            seconds=seconds,
        )

    @staticmethod
    def _fresh(context: Context) -> Context:
        """Return a context for the same viewer that has read nothing yet."""
        return Context(
            viewer=context.viewer,
            stores=context.stores,
            explain=context.explain,
            known_products_only=context.known_products_only,
            broker=context.broker,
            analytics=context.analytics,
            last_event_id=context.last_event_id,
        )

    async def _run(
        self, scope: Scope, asked: Asked, operation: Operation, context: Context
    ) -> ExecutionResult:
        """Return the result of an operation; a GET, which any site can cause, only reads."""
        try:
            return await self.schema.execute(
                asked.text,
                operation.variables,
                context_value=context,
                operation_name=operation.name,
                allowed_operation_types=_ANY if scope["method"] == "POST" else _READING,
                operation_extensions=operation.extensions,
            )
        except InvalidOperationTypeError as error:
            sentence = "A GET request only reads: send a mutation as JSON in a POST request."
            raise HTTPException(405, sentence, {"Allow": "POST"}) from error
