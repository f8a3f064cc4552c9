"""The HTTP server over an open table."""

import gc
import logging
import math
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from dal.client.table import Table
from dal.limits import MAX_SOCKET_MESSAGE
from dal.live.log import Broker
from dal.stores import Stores
from server.analytics.asking import analytics_of
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.engine.data_directory import DataDirectory
from server.http.admission import Admission
from server.http.connections import (
    STATE,
    Connection,
    Connections,
    max_connections,
    raise_descriptor_limit,
)
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

YOUNG = 5_000
"""New objects after which garbage is looked for. Reference counts free what requests leave behind,
but the rows of a few pages at once are some thousands, and were looked through time and again. With
ten times as many, the documents that strangers send are looked through in 50 ms."""


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


class Served:
    """An application behind the limits of its connections, which get them by the lifespan."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.admission = Admission(app, settings.max_concurrency, settings.trusted_proxies)
        self._connections = Connections(
            self.admission, _most_connections(settings), request_timeout=settings.request_timeout
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or take part in the lifespan."""
        if scope["type"] != "lifespan":
            await self.admission(scope, receive, send)
            return
        await self.live(scope, receive, send)
        await send({"type": "lifespan.shutdown.complete"})

    async def live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say that the server may start, and wait until it ends."""
        gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
        scope["state"][STATE] = self._connections
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()


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


def _most_connections(settings: Settings) -> int:
    """Return this process's share of the configured limit, or what the system allows."""
    most = max_connections(raise_descriptor_limit())
    if settings.max_connections is None:
        return most
    return min(most, math.ceil(settings.max_connections / settings.workers))
