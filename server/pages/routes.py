"""Which handler answers which page."""

from starlette.routing import BaseRoute, Mount, Route

from server.files import ROOT, RevalidatedFiles
from server.graphql import GraphQLView
from server.pages import comment, crawlers, home, product, signing
from server.pages.visits import Handler, endpoint

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
