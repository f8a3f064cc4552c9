"""Chooses the broker that the settings name, and checks it."""

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING

from features.live.write_rule import Broker
from server.errors import CommandError, installing
from server.findings import Finding, danger, ok, warning
from server.settings import Settings

if TYPE_CHECKING:  # an extra
    from server.observability.metrics import Metrics

logger = logging.getLogger(__name__)


def offers_events(settings: Settings) -> bool:
    """Return whether clients may subscribe to events. Several workers need Redis for this."""
    return settings.workers == 1 or settings.redis_url is not None


def broker_of(settings: Settings, metrics: "Metrics | None" = None) -> Broker:
    """Return a broker that uses Redis. Without ``redis_url``, it serves only this process.

    ``metrics`` show whether the broker can use Redis. They are None if metrics are off.
    """
    if settings.redis_url is None:
        return Broker()
    from features.live.redis_stream import RedisBroker  # noqa: PLC0415 - an extra

    if metrics is None:
        return RedisBroker(settings.redis_url, settings.table)
    from features.live.redis_metrics import redis_up  # noqa: PLC0415 - an extra

    return RedisBroker(settings.redis_url, settings.table, redis_up(metrics).set)


def check_broker(settings: Settings) -> None:
    """Raise CommandError if the broker's settings are invalid. Warn if live comments are off."""
    if not offers_events(settings):
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
    from features.live.redis_stream import client_of  # noqa: PLC0415 - an extra

    try:
        client_of(settings.redis_url)
    except (TypeError, ValueError) as error:
        raise CommandError(f"--redis-url has an invalid option: {error}.") from error


async def checked(settings: Settings) -> Finding:
    """Check that Redis responds. Workers and servers use Redis to send changes to each other."""
    if settings.redis_url is None:
        if offers_events(settings):
            return ok("Redis", "not configured. It is not needed, because one process serves.")
        return warning(
            "Redis", "live comments are off, because several workers need Redis: add --redis-url."
        )
    if find_spec("redis") is None:
        return danger("Redis", f"the Python package is not installed: run {installing('redis')}.")
    from redis.exceptions import RedisError  # noqa: PLC0415 - an extra

    from features.live.redis_stream import client_of  # noqa: PLC0415 - an extra

    try:
        async with client_of(settings.redis_url) as client:
            await client.ping()
    except (RedisError, OSError, TypeError, ValueError) as error:
        return danger("Redis", f"it cannot be used ({error}), so live comments would not work.")
    return ok("Redis", "it responds.")
