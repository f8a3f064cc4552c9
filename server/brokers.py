"""The broker that passes changes between processes: Redis, or none."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from dal.live.log import Broker, InProcessBroker
from server.errors import CommandError, installing
from server.settings import Settings

logger = logging.getLogger(__name__)


def check_broker(settings: Settings) -> None:
    """Raise CommandError if the broker of the settings cannot be used."""
    if not settings.live:
        logger.warning(
            "Live comments are off: several workers need --redis-url to pass each other changes."
        )
    if settings.redis_url is None:
        return
    if find_spec("redis") is None:
        raise CommandError(
            f"--redis-url needs a package that is not installed: run {installing('redis')}."
        )
    from dal.live.redis_stream import BadOptionError, client_of  # noqa: PLC0415 - an extra

    try:
        client_of(settings.redis_url)
    except BadOptionError as error:
        raise CommandError(f"--redis-url has an invalid option: {error}.") from error


@asynccontextmanager
async def open_broker(settings: Settings) -> AsyncIterator[Broker]:
    """Yield the broker of the settings until the block ends."""
    if settings.redis_url is not None:
        from dal.live import redis_stream  # noqa: PLC0415 - an extra

        async with redis_stream.joined(settings.redis_url, settings.table) as broker:
            yield broker
    else:
        yield InProcessBroker()
