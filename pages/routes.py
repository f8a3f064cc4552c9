"""The pages' application: the routes and their handlers."""

from collections.abc import Callable
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from dal.dynamodb.concurrency import SharedReads
from pages import (
    comment,
    crawlers,
    home,
    moderation,
    orders,
    playground,
    product,
    rendering,
    review,
    signing,
    static_files,
    tickets,
    uploads,
    votes,
    widget,
)
from pages.addresses import origin_text
from pages.page_request import Endpoint, endpoint
from pages.sign_in import DemoAccount, SignIn
from server.http import graphiql
from server.http.errors import http_failure
from server.http.graphql import GraphQLView
from server.http.request import prefers_html
from server.settings import Settings

_ROUTES = (
    # First, because most requests are for products. Ids may contain slashes, so a path ends with
    # its id. Forms therefore post to the page's own path, and not to a path below it.
    ("GET", "/products/{product_id:path}", product.show),
    ("GET", "/", home.show),
    ("GET", "/products", home.search),
    ("POST", "/products/{product_id:path}", product.add),
    ("GET", "/comments/{comment_id:path}", comment.show),
    ("POST", "/comments/{comment_id:path}", comment.change),
    ("GET", "/authors/{username:path}", comment.show_author),
    ("POST", "/votes", votes.vote),
    ("GET", "/moderation", moderation.show),
    ("POST", "/moderation", moderation.decide),
    ("GET", "/orders", orders.show),
    ("GET", "/tickets", tickets.show),
    ("GET", "/tickets/{ticket_id:path}", tickets.show_ticket),
    ("GET", "/playground", playground.show),
    ("GET", review.PATH, review.show),
    ("POST", review.PATH, review.write),
    ("GET", "/sign-in", signing.show),
    ("POST", "/sign-in", signing.sign_in),
    ("GET", "/sign-in/provider", signing.go_to_provider),
    ("GET", "/sign-in/callback", signing.return_from_provider),
    ("POST", "/sign-out", signing.sign_out),
    ("POST", "/photo-uploads", uploads.create),
    ("GET", "/widget", widget.show_preview),
    ("GET", "/widget/{product_id:path}", widget.show_framed),
    ("GET", "/robots.txt", crawlers.robots),
    ("GET", "/sitemap.xml", crawlers.sitemap),
)


def pages_app(
    view: GraphQLView,
    settings: Settings,
    may_have_trends: Callable[[], bool],
    demo: DemoAccount | None = None,
    provider: SignIn | None = None,
    loading: Callable[[], tuple[int, int] | None] | None = None,
) -> Starlette:
    """Return the pages' application. It runs GraphQL documents on the schema of ``view``.

    If a path is unknown or does not support a method, browsers get a page, and other clients get
    JSON. Other errors of Starlette are always JSON. ``demo`` is the account for sign-in by one
    click. ``provider`` is the issuer at which visitors sign in. ``loading`` returns the numbers of
    loaded and of all demo comments; None if no load is running. If ``may_have_trends`` returns
    False, a product's page does not ask for its trend.
    """
    shown: dict[tuple[int, bool], Endpoint] = {
        (status, by_link): endpoint(view, page, demo, by_link=by_link)
        for status, page in (
            (HTTPStatus.NOT_FOUND, home.nothing_here),
            (HTTPStatus.METHOD_NOT_ALLOWED, home.wrong_method),
        )
        for by_link in (False, True)
    }

    async def refusal(request: Request, error: Exception) -> Response:
        answer = await http_failure(request, error)
        # A mail program may break a link, for example by a slash before its query.
        by_link = request.scope["path"].startswith(request.scope["root_path"] + review.PATH)
        page = shown.get((answer.status_code, by_link))
        if page is None or not prefers_html(request.headers.get("accept")):
            return answer
        html = await page(request)
        if "Allow" in answer.headers:
            html.headers["Allow"] = answer.headers["Allow"]
        return html

    app = Starlette(
        routes=[
            Route("/products/", endpoint(view, home.nothing_here, demo)),
            *(
                Route(
                    path,
                    endpoint(view, page, demo, by_link=path == review.PATH),
                    methods=[method],
                )
                for method, path, page in _ROUTES
            ),
            *(Route(path, static_files.icon) for path in static_files.ICONS),
            Route("/playground/drawing", playground.draw, methods=["POST"]),
            Route("/widget.js", widget.show),
            Route("/static/pages/{file:path}", static_files.show),
            Mount("/static/graphiql", graphiql.GraphiQLFiles()),
        ],
        exception_handlers={HTTPException: refusal},
    )
    # By default, Starlette redirects a path with a slash too many or too few. The redirect would go
    # to the host in the Host header, which may be another site.
    app.router.redirect_slashes = False
    app.state.settings = settings
    app.state.view = view
    uploads = view.uploads
    shown_from = [] if uploads is None else [origin_text(uploads.url)]
    sent_to = None if uploads is None else origin_text(uploads.form_url)
    app.state.picture_origins = (*settings.picture_origins, *shown_from)
    app.state.headers = rendering.headers(app.state.picture_origins, sent_to)
    app.state.explain = view.schema.explain
    app.state.provider = provider
    app.state.shared_pages = SharedReads[Response]()
    app.state.loading = loading or (lambda: None)
    app.state.may_have_trends = may_have_trends
    return app
