"""Processes that send each other changes through Redis."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from features.live.redis_stream import RedisBroker


@asynccontextmanager
async def joined(url: str, table: str) -> AsyncIterator[RedisBroker]:
    """Yield a process's broker. If Redis is unreachable, the broker keeps trying."""
    broker = RedisBroker(url, table)
    try:
        await broker.start()
        yield broker
    finally:
        await broker.close()
