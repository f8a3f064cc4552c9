"""The HTTP application: the pages, GraphQL, GraphiQL and health checks."""

import re

from asgi_correlation_id import CorrelationIdMiddleware
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount, Route

from dal.stores import Stores
from dal.table.client import Table
from schema.build import build_schema
from server.auth.jwt import Authenticator
from server.engine.data_directory import DataDirectory
from server.health import health_routes
from server.http import graphiql
from server.http.cors import CrossOriginMiddleware
from server.http.deadline import DeadlineMiddleware
from server.http.failures import FailureMiddleware
from server.http.graphql import GraphQLView
from server.http.rate_limit import rate_limited
from server.pages.routes import page_routes, refusal
from server.settings import Settings


def create_app(
    settings: Settings,
    *,
    table: Table,
    authenticator: Authenticator,
    directory: DataDirectory | None = None,
) -> Starlette:
    """Return the application over an open table.

    ``directory`` has the embedded engine's file, which then counts among what makes it ready.
    """
    view = GraphQLView(
        build_schema(introspection=settings.introspection),
        stores=Stores(table),
        authenticator=authenticator,
        explain=settings.explain,
    )

    return Starlette(
        routes=[
            Route("/graphql", view, methods=["GET", "POST"]),
            *health_routes(table, directory),
            Mount("/static/graphiql", graphiql.GraphiQLFiles()),
            *page_routes(view),
        ],
        middleware=[
            Middleware(CorrelationIdMiddleware, validator=_is_request_id),
            Middleware(CrossOriginMiddleware, origins=settings.cors_origins, local=settings.demo),
            Middleware(FailureMiddleware),
            *rate_limited(settings),
            Middleware(DeadlineMiddleware, seconds=settings.deadline),
        ],
        exception_handlers={HTTPException: refusal(view)},
    )


def _is_request_id(given: str) -> bool:
    """Return whether a proxy's or client's id can stand in logs as it is."""
    return re.fullmatch(r"[\w.:=-]{1,128}", given, re.ASCII) is not None
