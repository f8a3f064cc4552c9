"""The pages' style sheet: a file per part in ``web/styles``, fetched in one request."""

import hashlib

from starlette.requests import Request
from starlette.responses import Response

from server.http.files import FILE_HEADERS, ROOT

PARTS = (
    "base",
    "frame",
    "stars",
    "controls",
    "tables",
    "board",
    "filters",
    "trend",
    "comments",
    "forms",
    "plan",
    "playground",
)
"""The files by name, in the order of the cascade: what all pages have comes first."""

_SHEET = "\n".join((ROOT / f"web/styles/{part}.css").read_text("utf-8") for part in PARTS)

_HEADERS = {**FILE_HEADERS, "ETag": f'"{hashlib.sha256(_SHEET.encode()).hexdigest()[:32]}"'}


async def show(request: Request) -> Response:
    """Send the style sheet, or 304 to a browser that has it."""
    if _HEADERS["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=_HEADERS)
    return Response(_SHEET, headers=_HEADERS, media_type="text/css")
