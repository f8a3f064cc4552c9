"""``/widget.js``: a script that shows comments on a shop's own pages.

The script contains the ids of its documents, and its labels in all languages. ``/widget`` is a page
that shows the element, and the HTML that a shop copies. ``/widget/{id}`` is a page with the same
comments. Shops put this page into an ``iframe``, for browsers without scripts.
"""

import re
from functools import cache
from html import escape
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from pages import i18n
from pages.addresses import Filters, product_path
from pages.i18n import LOCALES, TEMPLATES, gettext, gettext_noop, plural_forms
from pages.page_documents import DOCUMENTS, id_of
from pages.page_request import LANGUAGES, PageRequest
from pages.static_files import StaticFile
from resolvers.shop_aspects import labels
from server.http.graphiql import content_security_policy

_SIZE = 5

_PLACE = b'"WIDGET"'

_MARGINS = re.compile(r"#.*|\s+")

_HOUR = "public, max-age=3600"
"""The address of the script has no version. With this cache time, visitors get the script of a new
release within an hour."""

_THEMES = {
    "page": (gettext_noop("Like your page"), ""),
    "light": (gettext_noop("Light"), "background: #fff; color: #1c1b1f; padding: 1rem;"),
    "dark": (gettext_noop("Dark"), "background: #16151a; color: #ece9f0; padding: 1rem;"),
}
"""For each theme, its label and its CSS. The style sheet of the preview has the same colours."""

_COLOUR = re.compile("#[0-9a-f]{6}")

_ACCENT = "#7a2e5d"


async def show(request: Request) -> Response:
    """Return the script, which any site may load."""
    context = await request.app.state.view.context(None)
    aspects = tuple((tag, *labels(context, tag).items()) for tag in LOCALES)
    response = _script(request.app.state.picture_origins, aspects).response(request, _HOUR)
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.headers["Access-Control-Allow-Origin"] = "*"  # browsers require it for modules
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
        path=product_path(product_id) + filters.query,
    )
    settings = request.http.app.state.settings
    local = ("http://localhost:*", "http://127.0.0.1:*") if settings.demo else ()
    origins = " ".join(["'self'", *settings.cors_origins, *local])
    policy = content_security_policy(frame_ancestors=origins)
    response.headers["Content-Security-Policy"] = policy
    return response


async def show_preview(request: PageRequest) -> Response:
    """Return the page that shows the element, and the HTML that a shop copies.

    The query has the product, the language and the colours of the element. Invalid values are
    replaced by defaults.
    """
    given = request.http.query_params
    result = await request.run("home", after=None)
    ranks = result.data["leaderboard"]["nodes"]
    products = [rank["product"] for rank in ranks if rank["product"]["title"]]
    first = products[0]["productId"] if products else "1"
    product = given.get("product", "").strip() or first
    tag = i18n.offered(given.get("labels", ""))
    theme = given["theme"] if given.get("theme") in _THEMES else "page"
    accent = given.get("accent", "")
    accent = accent if _COLOUR.fullmatch(accent) else _ACCENT
    rules = f"{_THEMES[theme][1]} --marginalia-button: {accent};".lstrip()
    response = request.render(
        "widget.preview.html",
        products=products,
        languages=LANGUAGES,
        themes={name: gettext(label) for name, (label, _) in _THEMES.items()},
        product=product,
        tag=tag,
        theme=theme,
        accent=accent,
        snippet=_snippet(request.site, product, tag, rules),
    )
    images = " ".join(["'self'", *request.http.app.state.picture_origins])
    policy = content_security_policy(frame_src="'self'", img_src=images)
    response.headers["Content-Security-Policy"] = policy
    return response


def _snippet(site: str, product: str, tag: str | None, rules: str) -> str:
    """Return the HTML that shows the element on a page of the shop."""
    product_page = site + product_path(product)
    lang = f' lang="{tag}"' if tag else ""
    with i18n.speaking(tag or i18n.spoken()):
        link = gettext("All comments")
    return f"""\
<script async src="{escape(site)}/widget.js"></script>
<style>
  marginalia-comments {{ {rules} }}
</style>
<marginalia-comments product="{escape(product)}"{lang}>
  <a href="{escape(product_page)}">{escape(link)}</a>
</marginalia-comments>"""


@cache
def _script(photo_origins: tuple[str, ...], aspects: tuple[tuple[Any, ...], ...]) -> StaticFile:
    """Return the script with its documents and its labels.

    ``aspects`` has the labels of the shop's aspects: a language tag, then pairs of name and label.
    """
    messages = {}
    for tag in LOCALES:
        with i18n.speaking(tag):
            messages[tag] = {
                "stars": gettext("%(rating)s out of 5 stars"),
                "ratings": plural_forms("%(count)s star", "%(count)s stars"),
                "counts": plural_forms("%(count)s comment", "%(count)s comments"),
                "helpful": gettext("Helpful"),
                "voteFailed": gettext("Your vote could not be saved. Please try again."),
                "photo": gettext("Photo %(place)s of %(count)s"),
                "verified": gettext("Verified purchase"),
                "imported": gettext("Imported"),
                "received": gettext("Received for this comment: <bdi>%(incentive)s</bdi>"),
                "rewarded": gettext("Received a reward for this comment"),
                "reply": gettext("Reply from the shop"),
                "none": gettext("No comments yet."),
                "write": gettext("Write a comment"),
                "more": gettext("More comments"),
                "failed": gettext("Comments are temporarily unavailable. Please try again later."),
                "again": gettext("Try again"),
                "all": gettext("All comments"),
            }
    filled = {
        "ids": {
            "read": id_of("widget"),
            "votes": id_of("widget.votes"),
            "mark": id_of("vote.mark"),
            "unmark": id_of("vote.unmark"),
        },
        "document": _MARGINS.sub(" ", DOCUMENTS["widget"]).strip(),
        "messages": messages,
        "photos": photo_origins,
        "aspects": {tag: dict(pairs) for tag, *pairs in aspects},
    }
    source = (TEMPLATES / "widget.js").read_bytes()
    return StaticFile("widget.js", source.replace(_PLACE, orjson.dumps(filled)))
