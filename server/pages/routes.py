"""Which handler answers which page."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from server.http.failures import http_failure
from server.http.files import ROOT, RevalidatedFiles
from server.http.graphql import GraphQLView
from server.pages import comment, crawlers, home, product, signing
from server.pages.faults import PageFault
from server.pages.page_request import Handler, PageRequest, endpoint

_ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/", home.show),
    ("GET", "/products", home.find),
    # An id may hold slashes, so nothing can follow it: what a page does is a POST to itself.
    ("GET", "/products/{product_id:path}", product.show),
    ("POST", "/products/{product_id:path}", product.add),
    ("GET", "/comments/{comment_id:path}", comment.show),
    ("POST", "/comments/{comment_id:path}", comment.change),
    ("GET", "/sign-in", signing.show),
    ("POST", "/sign-in", signing.sign_in),
    ("POST", "/sign-out", signing.sign_out),
    ("GET", "/robots.txt", crawlers.robots),
    ("GET", "/sitemap.xml", crawlers.sitemap),
)


def page_routes(view: GraphQLView) -> list[BaseRoute]:
    """Return the routes of the pages, which run their documents as ``view`` runs a client's."""
    pages = [
        Route(path, endpoint(view, handler), methods=[method]) for method, path, handler in _ROUTES
    ]
    return [*pages, Mount("/static/pages", RevalidatedFiles(directory=ROOT / "web/static"))]


def refusal(view: GraphQLView) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what answers for Starlette's own refusals: a page to browsers, JSON to the rest."""
    page = endpoint(view, _nothing_here)

    async def answer(request: Request, error: Exception) -> Response:
        missing = isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND
        if missing and "text/html" in request.headers.get("accept", ""):
            return await page(request)
        return await http_failure(request, error)

    return answer


async def _nothing_here(request: PageRequest) -> Response:
    raise PageFault(404, f"There is nothing at {request.http.url.path[:200]}.")
