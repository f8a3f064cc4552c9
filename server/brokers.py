"""Which broker brings changes from process to process."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec

from live import local_socket
from live.broker import Broker, InProcessBroker
from server.errors import CommandError, installing
from server.settings import Settings


def check_broker(settings: Settings) -> None:
    """Raise CommandError where the broker of the settings cannot be had here."""
    if settings.redis_url is None:
        return
    if find_spec("redis") is None:
        raise CommandError(
            f"--redis-url needs a package that is not installed: run {installing('redis')}."
        )
    from live.redis_stream import BadOptionError, client_of  # noqa: PLC0415 - an extra

    try:
        client_of(settings.redis_url)
    except BadOptionError as error:
        raise CommandError(f"--redis-url has an option of no use: {error}.") from error


@asynccontextmanager
async def open_broker(
    settings: Settings,
    parent: socket.socket | None = None,
    lost: Callable[[], None] = lambda: None,
) -> AsyncIterator[Broker]:
    """Take part until the block ends: by Redis, by way of the ``parent`` of workers, or alone.

    ``lost`` is called when the parent is gone before.
    """
    if settings.redis_url is not None:
        from live import redis_stream  # noqa: PLC0415 - an extra, which most installations lack

        if parent is not None:
            parent.close()  # Redis numbers the changes, so the parent need not
        async with redis_stream.joined(settings.redis_url, settings.table) as broker:
            yield broker
    elif parent is not None:
        async with local_socket.joined(parent, lost) as local:
            yield local
    else:
        yield InProcessBroker()
