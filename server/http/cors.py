"""Which pages of other origins may call the API from a browser."""

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

_LOCAL = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"
_PREFLIGHT_SECONDS = 24 * 3600
"""How long a browser may keep the answer to a preflight; browsers have limits of their own."""


def cross_origin(app: ASGIApp, origins: Sequence[str], *, local: bool) -> ASGIApp:
    """Return ``app`` open to pages of ``origins``, or of any (``*``), and of this machine if asked.

    Credentials that a browser sends by itself are never allowed: the API reads none. The JWT goes
    in the Authorization header, which the page sets.
    """
    if not origins and not local:
        return app
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_origin_regex=_LOCAL if local else None,
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type", "X-Request-ID"],
        expose_headers=["X-Request-ID", "Retry-After"],
        max_age=_PREFLIGHT_SECONDS,
    )
