"""The HTTP server over an open table."""

import asyncio
import gc
import logging
import math
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from dal.client.table import Table
from dal.limits import MAX_SOCKET_MESSAGE
from dal.live.log import Broker
from dal.stores import Stores
from server.analytics.asking import analytics_of
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.engine.data_directory import DataDirectory
from server.http.admission import Admission
from server.http.connections import Connection, Connections, max_connections, raise_descriptor_limit
from server.http.websocket import PING_EVERY, WebSocketProtocol
from server.observability.signals import OFF, Signals
from server.settings import Settings

GRACE = 10
"""Seconds that requests in flight have to end once the server is told to stop."""

ACCEPTS = 256
"""Connections accepted in one turn of the event loop; uvloop alone would accept one. Under load a
turn takes tens of milliseconds, and new clients would stand in line for seconds."""

YOUNG = 5_000
"""New objects after which garbage is looked for. Reference counts free what requests leave behind,
but the rows of a few pages at once are some thousands, and were looked through time and again. With
ten times as many, the documents that strangers send are looked through in 50 ms."""

ACCEPT_AGAIN = 0.5
"""Seconds until the server tries again when the system has no descriptor left."""


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

    ``loading`` says how far the demo's data is loaded, as ``create_app`` takes it.
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


class HttpServer(uvicorn.Server):
    """Prints the banner once it listens, and leaves signals to whoever runs it.

    uvicorn raises a caught signal again at its end, which would end the process before the engine
    is stopped.
    """

    def __init__(self, app: ASGIApp, settings: Settings, greeting: str) -> None:
        self.admission = Admission(app, settings.max_concurrency, settings.trusted_proxies)
        self._connections = Connections(
            self.admission, _most_connections(settings), request_timeout=settings.request_timeout
        )
        self._opening: set[asyncio.Task[object]] = set()
        config = uvicorn.Config(
            self.admission,
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
        )
        super().__init__(config)
        self._greeting = greeting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept the connections of one listener, then greet."""
        gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
        await super().startup([])
        (self._listener,) = sockets or []
        self._listener.setblocking(False)
        self._listen()
        self._greet()

    def _greet(self) -> None:
        print(self._greeting, flush=True)  # noqa: T201 - a command's output

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and end after the requests in flight."""
        asyncio.get_running_loop().remove_reader(self._listener)
        if self._opening:  # they are told to end as the others
            await asyncio.wait(self._opening)
        await super().shutdown(sockets)

    def _listen(self) -> None:
        if not self.should_exit:
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(ACCEPTS):
            try:
                accepted = self._next()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                loop.remove_reader(self._listener)
                loop.call_later(ACCEPT_AGAIN, self._listen)
                return
            accepted.setblocking(False)
            opening = loop.create_task(loop.connect_accepted_socket(self._connection, accepted))
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)

    def _next(self) -> socket.socket:
        """Return the next connection; OSError as of a listener."""
        return self._listener.accept()[0]

    def _connection(self) -> asyncio.Protocol:
        return Connection(
            self.config, self.server_state, self.lifespan.state, shared=self._connections
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def end(self) -> None:
        """Stop serving, after the requests in flight."""
        self.should_exit = True


def _most_connections(settings: Settings) -> int:
    """Return the limit asked for, this process's share of it, or what the system allows."""
    most = max_connections(raise_descriptor_limit())
    if settings.max_connections is None:
        return most
    return min(most, math.ceil(settings.max_connections / settings.workers))
