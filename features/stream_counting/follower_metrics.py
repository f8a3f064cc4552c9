"""The metrics of ``stats follow``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from prometheus_client import Gauge

from dal.dynamodb.instrumentation import STORE_INSTRUMENTS
from features.stream_counting.follower import FOLLOWER_INSTRUMENTS
from server.observability.metrics import Metrics
from server.observability.observation import Observation


class FollowerMetrics:
    """The progress of a follower, which reads the shards of the table's stream.

    Implements ``FollowerInstruments``. After the follower has read all shards once (a round), this
    object calls ``write``, which adds the counts of requests to DynamoDB to the metrics.
    """

    def __init__(self, metrics: Metrics, write: Callable[[], None]) -> None:
        self._write = write
        self._behind: float | None = None
        """The lag of the slowest shard in this round: the age, in seconds, of its newest record
        when the follower applied this record. None if no record was applied."""
        self._counted_until = Gauge(
            "marginalia_follower_counted_until_timestamp_seconds",
            "The time up to which `stats follow` has counted all changes, in Unix time.",
            registry=metrics.registry,
            multiprocess_mode="livemax",
        )

    def applied(self, made: datetime | None, now: datetime) -> None:
        """Update the lag of the slowest shard after records of a shard were applied.

        ``made`` is the time of the newest applied record. If it is None, the lag does not change.
        """
        if made is not None:
            self._behind = max(self._behind or 0.0, (now - made).total_seconds())

    def round(self, now: datetime, *, unread: bool) -> None:
        """Set the time up to which all changes are counted.

        If ``unread`` is true, a shard may have unread records. The time is then ``now`` minus the
        lag of the slowest shard, or stays the same if no record was applied. Otherwise it is
        ``now``.
        """
        behind = self._behind if unread else 0.0
        if behind is not None:
            self._counted_until.set(now.timestamp() - behind)
        self._behind = None
        self._write()


@contextmanager
def following(metrics: Metrics) -> Iterator[None]:
    """Measure ``stats follow`` in the ``with`` block: its progress and its requests to DynamoDB."""
    observation = Observation(metrics)
    store = STORE_INSTRUMENTS.set(observation)
    progress = FOLLOWER_INSTRUMENTS.set(FollowerMetrics(metrics, observation.write))
    try:
        yield
    finally:
        FOLLOWER_INSTRUMENTS.reset(progress)
        STORE_INSTRUMENTS.reset(store)
        observation.write()
