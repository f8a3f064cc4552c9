"""The pages' static files: compressed once, and cached by browsers until a release changes them.

Pages link to the files by addresses that contain a digest of all files. So the content at such an
address never changes. Other sites and products' pictures use addresses without the digest. Before a
browser reuses a file from such an address, it asks the server whether the file has changed.
"""

import gzip
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import brotli
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pages.i18n import by_weight
from server.http.graphiql import FILE_HEADERS, ROOT
from server.http.middleware import SMALLEST, encoded, entity_tag, matching

STYLES = (
    "colours",
    "base",
    "frame",
    "stars",
    "controls",
    "tables",
    "board",
    "filters",
    "trend",
    "comments",
    "photos",
    "votes",
    "forms",
    "moderation",
    "entries",
    "plan",
    "lanes",
    "playground",
    "widget",
)
"""The files that form ``page.css``, in the order of the cascade: styles for all pages first."""

_MEDIA_TYPES: Mapping[str, str] = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}

_CODINGS: Mapping[str, Callable[[bytes], bytes]] = {
    "br": partial(brotli.compress, mode=brotli.MODE_TEXT),
    "gzip": partial(gzip.compress, mtime=0),
}
"""The content codings. Brotli comes first, because its results are smaller. Compression is slow, so
each file is compressed only once for each coding."""

_KEPT = "public, max-age=31536000, immutable"

_BELOW_DIGEST = re.compile(r"(?:([0-9a-f]{12})/)?(.+)")


class StaticFile:
    """A file with its content, and the compressed content by coding."""

    def __init__(self, name: str, content: bytes) -> None:
        self.content = content
        self.tag = entity_tag(content)
        self.media_type = _MEDIA_TYPES[Path(name).suffix]
        large = len(content) >= SMALLEST and self.media_type not in ("image/png", "image/webp")
        self._codings = _CODINGS if large else {}
        self._coded = {"": content}

    def response(self, request: Request, cache_control: str) -> Response:
        """Return the file in a coding that the browser accepts, or 304 if the browser has it."""
        headers = {**FILE_HEADERS, "Cache-Control": cache_control, "ETag": self.tag}
        if self._codings:
            headers["Vary"] = "Accept-Encoding"
        known = matching(request.headers.get("if-none-match"), self.tag)
        if known is not None:
            return Response(status_code=304, headers=headers | {"ETag": known})
        accepted = by_weight(request.headers.get("accept-encoding", ""))
        # Small files, and pictures except SVG, have no codings.
        coding = next((one for one in self._codings if one in accepted), "")
        if coding not in self._coded:
            self._coded[coding] = _CODINGS[coding](self.content)
        response = Response(self._coded[coding], headers=headers, media_type=self.media_type)
        if coding:
            response.headers["Content-Encoding"] = coding
            encoded(response.raw_headers)
        return response


def _files() -> dict[str, StaticFile]:
    ours = [path for path in (ROOT / "pages/static").iterdir() if path.suffix in _MEDIA_TYPES]
    contents = {path.name: path.read_bytes() for path in ours}
    parts = [(ROOT / f"pages/styles/{part}.css").read_bytes() for part in STYLES]
    contents["page.css"] = b"\n".join(parts)
    return {name: StaticFile(name, contents[name]) for name in sorted(contents)}


_FILES: Mapping[str, StaticFile] = _files()

DIGEST = hashlib.sha256("".join(file.tag for file in _FILES.values()).encode()).hexdigest()[:12]
"""A digest of all files together. Scripts import each other by relative addresses, so the addresses
of all scripts must contain the same digest."""


ICONS = ("/favicon.ico", "/apple-touch-icon.png", "/apple-touch-icon-precomposed.png")
"""The addresses at which browsers look for a site's icon without a link to it."""


async def icon(request: Request) -> Response:
    """Return the icon, or 304 if the browser has it."""
    return _FILES["icon.png"].response(request, "public, max-age=86400")


async def show(request: Request) -> Response:
    """Return a file in a coding that the browser accepts, or 304 if the browser has it.

    During a deployment, a page of another release may link to a file with that release's digest.
    The server then returns its own file of the same name, with ``no-cache``. Raise HTTPException
    with the status 404 if this server has no file of this name.
    """
    found = _BELOW_DIGEST.fullmatch(request.path_params["file"])
    file = _FILES.get(found[2]) if found else None
    if found is None or file is None:
        raise HTTPException(404)
    return file.response(request, _KEPT if found[1] == DIGEST else "no-cache")
