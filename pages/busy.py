"""The page that an overloaded server shows to browsers.

An overloaded server must spend almost no time on a request that it refuses. So this page depends
only on the language, and loads no files.
"""

from functools import cache

from starlette.responses import HTMLResponse, Response

from pages import i18n, rendering
from server.http.connections import RequestHeaders


def busy_page(headers: RequestHeaders) -> Response:
    """Return the page in the language of the request's Accept-Language header."""
    accepted = dict(headers).get(b"accept-language", b"").decode("latin-1")
    return _page(i18n.negotiated(None, None, accepted))


@cache
def _page(tag: str) -> Response:
    with i18n.speaking(tag):
        html = rendering.render("busy.html", {})
    return HTMLResponse(html, 503, {**rendering.HEADERS, "Retry-After": "5"})
