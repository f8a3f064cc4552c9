"""Runs the server: opens the port and the store, prints the addresses, and serves requests."""

import asyncio
import errno
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import uvloop

from features.trusted_documents.registration import require_documents
from server.auth.authenticator import (
    CODE_SECONDS,
    DEMO_LIFETIME,
    DEMO_USER,
    SignInCode,
    make_token,
)
from server.auth.secret import ensure_secret, secret_source
from server.errors import UNAVAILABLE, USAGE, CommandError
from server.http.middleware import AllowedHosts
from server.local_engine.storage import Store, open_store
from server.logs import set_up_logs
from server.loop_watchdog import watched
from server.observability.exposition import exposed
from server.observability.vitals import Vitals
from server.services import FILE_CHECKS, OPTION_CHECKS
from server.serving import YOUNG, HttpServer, duplicates, open_application
from server.settings import Settings
from server.workers import Supervisor

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from features.demo.demo_data import DemoLoad

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - only for links

_WHY_NOT = {
    errno.EADDRINUSE: "Port {port} on {host} is already in use: stop the other program, or choose "
    "another port with --port, as in `make run ARGS='--port 8001'`.",
    errno.EACCES: "You may not use port {port}: choose port 1024 or higher with --port.",
    errno.EADDRNOTAVAIL: "{host} is not an address of this machine: choose another address with "
    "--host.",
}


def run(settings: Settings, notices: Sequence[str] = ()) -> None:
    """Serve until SIGTERM or Ctrl-C. Log ``notices`` as warnings.

    Raise CommandError if the server cannot start, or if the storage engine ends and is not
    restarted.
    """
    # The imports and the schema that follow create 100,000 objects, of which the collector could
    # free nothing.
    gc.set_threshold(YOUNG)
    set_up_logs(settings.log_format)
    if settings.log_format == "json":  # In a terminal, the addresses on standard output suffice.
        logger.setLevel(logging.INFO)
    for notice in notices:
        logger.warning("%s", notice)
    for check in OPTION_CHECKS:
        check(settings)
    if AllowedHosts(settings).by_address:
        logger.warning(
            "The server listens on %s, but serves only requests for localhost or for its IP "
            "address: set the address that browsers use with --public-url, such as "
            "https://shop.example, or add hosts with --allowed-host.",
            settings.host,
        )
    with listening(settings.host, settings.port) as listener:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_run(settings, listener))
        except asyncio.CancelledError:
            # A signal during the start has cancelled the task.
            return


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Open the port. Clients that connect before the server is ready wait for it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # Prefer IPv4 to IPv6, because every client can use IPv4.
        family, *_, place = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        listener = socket.create_server((str(place[0]), port), family=family, backlog=2048)
    except socket.gaierror as error:
        raise CommandError(
            f"The host {host} is unknown: choose another address with --host."
        ) from error
    except OSError as error:
        sentence = _WHY_NOT.get(error.errno or 0, "{host} port {port} cannot be opened: {reason}.")
        sentence = sentence.format(host=host, port=port, reason=error.strerror)
        raise CommandError(
            sentence, UNAVAILABLE if error.errno == errno.EADDRINUSE else USAGE
        ) from error
    with listener:
        # Without this option, responses can wait 40 ms for an ACK. Accepted connections inherit the
        # option. asyncio sets it only for sockets with a protocol number, which these sockets lack.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


async def _run(settings: Settings, listener: socket.socket) -> None:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - this coroutine runs in a task
    _on_signal(lambda _: task.cancel())
    warning = "SIGHUP replaces workers, but no worker serves yet. The start continues."
    _on_hangup(partial(logger.warning, warning), task.cancel)
    from importlib.metadata import version  # noqa: PLC0415 - imports the package email

    logger.info("Marginalia %s starts with %d workers.", version("marginalia"), settings.workers)
    async with open_store(settings, share=False) as store:
        await require_documents(settings, store.table)
        secret = secret_source(settings.jwt_secret, settings.data_dir)
        if secret() is None and (settings.demo or settings.sign_in_client_id is not None):
            ensure_secret(settings.data_dir)
        url = address(settings.host, listener.getsockname()[1])
        directory = store.directory
        vitals = Vitals(store.engine_restarts, None if directory is None else directory.database)
        with exposed(settings, vitals) as metrics:
            code = SignInCode() if settings.demo and settings.workers == 1 else None
            greeting = banner(settings, url, store.place, metrics, secret(), code)
            if settings.workers > 1:
                await _serve_by_workers(settings, store, listener, greeting, vitals)
            else:
                await _serve(settings, store, listener, greeting, secret, code)
        if store.died.done():
            raise CommandError(store.died.result(), UNAVAILABLE)


async def _serve_by_workers(
    settings: Settings, store: Store, listener: socket.socket, greeting: str, vitals: Vitals
) -> None:
    # Check the files that the settings name before workers start. If a file is invalid, this raises
    # one error. Otherwise every worker would log the error and end.
    for check in FILE_CHECKS:
        check(settings)
    if settings.demo:
        # Load the demo data before workers start, because their pages cannot show the progress.
        async with _demo(store).in_background() as loading:
            either: set[asyncio.Future[Any]] = {loading, store.died}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    supervisor = Supervisor(settings, store.connection, listener, greeting, vitals)
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
    code: SignInCode | None,
) -> None:
    demo = _demo(store) if settings.demo else None
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(
            open_application(
                settings, store.table, secret, loading=demo.progress if demo else None, code=code
            )
        )
        server = HttpServer(app, settings, greeting)
        _on_signal(lambda number: server.handle_exit(number, None))
        warning = (
            "SIGHUP replaces workers, but this server has no workers: start it with --workers 2 or "
            "more."
        )
        _on_hangup(partial(logger.warning, warning), server.end)
        store.died.add_done_callback(lambda _: server.end())
        if demo is not None:
            await stack.enter_async_context(demo.in_background(server.greeted))
        with watched(end=settings.ends_when_blocked):
            await server.serve(sockets=duplicates(listener))


def _demo(store: Store) -> "DemoLoad":
    # Most servers have no demo data.
    from dal.composition import KINDS  # noqa: PLC0415
    from features.demo.demo_data import DemoLoad  # noqa: PLC0415

    return DemoLoad(store, KINDS)


def _on_hangup(replace: Callable[[], object], end: Callable[[], object]) -> None:
    """On SIGHUP, call ``end`` if the server's terminal was closed. Otherwise call ``replace``."""
    had_terminal = _has_terminal()

    def act() -> None:
        if had_terminal and not _has_terminal():
            end()
        else:
            replace()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, act)


def _has_terminal() -> bool:
    """Return whether standard input is a terminal that is still open."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def address(host: str, port: int) -> str:
    """Return the URL with which a browser on this machine can reach the server."""
    host = _WILDCARDS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def banner(
    settings: Settings,
    url: str,
    place: str,
    metrics: str | None,
    secret: str | None,
    code: SignInCode | None,
) -> str:
    """Return the text with the server's addresses. In a demo, add a link and a JWT."""
    lines = [
        "",
        f"  Pages     {url}/  (open them in a browser)",
        f"  GraphiQL  {url}/graphql",
        f"  GraphQL   POST {url}/graphql",
        f"  Data      {place}",
    ]
    if metrics is not None:
        lines.append(f"  Metrics   {metrics}")
    if settings.demo and secret is not None:
        encoded = make_token(secret, user=DEMO_USER, lifetime=DEMO_LIFETIME)
        link, once = f"{url}/sign-in", f"as user {DEMO_USER}, with one click"
        if code is not None:
            link = f"{link}?code={code.text}"
            once = f"as user {DEMO_USER}, only once, within {CODE_SECONDS // 60} minutes"
        lines += [
            f"  Sign in   {link}",
            f"            {once}",
            "",
            f'  This header lets you write as user "{DEMO_USER}" for {DEMO_LIFETIME.days} days,',
            '  for example in GraphiQL\'s tab "Headers":',
            "",
            f'  {{"Authorization": "Bearer {encoded}"}}',
        ]
    return "\n".join([*lines, "", "  Ctrl-C stops the server.", ""])


def _on_signal(act: Callable[[int], object]) -> None:
    def logged(number: int) -> None:
        logger.info("%s stops the server.", signal.Signals(number).name)
        act(number)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, logged, number)
