"""The metrics of one process. Each metric is shown on the dashboard or used in an alert.

``prometheus_client`` keeps each value in a file of the directory ``PROMETHEUS_MULTIPROC_DIR``, and
``exposition`` adds up the files of all processes. A process imports this module only if its metrics
are on.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from dal.dynamodb.account import WRITES
from dal.dynamodb.table import Table
from server.observability.outcomes import OUTCOMES

FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds of the histogram's buckets in seconds. The first bound, 1 ms, is about the time of a page
that needs one Query to a nearby DynamoDB. The last bound is the default deadline of a request."""

EVERY = 1.0
"""Seconds between two samples of a process's state. More samples would not be seen, because
Prometheus reads the metrics only every few seconds."""

Metric = TypeVar("Metric", bound=MetricWrapperBase)


class Series(dict[tuple[str, ...], Metric]):
    """Caches the series of a metric: one for each combination of values of its labels.

    Without the cache, ``Metric.labels()`` would look up the series for each increment, and take as
    long as the increment.
    """

    def __init__(self, metric: Metric) -> None:
        super().__init__()
        self.metric = metric

    def __missing__(self, labels: tuple[str, ...]) -> Metric:
        series: Metric = self.metric.labels(*labels)
        self[labels] = series
        return series


class Metrics:
    """Metrics of requests.

    The series of failures exist from the start, with the value 0. Otherwise an alert would miss the
    first failure: a series that begins at 1 has no increase. Other series do not exist until
    something is counted in them.
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.labels = labels
        """The access patterns of requests for items of features, as in ``ItemKind``."""
        self.registry = CollectorRegistry()
        """The metrics of this process only."""
        self.http_requests = self._counter(
            "marginalia_http_requests",
            "Requests by route and status. Status `none` means that the client disconnected. "
            "Route `refused` means status 503 from a busy server.",
            "route",
            "status",
        )
        self.operation_seconds = Series(
            Histogram(
                "marginalia_operation_seconds",
                "Seconds per GraphQL operation. `operation` is the name in a registered document, "
                "one of the first 50 other names, or `other`.",
                ("operation", "type"),
                buckets=FAST,
                registry=self.registry,
            )
        )
        self.errors = self._counter(
            "marginalia_errors", "GraphQL errors by `extensions.code`.", "code"
        )
        for code in ("INTERNAL", "UNAVAILABLE", "THROTTLED"):
            self.errors[code,].inc(0)
        self.plans = self._counter(
            "marginalia_plans",
            "Executed plans by access pattern and index. Most pages execute one plan.",
            "access_pattern",
            "index",
        )
        self.refills = self._counter(
            "marginalia_plan_refills",
            "Additional Queries of a key range, sent because its first Query returned too few "
            "rows.",
            "access_pattern",
        )
        self.store_requests = self._counter(
            "marginalia_dynamodb_requests",
            "Requests to DynamoDB by operation and outcome. Each attempt counts as a request.",
            "operation",
            "outcome",
        )
        for operation in ("query", "get_item", "batch_get_item", *WRITES):
            for outcome in OUTCOMES.values():
                self.store_requests[operation, outcome].inc(0)
        self.capacity = self._counter(
            "marginalia_dynamodb_capacity_units",
            "Consumed capacity, `read` (RCU) or `write` (WCU), by access pattern. A GetItem "
            "has the pattern of its kind of item, such as `AP4` for comments.",
            "unit",
            "access_pattern",
        )

    def _counter(self, name: str, text: str, *labels: str) -> Series[Counter]:
        return Series(Counter(name, text, labels, registry=self.registry))


class Load(Protocol):
    """The load of a serving process: its numbers of running and waiting requests.

    ``refused`` is the number of requests that the process has refused since its start.
    """

    running: int
    refused: int

    @property
    def waiting(self) -> int: ...  # noqa: D102


class StateSampler:
    """Samples the state of a serving process every second: queues, circuit breaker, event loop.

    With each sample, it calls ``write``, which adds the counts of work outside requests to the
    metrics.
    """

    def __init__(
        self, metrics: Metrics, write: Callable[[], None], table: Table, load: Load
    ) -> None:
        self._metrics, self._write = metrics, write
        self._table, self._load = table, load
        self._refused = 0
        registry = metrics.registry
        requests = Series(
            Gauge(
                "marginalia_requests",
                "Requests that are `running` or `waiting`.",
                ("state",),
                registry=registry,
                multiprocess_mode="livesum",
            )
        )
        self._running, self._waiting = requests["running",], requests["waiting",]
        self._circuit = Gauge(
            "marginalia_dynamodb_circuit_open",
            "Workers whose circuit breaker is open: their requests fail immediately.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._late = Gauge(
            "marginalia_event_loop_late_seconds",
            "Delay of the event loop in the last second: the longest of all workers.",
            registry=registry,
            multiprocess_mode="livemax",
        )
        Gauge(
            "marginalia_worker_start_time_seconds",
            "When the youngest worker started, in Unix time.",
            registry=registry,
            multiprocess_mode="livemax",
        ).set(time.time())
        self._seen = Gauge(
            "marginalia_worker_seen_timestamp_seconds",
            "When the event loop of each worker last ran, in Unix time: the oldest of all workers.",
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._seen.set(time.time())

    async def run(self) -> None:
        """Sample every second until cancelled, and once more at the end."""
        loop = asyncio.get_running_loop()
        late = 0.0
        try:
            while True:
                self.sample(late)
                due = loop.time() + EVERY
                await asyncio.sleep(EVERY)
                late = max(0.0, loop.time() - due)
        finally:
            self.sample(late)

    def sample(self, late: float) -> None:
        """Set the gauges; ``late`` is the event loop's delay in seconds."""
        self._running.set(self._load.running)
        self._waiting.set(self._load.waiting)
        self._circuit.set(self._table.circuit_open)
        self._late.set(late)
        self._seen.set(time.time())
        refused = self._load.refused
        self._metrics.http_requests["refused", "503"].inc(refused - self._refused)
        self._refused = refused
        self._write()
