"""The HTTP application: the pages, GraphQL, GraphiQL and a health check."""

import asyncio
import re
from collections.abc import Sequence

from asgi_correlation_id import CorrelationIdMiddleware
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from dal.errors import DalError
from dal.repositories.comments import CommentRepository
from dal.stores import Stores
from dal.table.client import Table
from schema.build import build_schema
from server.auth.jwt import Authenticator
from server.http import graphiql
from server.http.cors import CrossOriginMiddleware
from server.http.deadline import DeadlineMiddleware
from server.http.failures import FailureMiddleware, failure
from server.http.graphql import GraphQLView
from server.pages.routes import page_routes, refusal
from server.settings import DEADLINE

HEALTH_DEADLINE = 2.0
"""Seconds; a probe that waits for longer gives up anyway."""


def create_app(
    *,
    table: Table,
    authenticator: Authenticator,
    explain: bool,
    cors_origins: Sequence[str] = (),
    cors_local: bool = False,
    introspection: bool = True,
    deadline: float = DEADLINE,
) -> Starlette:
    """Return the application over an open table; with ``explain``, pages show their plan.

    A request may take ``deadline`` seconds. Browsers may call the API from pages of
    ``cors_origins``, and of this machine with ``cors_local``.
    """
    stores = Stores(table)
    view = GraphQLView(
        build_schema(introspection=introspection),
        stores=stores,
        authenticator=authenticator,
        explain=explain,
    )

    async def health(request: Request) -> Response:
        del request
        return await _health(stores.comments)

    return Starlette(
        routes=[
            Route("/graphql", view, methods=["GET", "POST"]),
            Route("/health", health),
            Mount("/static/graphiql", graphiql.GraphiQLFiles()),
            *page_routes(view),
        ],
        middleware=[
            Middleware(CorrelationIdMiddleware, validator=_is_request_id),
            Middleware(CrossOriginMiddleware, origins=cors_origins, local=cors_local),
            Middleware(FailureMiddleware),
            Middleware(DeadlineMiddleware, seconds=deadline),
        ],
        exception_handlers={HTTPException: refusal(view)},
    )


def _is_request_id(given: str) -> bool:
    """Return whether a proxy's or client's id can stand in logs as it is."""
    return re.fullmatch(r"[\w.:=-]{1,128}", given, re.ASCII) is not None


async def _health(comments: CommentRepository) -> Response:
    """Answer 200 when the store answers a read of one key in time, else 503 with a sentence."""
    try:
        async with asyncio.timeout(HEALTH_DEADLINE):
            await comments.get("health")
    except TimeoutError:
        return failure(503, f"The store did not answer within {HEALTH_DEADLINE:.0f} seconds.")
    except DalError as error:
        return failure(503, str(error))
    return JSONResponse({"status": "ok"})
