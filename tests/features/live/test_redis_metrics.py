"""The metric of the connection to Redis."""

import pytest

from features.live import redis_stream
from features.live.brokers import broker_of
from server.observability.metrics import Metrics
from server.settings import Settings
from tests.engines.redis import NEEDS_REDIS, redis_server
from tests.features.live.test_redis_stream import until
from tests.server.observability.observed import scraped


@NEEDS_REDIS
async def test_metrics_show_whether_redis_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_stream, "RESPONSE_TIMEOUT", 0.5)
    monkeypatch.setattr(redis_stream, "_BLOCK", 100)
    metrics = Metrics({})

    def up() -> float:
        return scraped(metrics)["marginalia_redis_up", ()]

    with redis_server() as server:
        broker = broker_of(Settings(redis_url=server.url), metrics)
        assert up() == 0
        await broker.start()
        try:
            assert up() == 1
            server.hang(hangs=True)
            await until(lambda: up() == 0)
            server.hang(hangs=False)
            await until(lambda: up() == 1)
        finally:
            await broker.close()
