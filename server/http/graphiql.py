"""Serves the page and the files of GraphiQL. The page loads no file from another host."""

import logging
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from server.logs import FirstValues

logger = logging.getLogger(__name__)

ROOT = Path(__file__).parents[2]

FILE_HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}


_PAGE = (ROOT / "pages/static/graphiql/index.html").read_text("utf-8")

NOT_INSTALLED = ROOT / "pages/static/graphiql/not-installed.html"

FILES: Mapping[str, Path] = {
    "graphiql.js": ROOT / "pages/static/graphiql/graphiql.js",
    "plan.js": ROOT / "pages/static/graphiql/plan.js",
    "icon.svg": ROOT / "pages/static/graphiql/icon.svg",
    "page.css": ROOT / "pages/static/graphiql/page.css",
    "lanes.css": ROOT / "pages/styles/lanes.css",
    "react.js": ROOT / "node_modules/react/umd/react.production.min.js",
    "react-dom.js": ROOT / "node_modules/react-dom/umd/react-dom.production.min.js",
    "graphiql.min.js": ROOT / "node_modules/graphiql/graphiql.min.js",
    "graphiql.min.css": ROOT / "node_modules/graphiql/graphiql.min.css",
    "explorer.js": ROOT / "node_modules/@graphiql/plugin-explorer/dist/index.umd.js",
    "explorer.css": ROOT / "node_modules/@graphiql/plugin-explorer/dist/style.css",
}
"""The files that the page requests, by their names in URLs. The server serves no other file of
node_modules."""

_LOGGED = FirstValues()

_SCROLL_LOCK = "sha256-Y/huXlwoYkVyQlxwSVcCi1RCDGDCSVBzDt0hYP9qlTc="
"""The hash of the only style element that GraphiQL inserts, when it opens a dialogue. The page's
Content-Security-Policy allows no other style element."""


def content_security_policy(**sources: str) -> str:
    """Return a Content-Security-Policy for pages without inline code.

    Each keyword argument names a directive. It replaces the directive's default source, or adds the
    directive.
    """
    directives = {
        "default_src": "'none'",
        "script_src": "'self'",
        "style_src": "'self'",
        "img_src": "'self'",
        "connect_src": "'self'",
        "base_uri": "'none'",
        "form_action": "'self'",
        "frame_ancestors": "'none'",
        **sources,
    }
    return "; ".join(f"{name.replace('_', '-')} {of}" for name, of in directives.items())


PAGE_HEADERS = {
    **FILE_HEADERS,
    "Content-Security-Policy": content_security_policy(
        style_src=f"'self' '{_SCROLL_LOCK}'",
        img_src="'self' data:",
        font_src="data:",
        form_action="'none'",
    ),
    "Referrer-Policy": "no-referrer",
}


def page(address: str, *, explain: bool, jwt: str | None = None) -> Response:
    """Return GraphiQL's page, or a page with status 404 if GraphiQL is not installed.

    ``address`` is the URL of the page and of the API. With ``explain``, the page shows query plans.
    ``jwt`` is the JWT that GraphiQL sends unless the visitor writes another one.
    """
    if all(path.is_file() for path in FILES.values()):
        shown = escape(quote(address, safe=":/[]%"))
        content = _PAGE.replace("{{ address }}", shown)
        data = ["data-plans"] if explain else []
        data += [f'data-jwt="{escape(jwt)}"'] if jwt else []
        content = content.replace("{{ data }}", " ".join(data))
        kept = {"Cache-Control": "no-store"} if jwt else {}
        return HTMLResponse(content, headers=PAGE_HEADERS | kept)
    if _LOGGED.adds("missing"):
        logger.warning("GraphiQL is not installed: run `make setup`, then reload the page.")
    return FileResponse(NOT_INSTALLED, status_code=404, headers=PAGE_HEADERS)


class GraphiQLFiles(StaticFiles):
    """Serves only ``FILES``, with the headers ``FILE_HEADERS``."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """Return the file, or a response with status 304 if the browser already has the file."""
        response = super().file_response(*args, **kwargs)
        response.headers.update(FILE_HEADERS)
        return response

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return the path and the result of ``os.stat`` of a file in ``FILES``.

        If the name is unknown or the file is not installed, return an empty path and None.
        """
        file = FILES.get(path)
        return (str(file), file.stat()) if file and file.is_file() else ("", None)
