"""Serves HTTP until it is told to stop or its store is gone."""

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
import uvloop
from starlette.types import ASGIApp

from dal.stores import Stores
from server.app import create_app
from server.auth.jwt import Authenticator
from server.auth.secret import ensure_secret, secret_source
from server.banner import address, banner
from server.demo import load_demo
from server.engine.storage import Store, open_store
from server.errors import CommandError
from server.http.admission import Admission
from server.http.connections import Connection, Connections, max_connections, raise_descriptor_limit
from server.logs import set_up_logs
from server.settings import Settings

_GRACE = 10
"""Seconds that requests in flight have to end once the server is told to stop."""

_ACCEPTS = 256
"""Connections accepted in one turn of the event loop; uvloop alone would accept one. Under load a
turn takes tens of milliseconds, and new clients would stand in line for seconds."""

_ACCEPT_AGAIN = 0.5
"""Seconds until the server tries again when the system has no descriptor left."""

_WHY_NOT = {
    errno.EADDRINUSE: "Port {port} on {host} is taken: stop the other program, or choose another "
    "with --port.",
    errno.EACCES: "Port {port} needs more rights than you have: choose one from 1024 with --port.",
    errno.EADDRNOTAVAIL: "{host} is no address of this machine: choose another with --host.",
}


def run(settings: Settings) -> None:
    """Serve until SIGTERM or Ctrl-C; CommandError when it cannot start or the store is lost."""
    set_up_logs(settings.log_format)
    with listening(settings.host, settings.port) as listener:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_run(settings, listener))
        except asyncio.CancelledError:
            # A signal during the start cancels it.
            return


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Take the port at once: clients that come during the start wait instead of being refused."""
    try:
        family, address = _resolve(host, port)
        listener = socket.create_server(address, family=family, backlog=2048)
    except socket.gaierror as error:
        raise CommandError(f"The host {host} is unknown: choose another with --host.") from error
    except OSError as error:
        sentence = _WHY_NOT.get(error.errno or 0, "{host} port {port} cannot be opened: {reason}.")
        raise CommandError(sentence.format(host=host, port=port, reason=error.strerror)) from error
    with listener:
        # Accepted connections inherit it. asyncio sets it only on sockets that name their
        # protocol, which these do not; without it every answer waits 40 ms for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """Return the first address of ``host``, IPv4 before IPv6: every client reaches that."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, *_, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return family, (str(address[0]), port)


async def _run(settings: Settings, listener: socket.socket) -> None:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - asyncio.run made it
    _on_signal(lambda _: task.cancel())
    async with open_store(settings, share=False) as store:
        server = await _prepare(settings, store, listener)
        _on_signal(lambda number: server.handle_exit(number, None))
        store.died.add_done_callback(lambda _: server.end())
        await server.serve(sockets=[listener])
        if store.died.done():
            raise CommandError(store.died.result())


async def _prepare(settings: Settings, store: Store, listener: socket.socket) -> "HttpServer":
    """Return the server of a table that is known to be there, with the demo data if asked for."""
    secret = secret_source(settings.jwt_secret, settings.data_dir)
    if settings.demo and secret() is None:
        ensure_secret(settings.data_dir)
    if settings.demo:
        await load_demo(Stores(store.table))
    authenticator = Authenticator(
        secret=secret, jwks_url=settings.jwks_url, audience=settings.jwt_audience
    )
    app = create_app(
        settings, table=store.table, authenticator=authenticator, directory=store.directory
    )
    url = address(settings.host, listener.getsockname()[1])
    return HttpServer(app, settings, banner(settings, url=url, place=store.place, secret=secret()))


class HttpServer(uvicorn.Server):
    """Prints the banner once it listens, and leaves signals to ``_run``.

    uvicorn raises a caught signal again at its end, which would end the process before the engine
    is stopped.
    """

    def __init__(self, app: ASGIApp, settings: Settings, greeting: str) -> None:
        admission = Admission(app, settings.max_concurrency)
        self._connections = Connections(
            admission, _most_connections(settings), request_timeout=settings.request_timeout
        )
        self._opening: set[asyncio.Task[object]] = set()
        config = uvicorn.Config(
            admission,
            http=Connection,
            ws="none",
            forwarded_allow_ips=list(settings.trusted_proxies),
            timeout_keep_alive=settings.keep_alive,
            reset_contextvars=True,  # one request starts the next that waits for a place
            access_log=False,
            log_config=None,
            log_level=logging.ERROR,  # below it are lines that any client can cause
            timeout_graceful_shutdown=_GRACE,
        )
        super().__init__(config)
        self._greeting = greeting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept the connections of one listener, then greet."""
        await super().startup([])
        (self._listener,) = sockets or []
        self._listener.setblocking(False)
        self._listen()
        print(self._greeting, flush=True)  # noqa: T201 - a command's output

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and end after the requests in flight."""
        asyncio.get_running_loop().remove_reader(self._listener)
        await super().shutdown(sockets)

    def _listen(self) -> None:
        if not self.should_exit:
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(_ACCEPTS):
            try:
                accepted, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                loop.remove_reader(self._listener)
                loop.call_later(_ACCEPT_AGAIN, self._listen)
                return
            accepted.setblocking(False)
            opening = loop.create_task(loop.connect_accepted_socket(self._connection, accepted))
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)

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
    """Return the limit asked for, or the one that the system allows if that is lower."""
    most = max_connections(raise_descriptor_limit())
    return most if settings.max_connections is None else min(most, settings.max_connections)


def _on_signal(act: Callable[[int], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, act, number)
