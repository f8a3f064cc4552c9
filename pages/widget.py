"""``/widget.js``: a script that shows comments on a shop's own pages.

The script contains its GraphQL document, and its labels in all languages. ``/widget/{id}`` is a
page with the same comments. Shops put this page into an ``iframe``, for browsers without scripts.
"""

import re
from functools import cache

import orjson
from starlette.requests import Request
from starlette.responses import Response

from pages import i18n
from pages.addresses import Filters, product_path
from pages.i18n import LOCALES, TEMPLATES, gettext, plural_forms
from pages.page_documents import DOCUMENTS
from pages.page_request import PageRequest
from pages.static_files import StaticFile
from server.http.graphiql import content_security_policy

_SIZE = 5

_PLACE = b'"WIDGET"'

_MARGINS = re.compile(r"#.*|\s+")

_HOUR = "public, max-age=3600"
"""The address of the script has no version. With this cache time, visitors get the script of a new
release within an hour."""


async def show(request: Request) -> Response:
    """Return the script, which any site may load."""
    response = _script().response(request, _HOUR)
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


async def show_framed(request: PageRequest) -> Response:
    """Return the widget's page. Sites in the setting ``cors_origins`` may show it in a frame.

    In a demo, pages at ``localhost`` and ``127.0.0.1`` may show it, too.
    """
    product_id = request.http.path_params["product_id"]
    filters = Filters.of(request.http.query_params)
    shown = {name: filters.variables()[name] for name in ("rating", "language")}
    result = await request.run("widget", productId=product_id, first=_SIZE, **shown)
    product = result.data["product"]
    response = request.render(
        "widget.html",
        statistics=product["statistics"],
        comments=product["comments"]["nodes"],
        path=product_path(product_id) + filters.query(),
    )
    settings = request.http.app.state.settings
    local = ("http://localhost:*", "http://127.0.0.1:*") if settings.demo else ()
    origins = " ".join(["'self'", *settings.cors_origins, *local])
    policy = content_security_policy(frame_ancestors=origins)
    response.headers["Content-Security-Policy"] = policy
    return response


@cache
def _script() -> StaticFile:
    """Return the script with its document and its labels."""
    document = _MARGINS.sub(" ", DOCUMENTS["widget"]).strip()
    messages = {}
    for tag in LOCALES:
        with i18n.speaking(tag):
            messages[tag] = {
                "stars": gettext("%(rating)s out of 5 stars"),
                "counts": plural_forms("%(count)s comment", "%(count)s comments"),
                "verified": gettext("Verified purchase"),
                "reply": gettext("Reply from the shop"),
                "none": gettext("No comments yet."),
                "more": gettext("More comments"),
                "failed": gettext("Comments are temporarily unavailable. Please try again later."),
                "again": gettext("Try again"),
                "all": gettext("All comments"),
            }
    filled = orjson.dumps({"document": document, "messages": messages})
    source = (TEMPLATES / "widget.js").read_bytes()
    return StaticFile("widget.js", source.replace(_PLACE, filled))
