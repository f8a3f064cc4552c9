"""Makes the parts of a running server: the application, its services, and uvicorn's server."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from server.app import PROTOCOLS, Served, create_app
from server.auth.authenticator import SignInCode
from server.services import Loading, open_services
from server.settings import Settings

logger = logging.getLogger(__name__)

WORKER_START = 60
"""Maximum seconds until a started worker must be ready."""

GRACE = 10
"""Maximum seconds for which a stopping server waits for its running requests."""

YOUNG = 5_000
"""Number of new objects after which Python's garbage collector runs. The collector frees little,
because Python frees most objects of a request by reference counts. The rows of a few pages are
several thousand objects, so with Python's default of 700, the collector would visit the same rows
several times. With 50,000, a collection could take 50 ms, and meanwhile the process would serve no
request."""

LISTENERS = 16
"""Number of duplicates of the listening socket. In each turn of the event loop, uvloop accepts one
connection per socket. On a busy server, a turn can take tens of milliseconds, so with one socket
new connections would wait too long."""


@asynccontextmanager
async def open_application(
    settings: Settings,
    table: Table,
    secret: Callable[[], str | None],
    loading: Loading | None = None,
    code: SignInCode | None = None,
) -> AsyncIterator[Served]:
    """Yield the application for an open table. For the arguments, see ``open_services``."""
    async with open_services(settings, table, secret, loading, code) as services:
        served = Served(create_app(settings, services), settings)
        async with services.signals.sampling(table, served.admission):
            yield served


def http_config(
    app: ASGIApp | Callable[[], ASGIApp], settings: Settings, *, workers: int | None = None
) -> uvicorn.Config:
    """Return uvicorn's configuration.

    If ``workers`` is a number, ``app`` is a function that each worker calls to get its application.
    """
    return uvicorn.Config(
        app,
        interface="asgi3",
        factory=workers is not None,
        workers=workers,
        lifespan="on",
        **PROTOCOLS,
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_keep_alive=settings.keep_alive,
        # Without this, the next waiting request would start with the context variables of the
        # request that has just ended.
        reset_contextvars=True,
        access_log=False,
        log_config=None,
        log_level=logging.ERROR,  # Any client can cause log lines of lower levels.
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=WORKER_START,
    )


def duplicates(listener: socket.socket) -> list[socket.socket]:
    """Return ``LISTENERS`` duplicates of the listening socket. uvicorn uses and closes them."""
    return [listener.dup() for _ in range(LISTENERS)]


class HttpServer(uvicorn.Server):
    """A server that prints its addresses after it has started. The caller handles signals.

    uvicorn must not handle signals. It would raise a signal again after it has stopped, and the
    process would end before the engine is stopped.
    """

    def __init__(self, app: Served, settings: Settings, greeting: str) -> None:
        super().__init__(http_config(app, settings))
        self._greeting = greeting
        self.greeted = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections. Then print the addresses."""
        await super().startup(sockets)
        print(self._greeting, flush=True)  # noqa: T201 - a command's output
        self.greeted.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Replace uvicorn's method. Do not handle signals."""
        yield

    def end(self) -> None:
        """Stop the server after its running requests have ended, or after ``GRACE`` seconds."""
        self.should_exit = True
