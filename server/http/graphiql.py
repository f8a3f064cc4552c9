"""GraphiQL and the files it needs, all served from this machine."""

import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from urllib.parse import quote

from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

ROOT = Path(__file__).parents[2]

FILE_HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}


class RevalidatedFiles(StaticFiles):
    """Serves a directory's files with ``FILE_HEADERS``."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return the file, or 304 for a browser that has it."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(FILE_HEADERS)
        return response


_PAGE = (ROOT / "server/pages/static/graphiql/index.html").read_text("utf-8")

NOT_INSTALLED = ROOT / "server/pages/static/graphiql/not-installed.html"

FILES: Mapping[str, Path] = {
    "graphiql.js": ROOT / "server/pages/static/graphiql/graphiql.js",
    "plan.js": ROOT / "server/pages/static/graphiql/plan.js",
    "icon.svg": ROOT / "server/pages/static/graphiql/icon.svg",
    "page.css": ROOT / "server/pages/static/graphiql/page.css",
    "lanes.css": ROOT / "server/pages/styles/lanes.css",
    "react.js": ROOT / "node_modules/react/umd/react.production.min.js",
    "react-dom.js": ROOT / "node_modules/react-dom/umd/react-dom.production.min.js",
    "graphiql.min.js": ROOT / "node_modules/graphiql/graphiql.min.js",
    "graphiql.min.css": ROOT / "node_modules/graphiql/graphiql.min.css",
    "explorer.js": ROOT / "node_modules/@graphiql/plugin-explorer/dist/index.umd.js",
    "explorer.css": ROOT / "node_modules/@graphiql/plugin-explorer/dist/style.css",
}
"""The files that the page requests, by the names in its URLs; no other file of node_modules is
served."""

_SCROLL_LOCK = "sha256-Y/huXlwoYkVyQlxwSVcCi1RCDGDCSVBzDt0hYP9qlTc="
"""Hash of the only style element that GraphiQL inserts, when it opens a dialogue."""

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    f"style-src 'self' '{_SCROLL_LOCK}'",
    "img-src 'self' data:",
    "font-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
)

PAGE_HEADERS = {
    **FILE_HEADERS,
    "Content-Security-Policy": "; ".join(_POLICY),
    "Referrer-Policy": "no-referrer",
}


def page(address: str) -> Response:
    """Return GraphiQL's page, or with 503 a page that explains how to install its files.

    ``address`` is the URL of the page, and of the API.
    """
    if all(path.is_file() for path in FILES.values()):
        shown = escape(quote(address, safe=":/[]%"))
        return HTMLResponse(_PAGE.replace("{{ address }}", shown), headers=PAGE_HEADERS)
    return FileResponse(NOT_INSTALLED, status_code=503, headers=PAGE_HEADERS)


class GraphiQLFiles(RevalidatedFiles):
    """Serves ``FILES`` and nothing else."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return the whitelisted file and its stat, or an empty path and None."""
        file = FILES.get(path)
        return (str(file), file.stat()) if file and file.is_file() else ("", None)
