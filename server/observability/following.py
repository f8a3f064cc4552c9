"""The metrics of ``stats follow``: how far it is behind, and that it goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from dal.table.instrumentation import STORE_INSTRUMENTS
from server.observability.declared import FOLLOWER_LAG, FOLLOWER_RECORDS, FOLLOWER_ROUND
from server.observability.metrics import Metrics
from server.observability.observation import Observation
from stream.instrumentation import FOLLOWER_INSTRUMENTS


@contextmanager
def following(metrics: Metrics) -> Iterator[None]:
    """Have followers in this block, and their requests to DynamoDB, counted."""
    store = STORE_INSTRUMENTS.set(Observation(metrics))
    follower = FOLLOWER_INSTRUMENTS.set(FollowerMetrics(metrics))
    try:
        yield
    finally:
        FOLLOWER_INSTRUMENTS.reset(follower)
        STORE_INSTRUMENTS.reset(store)


class FollowerMetrics:
    """A ``FollowerInstruments`` that keeps metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._behind = 0.0
        """Seconds of the shard that was furthest behind in this round."""

    def applied(self, records: int, made: datetime | None, now: datetime) -> None:
        """Count records, and how old the newest of them is."""
        self._metrics.add(FOLLOWER_RECORDS, records)
        if made is not None:
            self._behind = max(self._behind, (now - made).total_seconds())

    def round(self, now: datetime, *, left: bool) -> None:
        """Show how far behind the round has found the counters."""
        self._metrics.set(FOLLOWER_LAG, self._behind if left else 0.0)
        self._metrics.set(FOLLOWER_ROUND, now.timestamp())
        self._behind = 0.0
