"""Which pages of other origins may call the API from a browser."""

import re
from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

_PATH = "/graphql"
_LOCAL = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_PREFLIGHT_SECONDS = 24 * 3600
"""How long a browser may keep the answer to a preflight; browsers have limits of their own."""


def is_allowed(origin: str, origins: Sequence[str], *, local: bool) -> bool:
    """Return whether pages of an origin may call the API."""
    return "*" in origins or origin in origins or (local and bool(_LOCAL.fullmatch(origin)))


def is_own(origin: str, host: str | None) -> bool:
    """Return whether pages of an origin are this server's own; what is no origin is not."""
    return origin.partition("://")[2] == host


class CrossOriginMiddleware:
    """Opens the API, and no page, to pages of ``origins``, of any (``*``), or of this machine.

    It stands outside of whatever refuses or fails, so that a front end can read why. Credentials
    that a browser sends by itself are never allowed: the API reads none. The JWT goes in the
    Authorization header, which the page sets. So any header may be sent: which ones tracing and
    client libraries add is theirs to know.
    """

    def __init__(self, app: ASGIApp, *, origins: Sequence[str], local: bool) -> None:
        self._app = self._api = app
        if origins or local:
            self._api = CORSMiddleware(
                app,
                allow_origins=origins,
                allow_origin_regex=_LOCAL.pattern if local else None,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=["X-Request-ID", "Retry-After"],
                max_age=_PREFLIGHT_SECONDS,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer a browser's preflight."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        await (self._api if path == _PATH else self._app)(scope, receive, send)
