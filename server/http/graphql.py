"""GraphQL over HTTP: one operation a request, JSON out; GraphiQL for browsers."""

from collections.abc import AsyncGenerator

from graphql import GraphQLError
from starlette.datastructures import URL
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from dal.analytics.service import Analytics
from dal.live.broker import Broker
from dal.stores import Stores
from resolvers.request.context import Context
from schema.build import ExecutableSchema
from schema.execution.subscribing import Answer, RefusedSubscriptionError
from server.auth.authenticator import Authenticator, InvalidTokenError, KeysUnavailableError
from server.http import graphiql
from server.http.failures import failure
from server.http.graphql_request import Operation, header, read_operation
from server.http.graphql_response import GraphQLResponse, graphql_response
from server.http.media_types import GRAPHQL, HTML, JSON, preferred
from server.http.persisted import Asked, PersistedDocuments
from server.http.shared_caching import NOT_KEPT, SharedCaching
from server.observability.observation import note_errors
from server.settings import Settings

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
        return Context(
            viewer=await self._authenticator.viewer(authorization),
            stores=self._stores,
            explain=self._settings.explain,
            known_products_only=self._settings.known_products_only,
            broker=self._broker,
            analytics=self._analytics,
        )

    async def listen(
        self, operation: Operation, context: Context, *, seconds: float
    ) -> AsyncGenerator[Answer, None]:
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
