"""Builds the HTTP application: HTML pages, GraphQL, GraphiQL and health checks."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from features.live import websocket
from features.live.routes import wants_events, with_subscriptions
from features.moderation.publication import ModeratedPublication
from features.trusted_documents.persisted import PersistedDocuments
from pages.paths import PATHS
from server.auth.authenticator import DEMO_USER
from server.health import health_routes
from server.http.admission import Admission, RateLimitMiddleware
from server.http.connections import (
    STATE,
    Connection,
    Connections,
    RequestHeaders,
    max_connections,
    raise_descriptor_limit,
)
from server.http.errors import http_failure
from server.http.graphql import Documents, GraphQLView
from server.http.middleware import (
    AllowedHosts,
    CompressionMiddleware,
    CrossOriginMiddleware,
    DeadlineMiddleware,
    HostMiddleware,
    RequestIdMiddleware,
)
from server.http.schema_file import schema_route
from server.http.shared_caching import SharedCaching
from server.observability.signals import ObservedApp
from server.services import Services, printed_schema
from server.settings import NO_RATE_LIMIT, Settings

PROTOCOLS: Mapping[str, Any] = {"http": Connection, "ws": "none", **websocket.PROTOCOLS}
"""uvicorn's options for connections. Later options replace earlier ones."""

_GRAPHQL = "/graphql"

logger = logging.getLogger(__name__)


def create_app(settings: Settings, services: Services, *, api_only: bool = False) -> ASGIApp:
    """Return the HTTP application.

    The caller opens and closes the services. With ``api_only``, the application has neither pages
    and GraphiQL nor subscriptions.
    """
    caching = SharedCaching(settings.s_maxage, settings.stale_while_revalidate).response
    documents = Documents(_built_in, caching)  # the next statement can be deleted with its feature
    documents = PersistedDocuments(
        settings, services.documents, services.stores.documents, _built_in, caching
    )
    view = GraphQLView(
        services.schema,
        settings=settings,
        stores=services.stores,
        authenticator=services.authenticator,
        services=services.for_requests(settings),
        publication=ModeratedPublication(services.moderation),
        documents=documents,
        graphiql=not api_only,
    )

    routes = [
        Route(_GRAPHQL, view, methods=["GET", "POST"]),
        *health_routes(services.table, services.directory),
    ]
    serves_schema = settings.introspection or settings.serve_schema
    # With --documents-only, clients cannot query the schema either.
    if settings.documents_only:
        serves_schema = settings.serve_schema
    if serves_schema:
        routes.append(schema_route(partial(printed_schema, settings)))
    others = Starlette(
        routes=routes,
        exception_handlers={HTTPException: http_failure},
    )
    # Do not let Starlette redirect /graphql/ to /graphql. The redirect would go to the host in the
    # Host header, which may be another site.
    others.router.redirect_slashes = False
    # The pages are the router's default application, which gets only the paths without a route. A
    # Mount would also get a request with a wrong method, such as PUT /graphql, and the client would
    # get status 404 instead of 405.
    if not api_only:
        others.router.default = _pages(view, settings, services)
    app: ASGIApp = view  # the next statement can be deleted with its feature
    if not api_only:
        app = with_subscriptions(view, settings)
    app = CompressionMiddleware(_Shortcut(app, others))
    if settings.rate_limit != NO_RATE_LIMIT:
        app = RateLimitMiddleware(app, settings.rate_limit, settings.trusted_proxies)
    app = DeadlineMiddleware(app, seconds=settings.deadline)
    app = HostMiddleware(app, AllowedHosts(settings))
    app = CrossOriginMiddleware(app, origins=settings.cors_origins, local=settings.demo)
    app = RequestIdMiddleware(app)
    if services.signals.on:
        app = ObservedApp(app, services.signals, PATHS, endless=wants_events)
    return app


class Served:
    """The application with limits for its connections and running requests.

    ``live`` puts the limits of connections into ASGI's lifespan state, because uvicorn passes this
    state to each new connection.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.admission = Admission(app, settings.max_concurrency, settings.trusted_proxies)
        # The operating system allows this number of connections. The setting can only lower it.
        most = max_connections(raise_descriptor_limit())
        if settings.max_connections is not None:
            most = min(most, math.ceil(settings.max_connections / settings.workers))
        self._connections = Connections(
            self.admission,
            most,
            request_timeout=settings.request_timeout,
            busy_page=_busy_page,
        )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve a request, or handle ASGI's lifespan messages."""
        return (self._lifespan if scope["type"] == "lifespan" else self.admission)(
            scope, receive, send
        )

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.live(scope, receive, send)
        await send({"type": "lifespan.shutdown.complete"})

    async def live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Report to uvicorn that the application is ready. Then wait until the server stops."""
        scope["state"][STATE] = self._connections
        await receive()
        await send({"type": "lifespan.startup.complete"})
        # After a second Ctrl-C, uvicorn sends no shutdown message, and cancels this task. If this
        # method raised CancelledError, uvicorn would log it with a traceback.
        with suppress(asyncio.CancelledError):
            await receive()


def _pages(view: GraphQLView, settings: Settings, services: Services) -> ASGIApp:
    """Return an application that imports the pages and Jinja when the first page is requested.

    The import takes a tenth of the time of a server's start. Many storefronts need no pages,
    because they use only GraphQL.
    """

    @cache
    def app() -> ASGIApp:
        from pages.routes import pages_app  # noqa: PLC0415 - see the docstring
        from pages.sign_in import DemoAccount, SignIn  # noqa: PLC0415 - see the docstring

        authenticator = services.authenticator
        demo = DemoAccount(DEMO_USER, authenticator, services.code) if settings.demo else None
        provider = None
        if settings.sign_in_client_id is not None and authenticator.issuer is not None:
            provider = SignIn(
                authenticator,
                authenticator.issuer,
                settings.sign_in_client_id,
                settings.sign_in_client_secret or "",
            )
        return pages_app(view, settings, services.may_have_trends, demo, provider, services.loading)

    async def pages(scope: Scope, receive: Receive, send: Send) -> None:
        await app()(scope, receive, send)

    return pages


def _built_in() -> Mapping[str, str]:
    """Return the built-in documents by the SHA-256 of their text."""
    from pages.page_documents import BUILT_IN  # noqa: PLC0415 - as in _pages

    return BUILT_IN


def _busy_page(headers: RequestHeaders) -> Response | None:
    """Return the page that a busy server shows to a browser, or None for other clients."""
    if all(name != b"accept" or b"text/html" not in value for name, value in headers):
        return None
    from pages.busy import busy_page  # noqa: PLC0415 - as in _pages

    return busy_page(headers)


class _Shortcut:
    """Passes GraphQL requests directly to their view, because the router is slower."""

    def __init__(self, view: ASGIApp, others: ASGIApp) -> None:
        self._view = view
        self._others = others

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # In ASGI, the GET that opens a WebSocket has no method.
        direct = scope.get("method", "GET") in {"GET", "POST"}
        if direct and scope["path"] == scope.get("root_path", "") + _GRAPHQL:
            return self._view(scope, receive, send)
        return self._others(scope, receive, send)
