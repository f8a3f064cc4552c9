"""Every metric in one table: the site's page, the dashboard and the alert rules go by it.

Labels take few values: no product, no user, no text of a client's stands in one.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]

FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: from a page of one Query beside the server to a request's deadline."""


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """One metric. Counters end in ``_total`` where they are shown.

    ``across`` says what a gauge of several workers is: their sum, or the greatest.
    """

    name: str
    kind: Kind
    text: str
    labels: tuple[str, ...] = ()
    across: Literal["sum", "max"] = "sum"

    @property
    def shown(self) -> str:
        """The name under which it is scraped; a histogram has ``_bucket``, ``_sum``, ``_count``."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


HTTP_REQUESTS = Declared(
    "marginalia_http_requests",
    "counter",
    "Requests that were answered, by where they went and the status; `none` where the client left.",
    ("route", "status"),
)
OPERATION_SECONDS = Declared(
    "marginalia_operation_seconds",
    "histogram",
    "Seconds of GraphQL operations, from the text to the result. Operations of registered "
    "documents have their names, of others the first 50; the rest is `other`.",
    ("operation", "type"),
)
ERRORS = Declared(
    "marginalia_errors",
    "counter",
    "Errors in answers of GraphQL, by `extensions.code`.",
    ("code",),
)
PLANS = Declared(
    "marginalia_plans",
    "counter",
    "Plans that were read, by access pattern and index. A page has one, or two where the first "
    "was given up; a look around a page is one too.",
    ("access_pattern", "index"),
)
SEGMENTS = Declared(
    "marginalia_plan_segments",
    "counter",
    "Segments of these plans: `read`, or `skipped` because statistics prove them empty.",
    ("access_pattern", "outcome"),
)
REFILLS = Declared(
    "marginalia_plan_refills",
    "counter",
    "Further Queries of segments that ran dry before the page was full.",
    ("access_pattern",),
)
STORE_REQUESTS = Declared(
    "marginalia_dynamodb_requests",
    "counter",
    "Requests to DynamoDB, each attempt for itself, by operation and outcome.",
    ("operation", "outcome"),
)
STORE_SECONDS = Declared(
    "marginalia_dynamodb_request_seconds",
    "histogram",
    "Seconds of these requests.",
    ("operation",),
)
CAPACITY = Declared(
    "marginalia_dynamodb_capacity_units",
    "counter",
    "Capacity that DynamoDB's answers tell, `read` (RCU) or `write` (WCU), by access pattern. "
    "Look-ups by key go under the pattern of their item.",
    ("unit", "access_pattern"),
)
ROWS = Declared(
    "marginalia_dynamodb_rows",
    "counter",
    "Items that reads have answered, by access pattern.",
    ("access_pattern",),
)
RETRIES = Declared(
    "marginalia_dynamodb_retries",
    "counter",
    "Attempts after one that failed, by operation.",
    ("operation",),
)
CIRCUIT = Declared(
    "marginalia_dynamodb_circuit_open",
    "gauge",
    "1 while the circuit breaker has requests fail at once; the number of workers of which that "
    "is so.",
)
RUNNING = Declared("marginalia_requests_running", "gauge", "Requests that run.")
WAITING = Declared("marginalia_requests_waiting", "gauge", "Requests that wait for their turn.")
REFUSED = Declared(
    "marginalia_requests_refused",
    "counter",
    "Requests that were told 503 before the application saw them: the server is busy.",
)
CONNECTIONS = Declared("marginalia_connections", "gauge", "Connections of clients.")
LOOP_LATE = Declared(
    "marginalia_event_loop_late_seconds",
    "gauge",
    "By how much the event loop was late in the last second; of several workers, the latest.",
    across="max",
)
WORKER_DEATHS = Declared(
    "marginalia_worker_deaths", "counter", "Workers that died and were started again."
)
FOLLOWER_LAG = Declared(
    "marginalia_follower_lag_seconds",
    "gauge",
    "How old the newest change was when `stats follow` had counted it; 0 where none was left.",
    across="max",
)
FOLLOWER_ROUND = Declared(
    "marginalia_follower_last_round_timestamp_seconds",
    "gauge",
    "When `stats follow` has last read the stream, in Unix time.",
    across="max",
)
FOLLOWER_RECORDS = Declared(
    "marginalia_follower_records", "counter", "Records of the stream that it has applied."
)

METRICS = tuple(one for one in list(globals().values()) if isinstance(one, Declared))
"""All of them, as they stand here."""
