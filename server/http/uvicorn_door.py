"""uvicorn's private names, under public names.

No other module uses a private name of uvicorn. pyproject.toml limits uvicorn's version, and
``tests/test_private_names.py`` fails if a name changes.
"""

from typing import Any

from uvicorn._types import ASGI3Application, ASGIReceiveEvent, ASGISendEvent, HTTPScope
from uvicorn.middleware.proxy_headers import _TrustedHosts as TrustedHosts
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = [
    "ASGI3Application",
    "ASGIReceiveEvent",
    "ASGISendEvent",
    "HTTPScope",
    "HttpProtocol",
    "TrustedHosts",
]


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol. A subclass defines ``start_task``, which uvicorn calls."""

    upgrades = HttpToolsProtocol._should_upgrade
    run_task = HttpToolsProtocol._start_asgi_task
    """uvicorn's own method: calls the application."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._start_asgi_task = cls.start_task  # type: ignore[assignment]

    def start_task(self, cycle: Any, app: ASGI3Application) -> None:
        """Start a request, or make it wait."""
        raise NotImplementedError
