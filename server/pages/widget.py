"""``/widget.js``: a script that shows comments on a shop's own pages.

It contains its document and labels.
"""

import re
from functools import cache

import orjson
from starlette.requests import Request
from starlette.responses import Response

from server.pages import i18n
from server.pages.i18n import LOCALES, TEMPLATES, gettext, plural_forms
from server.pages.page_documents import DOCUMENTS
from server.pages.static_files import StaticFile

_PLACE = b'"WIDGET"'

_MARGINS = re.compile(r"#.*|\s+")

_HOUR = "public, max-age=3600"
"""Shops use the script's address without a version, so visitors get a new release within an
hour."""


async def show(request: Request) -> Response:
    """Send the script, which any site may load."""
    response = _script().response(request, _HOUR)
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


@cache
def _script() -> StaticFile:
    """Return the script with its document, and with its labels in each language."""
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
                "all": gettext("All comments"),
            }
    filled = orjson.dumps({"document": document, "messages": messages})
    source = (TEMPLATES / "widget.js").read_bytes()
    return StaticFile("widget.js", source.replace(_PLACE, filled))
