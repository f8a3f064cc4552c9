"""The HTTP server over an open table."""

import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from dal.client.table import Table
from dal.limits import MAX_SOCKET_MESSAGE
from dal.live.log import Broker
from dal.stores import Stores
from server.analytics import analytics_of
from server.app import Served, create_app
from server.auth.authenticator import Authenticator
from server.engine.data_directory import DataDirectory
from server.http.connections import Connection
from server.http.websocket import PING_EVERY, WebSocketProtocol
from server.observability.signals import OFF, Signals
from server.settings import Settings

WORKER_START = 60
"""Seconds that a worker may take until it serves."""

GRACE = 10
"""Seconds that requests in flight have to end once the server begins to stop."""

LISTENERS = 16
"""Duplicates of the listener. uvloop accepts one connection of each in a turn of the event loop,
and under load a turn takes tens of milliseconds."""


@asynccontextmanager
async def application(
    settings: Settings,
    table: Table,
    secret: Callable[[], str | None],
    broker: Broker,
    signals: Signals = OFF,
    loading: Callable[[], tuple[int, int] | None] | None = None,
) -> AsyncIterator[ASGIApp]:
    """Yield the application over an open table, for whom ``secret`` or a key set vouches.

    ``loading`` returns the progress of the demo's data, as ``create_app`` takes it.
    """
    authenticator = Authenticator(
        secret=secret, jwks_url=settings.jwks_url, audience=settings.jwt_audience
    )
    directory = DataDirectory(settings.data_dir) if settings.embedded else None
    stores = Stores(table, broker)
    stores.boards.start()
    documents = await stores.documents.all()
    analytics = analytics_of(settings)
    try:
        yield create_app(
            settings,
            table=table,
            authenticator=authenticator,
            directory=directory,
            broker=broker,
            stores=stores,
            documents=documents,
            signals=signals,
            analytics=analytics,
            loading=loading,
        )
    finally:
        await analytics.close()


def http_config(
    app: ASGIApp | Callable[[], ASGIApp], settings: Settings, *, workers: int | None = None
) -> uvicorn.Config:
    """Return uvicorn's configuration; where there are ``workers``, ``app`` makes each one's own."""
    return uvicorn.Config(
        app,
        factory=workers is not None,
        workers=workers,
        lifespan="on",
        http=Connection,
        ws=WebSocketProtocol,
        ws_max_size=MAX_SOCKET_MESSAGE,
        ws_ping_interval=PING_EVERY,
        ws_ping_timeout=PING_EVERY,
        ws_per_message_deflate=False,  # it keeps 10 kB and more for each connection
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_keep_alive=settings.keep_alive,
        reset_contextvars=True,  # one request starts the next that waits for a place
        access_log=False,
        log_config=None,
        log_level=logging.ERROR,  # below it are lines that any client can cause
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=WORKER_START,
    )


def duplicates(listener: socket.socket) -> list[socket.socket]:
    """Return the sockets to accept by; uvicorn closes them."""
    return [listener.dup() for _ in range(LISTENERS)]


class HttpServer(uvicorn.Server):
    """Prints the banner once it listens, and leaves signals to its caller.

    uvicorn raises a caught signal again at its end, which would end the process before the engine
    is stopped.
    """

    def __init__(self, app: ASGIApp, settings: Settings, greeting: str) -> None:
        served = Served(app, settings)
        super().__init__(http_config(served, settings))
        self.admission = served.admission
        self._greeting = greeting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, then greet."""
        await super().startup(sockets)
        print(self._greeting, flush=True)  # noqa: T201 - a command's output

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def end(self) -> None:
        """Stop serving, after the requests in flight."""
        self.should_exit = True
