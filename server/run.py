"""Serves HTTP until a signal ends the server or its store is gone."""

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING

import uvloop

from schema.build import build_schema
from server.app import trusted_documents
from server.auth.secret import ensure_secret, secret_source
from server.banner import address, banner
from server.brokers import check_broker, open_broker
from server.engine.storage import Store, open_store
from server.errors import UNAVAILABLE, CommandError
from server.http.middleware import AllowedHosts
from server.logs import set_up_logs
from server.loop_watchdog import watched
from server.observability.exposition import check_packages, exposed
from server.observability.signals import open_signals
from server.serving import HttpServer, application, duplicates
from server.settings import Settings
from server.workers import Supervisor

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from server.demo.demo_data import DemoLoad

_WHY_NOT = {
    errno.EADDRINUSE: "Port {port} on {host} is taken: stop the other program, or choose another "
    "with --port.",
    errno.EACCES: "Port {port} needs more rights than you have: choose one from 1024 with --port.",
    errno.EADDRNOTAVAIL: "{host} is no address of this machine: choose another with --host.",
}


def run(settings: Settings) -> None:
    """Serve until SIGTERM or Ctrl-C; CommandError when it cannot start or the store is lost."""
    set_up_logs(settings.log_format)
    check_broker(settings)
    check_packages(settings)
    if AllowedHosts(settings).by_address:
        logger.warning(
            "The server listens on %s and answers requests that name localhost or the address at "
            "which they arrive, and no other host: give the address that browsers use with "
            "--public-url, such as https://shop.example, or further hosts with --allowed-host.",
            settings.host,
        )
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
    _on_hangup(_nothing_to_replace, task.cancel)
    async with open_store(settings, share=False) as store:
        secret = secret_source(settings.jwt_secret, settings.data_dir)
        if settings.demo and secret() is None:
            ensure_secret(settings.data_dir)
        url = address(settings.host, listener.getsockname()[1])
        with exposed(settings) as metrics:
            greeting = banner(
                settings, url=url, place=store.place, secret=secret(), metrics=metrics
            )
            if settings.workers > 1:
                await _serve_by_workers(settings, store, listener, greeting)
            else:
                await _serve(settings, store, listener, greeting, secret)
        if store.died.done():
            raise CommandError(store.died.result(), UNAVAILABLE)


async def _serve_by_workers(
    settings: Settings, store: Store, listener: socket.socket, greeting: str
) -> None:
    _check_documents(settings)
    if settings.demo:  # workers would not know how far it is
        await _demo(store).finish()
    supervisor = Supervisor(settings, store.connection, listener, greeting)
    _on_signal(lambda _: supervisor.end())
    _on_hangup(supervisor.replace, supervisor.end)
    store.died.add_done_callback(lambda _: supervisor.end())
    await supervisor.serve()


async def _serve(
    settings: Settings,
    store: Store,
    listener: socket.socket,
    greeting: str,
    secret: Callable[[], str | None],
) -> None:
    async with AsyncExitStack() as stack:
        signals = await stack.enter_async_context(open_signals(settings))
        broker = await stack.enter_async_context(open_broker(settings))
        demo = _demo(store) if settings.demo else None
        so_far = None if demo is None else demo.progress
        app = await stack.enter_async_context(
            application(settings, store.table, secret, broker, signals, so_far)
        )
        server = HttpServer(app, settings, greeting)
        _on_signal(lambda number: server.handle_exit(number, None))
        _on_hangup(_refuse_to_replace, server.end)
        store.died.add_done_callback(lambda _: server.end())
        async with signals.sampling(store.table, server.admission):
            if demo is not None:
                await stack.enter_async_context(demo.in_background())
            with watched(end=settings.ends_when_blocked):
                await server.serve(sockets=duplicates(listener))


def _demo(store: Store) -> "DemoLoad":
    from server.demo.demo_data import DemoLoad  # noqa: PLC0415 - most starts load none

    return DemoLoad(store.table)


def _check_documents(settings: Settings) -> None:
    """Raise CommandError for broken manifests here, or every worker would end by it."""
    if settings.documents:
        trusted_documents(settings, build_schema(introspection=settings.introspection), {})


def _nothing_to_replace() -> None:
    logger.warning("SIGHUP replaces workers, and none serves yet: the server goes on starting.")


def _refuse_to_replace() -> None:
    logger.warning(
        "SIGHUP replaces workers, and this server has none: start it with --workers 2, or more."
    )


def _on_hangup(replace: Callable[[], object], end: Callable[[], object]) -> None:
    """Replace workers at SIGHUP; end the server if its terminal is gone."""
    had_terminal = _has_terminal()

    def act() -> None:
        if had_terminal and not _has_terminal():
            end()
        else:
            replace()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, act)


def _has_terminal() -> bool:
    """Return whether standard input is a terminal; one that was hung up is none any more."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def _on_signal(act: Callable[[int], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, act, number)
