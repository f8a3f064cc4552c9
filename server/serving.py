"""Makes the parts of a running server: the application, the broker, and uvicorn's server.

The broker delivers each write to the subscribers.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec

import uvicorn
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from dal.live import erasures
from dal.live.log import Broker, InProcessBroker
from dal.repositories.photo_uploads import PhotoUploads
from dal.stores import Stores
from server.analytics import analytics_of
from server.app import Served, create_app
from server.auth.authenticator import Authenticator, SignInCode
from server.auth.claims import ClaimRules
from server.auth.issuer import Issuer
from server.errors import CommandError, installing
from server.http.connections import Connection
from server.http.websocket import PING_EVERY, WebSocketProtocol
from server.local_engine.data_directory import DataDirectory
from server.observability.signals import open_signals
from server.settings import Settings

MAX_SOCKET_MESSAGE = 131_072
"""Maximum bytes of a WebSocket message. The longest document has 20,000 characters."""


logger = logging.getLogger(__name__)

WORKER_START = 60
"""Maximum seconds until a started worker must be ready."""

GRACE = 10
"""Maximum seconds for which a stopping server waits for its running requests."""

LISTENERS = 16
"""Number of duplicates of the listening socket. In each turn of the event loop, uvloop accepts one
connection per socket. On a busy server, a turn can take tens of milliseconds, so with one socket
new connections would wait too long."""


def authenticator_of(settings: Settings, secret: Callable[[], str | None]) -> Authenticator:
    """Return the object that verifies JWTs by the rules of the settings."""
    issuer = None
    if settings.jwt_issuer is not None or settings.jwks_url is not None:
        issuer = Issuer(settings.jwt_issuer, settings.jwks_url)
    role_names: dict[str, frozenset[str]] = {}
    for theirs, ours in (role.rsplit("=", 1) for role in settings.jwt_roles):
        role_names[theirs] = role_names.get(theirs, frozenset()) | {ours}
    rules = ClaimRules(
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        names=settings.jwt_name_claims,
        roles=settings.jwt_roles_claim,
        role_names=role_names,
    )
    return Authenticator(secret=secret, issuer=issuer, rules=rules)


@asynccontextmanager
async def open_application(
    settings: Settings,
    table: Table,
    secret: Callable[[], str | None],
    loading: Callable[[], tuple[int, int] | None] | None = None,
    code: SignInCode | None = None,
) -> AsyncIterator[Served]:
    """Yield the application for an open table, with its broker, metrics, traces and access log.

    ``secret`` returns the secret that verifies JWTs. ``loading`` and ``code`` are passed to
    ``create_app``.
    """
    authenticator = authenticator_of(settings, secret)
    analytics = analytics_of(settings)
    async with (
        open_signals(settings) as signals,
        _open_broker(settings) as broker,
        _open_uploads(settings) as uploads,
    ):
        stores = Stores(table, broker)
        for work in stores.background:
            work.start()
        app = create_app(
            settings,
            table=table,
            authenticator=authenticator,
            directory=DataDirectory(settings.data_dir) if settings.embedded else None,
            broker=broker,
            stores=stores,
            documents=await stores.documents.all(),
            signals=signals,
            analytics=analytics,
            uploads=uploads,
            loading=loading,
            code=code,
        )
        served = Served(app, settings)
        watching = asyncio.create_task(erasures.watch(table, broker))
        warning = None
        if authenticator.issuer is not None:
            warning = asyncio.create_task(authenticator.issuer.warn_if_unavailable())
        analytics.start()
        try:
            async with signals.sampling(table, served.admission):
                yield served
        finally:
            watching.cancel()
            if warning is not None:
                warning.cancel()
            await analytics.close()


def check_broker(settings: Settings) -> None:
    """Raise CommandError if the broker's settings are invalid. Warn if live comments are off."""
    if not settings.live:
        logger.warning(
            "Live comments are off, because several workers need Redis to send changes to each "
            "other: add --redis-url."
        )
    if settings.redis_url is None:
        return
    if find_spec("redis") is None:
        raise CommandError(
            f"--redis-url needs a Python package that is not installed: run {installing('redis')}."
        )
    from dal.live.redis_stream import client_of  # noqa: PLC0415 - an extra

    try:
        client_of(settings.redis_url)
    except (TypeError, ValueError) as error:
        raise CommandError(f"--redis-url has an invalid option: {error}.") from error


@asynccontextmanager
async def _open_broker(settings: Settings) -> AsyncIterator[Broker]:
    """Yield a broker that uses Redis. Without ``redis_url``, the broker serves only this process.

    A broker that uses Redis is closed at the end of the ``with`` block.
    """
    if settings.redis_url is not None:
        from dal.live import redis_stream  # noqa: PLC0415 - an extra

        async with redis_stream.joined(settings.redis_url, settings.table) as broker:
            yield broker
    else:
        yield InProcessBroker()


@asynccontextmanager
async def _open_uploads(settings: Settings) -> AsyncIterator[PhotoUploads | None]:
    """Yield the object that signs upload forms for the bucket of the settings, or None."""
    if settings.upload_bucket is None:
        yield None
        return
    from dal.dynamodb.sdk import open_s3  # noqa: PLC0415 - imports the AWS SDK

    async with open_s3(settings.upload_bucket) as store:
        yield await PhotoUploads.open(store, settings.upload_url)


def http_config(
    app: ASGIApp | Callable[[], ASGIApp], settings: Settings, *, workers: int | None = None
) -> uvicorn.Config:
    """Return uvicorn's configuration.

    If ``workers`` is a number, ``app`` is a function that each worker calls to get its application.
    """
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
        ws_per_message_deflate=False,  # Compression would need 10 kB of memory per connection.
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
