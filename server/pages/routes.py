"""Which handler answers which page.

Jinja and the pages are imported when somebody asks for a page: they would be a tenth of every
start, and storefronts ask for GraphQL alone.
"""

from collections.abc import Awaitable, Callable
from functools import cache
from http import HTTPStatus
from importlib import import_module

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from server.http.failures import http_failure
from server.http.files import ROOT, RevalidatedFiles
from server.http.graphql import GraphQLView

_ROUTES = (
    ("GET", "/", "home.show"),
    ("GET", "/products", "home.find"),
    # An id may hold slashes, so nothing can follow it: what a page does is a POST to itself.
    ("GET", "/products/{product_id:path}", "product.show"),
    ("POST", "/products/{product_id:path}", "product.add"),
    ("GET", "/comments/{comment_id:path}", "comment.show"),
    ("POST", "/comments/{comment_id:path}", "comment.change"),
    ("GET", "/sign-in", "signing.show"),
    ("POST", "/sign-in", "signing.sign_in"),
    ("POST", "/sign-out", "signing.sign_out"),
    ("GET", "/robots.txt", "crawlers.robots"),
    ("GET", "/sitemap.xml", "crawlers.sitemap"),
)
"""Methods and paths, and the modules of this package with their handlers."""


def page_routes(view: GraphQLView) -> list[BaseRoute]:
    """Return the routes of the pages, which run their documents as ``view`` runs a client's."""
    pages = [
        Route(path, _endpoint(view, handler), methods=[method]) for method, path, handler in _ROUTES
    ]
    return [*pages, Mount("/static/pages", RevalidatedFiles(directory=ROOT / "web/static"))]


def refusal(view: GraphQLView) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what answers for Starlette's own refusals: a page to browsers, JSON to the rest."""
    page = _endpoint(view, "home.nothing_here")

    async def answer(request: Request, error: Exception) -> Response:
        missing = isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND
        if missing and "text/html" in request.headers.get("accept", ""):
            return await page(request)
        return await http_failure(request, error)

    return answer


def _endpoint(view: GraphQLView, place: str) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a route by the handler at ``place``."""

    @cache
    def found() -> Callable[[Request], Awaitable[Response]]:
        from server.pages.page_request import endpoint  # noqa: PLC0415 - see the docstring

        module, _, name = place.partition(".")
        return endpoint(view, getattr(import_module(f"server.pages.{module}"), name))

    async def answer(request: Request) -> Response:
        return await found()(request)

    return answer
