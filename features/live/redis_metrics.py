"""The metric of the connections to Redis."""

from prometheus_client import Gauge

from server.observability.metrics import Metrics


def redis_up(metrics: Metrics) -> Gauge:
    """Return the gauge that shows whether this process can use Redis. It begins at 0."""
    return Gauge(
        "marginalia_redis_up",
        "1 if all workers can use Redis, otherwise 0. Without Redis it does not exist.",
        registry=metrics.registry,
        multiprocess_mode="livemin",
    )
