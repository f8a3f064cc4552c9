"""Counts a request's operations, plans and errors, and its DynamoDB requests and their capacity.

Each request has one ``Observation``, which holds these counts.

Labels of metrics must have few different values: an access pattern, an outcome, or one of the first
``OPERATIONS`` names of operations. No label contains a product, a user or another text of a client.
"""

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from functools import partial
from typing import TYPE_CHECKING, Any

from graphql import GraphQLError
from strawberry.types import ExecutionResult

from dal.dynamodb.account import WRITES, consumed
from dal.dynamodb.instrumentation import STORE_INSTRUMENTS, Send
from dal.query.plan import Plan, Segment
from dal.query.statistics import READ_INSTRUMENTS, Result, SegmentStatistics
from dal.table.errors import DalError
from schema.execution.executable_schema import ExecutableSchema, OperationResult
from server.observability.outcomes import OUTCOMES

if TYPE_CHECKING:  # an extra
    from prometheus_client import Counter

    from server.observability.metrics import Metrics

OTHER = "other"

OPERATIONS = 50
"""Maximum operation names that become labels, in addition to the names of registered documents.
Without a maximum, clients could create any number of labels."""

_MAX_NAME = 60
"""Maximum characters of an unregistered operation's name in a label. Longer names become
``other``."""

_PATTERNS = {
    "COMMENT": "AP4",
    "PRODUCT": "statistics",
    "USER": "A1",
    "ORDER": "A3",
    "ORG": "T1",
    "TICKET": "T3",
    "MARKER": "health",
    "COUNTING": "maintenance",
    "RECOUNT": "maintenance",
}
"""The access pattern of a request that is not part of a query plan, by the prefix of its item's
partition key. The patterns with a number, such as AP4, are those of docs/access-patterns.md.
``Metrics.labels`` has the patterns of the items of features."""

_WRITES = {
    "AP4": "comments",
    "A1": "users",
    "A3": "orders",
    "T1": "organizations",
    "T3": "tickets",
}
"""The access pattern of a client's write is ``write`` and one of these words, such as ``write
comments``. The keys are the access patterns of the written items in ``_PATTERNS``."""

NameOf = Callable[[Result], tuple[str, str]]
"""Returns the name and the type of the operation that has this result."""

_plan_pattern: ContextVar[str | None] = ContextVar("access_pattern", default=None)
"""The access pattern of the plan that is being executed."""

_current: ContextVar["Observation | None"] = ContextVar("observation", default=None)


class Observation:
    """The counts of a request, for the metrics and for a line of the access log.

    Another object of this class counts the work outside requests. The class implements
    ``StoreInstruments`` and ``ReadInstruments``. As a context manager, an observation observes the
    work in the ``with`` block and in tasks that the block starts. An increment of a metric takes
    longer than all other counting for a request to DynamoDB. So the observation sums up its counts,
    and ``write`` increments each metric once.
    """

    def __init__(self, metrics: "Metrics | None") -> None:
        self._metrics = metrics
        self._counts: dict[Counter, float] = defaultdict(float)
        """Counts that are not added to the metrics yet."""
        self.operations: list[str] = []
        """The names of GraphQL operations. A page may execute several."""
        self.codes: list[str] = []
        """The codes of the errors in the response."""
        self.requests = 0
        self.read_units = 0.0
        self.write_units = 0.0
        self.trace_id: str | None = None
        self._tokens: tuple[Token[Any], ...] = ()

    def __enter__(self) -> None:
        self._tokens = (STORE_INSTRUMENTS.set(self), READ_INSTRUMENTS.set(self), _current.set(self))

    def __exit__(self, *raised: object) -> None:
        for token in self._tokens:
            token.var.reset(token)

    def write(self) -> None:
        """Add the counts since the last call to the metrics."""
        for series, amount in self._counts.items():
            series.inc(amount)
        self._counts.clear()

    def fields(self) -> dict[str, object]:
        """Return the fields for a line of the access log."""
        fields: dict[str, object] = {}
        if self.operations:
            fields["operation"] = self.operations
        if self.codes:
            fields["errors"] = self.codes
        if self.requests:
            fields["dynamodb_requests"] = self.requests
            fields["rcu"] = self.read_units
            fields["wcu"] = self.write_units
        if self.trace_id is not None:
            fields["trace_id"] = self.trace_id
        return fields

    async def operation(self, executing: Awaitable[Result], name_of: NameOf[Result]) -> Result:
        """Await an operation, and record its name and duration."""
        began = time.perf_counter()
        result = await executing
        name, kind = name_of(result)
        self.operations.append(name)
        if self._metrics is not None:
            seconds = time.perf_counter() - began
            self._metrics.operation_seconds[name, kind].observe(seconds)
        return result

    def failed(self, code: str) -> None:
        """Count an error in a response."""
        self.codes.append(code)
        if self._metrics is not None:
            self._counts[self._metrics.errors[code,]] += 1

    async def call(self, operation: str, arguments: dict[str, Any], send: Send) -> dict[str, Any]:
        """Count one attempt at an operation of DynamoDB, and the capacity that it consumed."""
        self.requests += 1
        outcome = "ok"
        try:
            response = await send()
        except BaseException as error:
            outcome = outcome_of(error)
            raise
        finally:
            if self._metrics is not None:
                self._counts[self._metrics.store_requests[operation, outcome]] += 1
        units, written = consumed(response), operation in WRITES
        if written:
            self.write_units += units
        else:
            self.read_units += units
        if self._metrics is not None and units:
            pattern = _plan_pattern.get() or pattern_of(operation, arguments, self._metrics.labels)
            capacity = self._metrics.capacity["write" if written else "read", pattern]
            self._counts[capacity] += units
        return response

    def retried(self, operation: str) -> None:
        """Do nothing, because ``call`` counts each attempt with its outcome."""

    async def plan(
        self, plan: Plan, counts: Sequence[SegmentStatistics], reading: Awaitable[Result]
    ) -> Result:
        """Count a plan and its refills (additional Queries after a Query with too few rows).

        The requests to DynamoDB that execute the plan are counted with the plan's access pattern.
        """
        before = len(counts)
        token = _plan_pattern.set(plan.access_pattern)
        try:
            return await reading
        finally:
            _plan_pattern.reset(token)
            if self._metrics is not None:
                plans = self._metrics.plans[plan.access_pattern, plan.index.name or "table"]
                self._counts[plans] += 1
                # Add 0, too, because alerts need each series from its first plan.
                refills = sum(one.refills for one in counts[before:])
                self._counts[self._metrics.refills[plan.access_pattern,]] += refills

    def segment(
        self, segment: Segment, counts: SegmentStatistics, reading: Coroutine[Any, Any, Result]
    ) -> Coroutine[Any, Any, Result]:
        """Return ``reading`` unchanged, because ``plan`` counts the refills of all segments."""
        del segment, counts
        return reading


def note_errors(errors: Iterable[GraphQLError]) -> None:
    """Count the errors that a response shows to its client."""
    observation = _current.get()
    if observation is not None:
        for error in errors:
            observation.failed(str((error.extensions or {}).get("code")))


class ObservedSchema(ExecutableSchema):
    """Executes operations, and reports their names, durations and errors to the observation."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._names = OperationNames()

    def execute(
        self, query: str | None, *args: Any, **options: Any
    ) -> Coroutine[Any, Any, ExecutionResult]:
        """Execute an operation, and report its name and duration to the request's observation."""
        executing = super().execute(query, *args, **options)
        observation = _current.get()
        if observation is None:
            return executing
        return observation.operation(executing, partial(self._name_of, query or ""))

    def _name_of(self, text: str, result: ExecutionResult) -> tuple[str, str]:
        """Return the label and the type of an operation.

        Both are ``none`` if no operation was executed.
        """
        operation = result.operation if isinstance(result, OperationResult) else None
        if operation is None:
            return "none", "none"
        name = operation.node.name
        trusted = self.documents.is_trusted(text)
        label = self._names.label(None if name is None else name.value, trusted=trusted)
        return label, operation.node.operation.value

    def client_errors(self, errors: list[GraphQLError]) -> list[GraphQLError]:
        """Return the errors that a client sees, and count them."""
        shown = super().client_errors(errors)
        note_errors(shown)
        return shown


class OperationNames:
    """Turns names of operations into labels."""

    def __init__(self) -> None:
        self._others: set[str] = set()

    def label(self, name: str | None, *, trusted: bool) -> str:
        """Return the label for the name of an operation.

        The label is the name itself if the operation's document is registered (``trusted``), or if
        the name is one of the first ``OPERATIONS`` other names. It is ``other`` for further names
        and for long unregistered names, and ``anonymous`` if the operation has no name.
        """
        if name is None:
            return "anonymous"
        if not trusted and len(self._others) < OPERATIONS and len(name) <= _MAX_NAME:
            self._others.add(name)
        return name if trusted or name in self._others else OTHER


def outcome_of(error: BaseException) -> str:
    """Return the outcome of a failed request to DynamoDB.

    The outcome is ``cancelled`` if the deadline has passed or the client has disconnected.
    """
    if isinstance(error, DalError):
        return OUTCOMES.get(type(error), OTHER)
    return "cancelled"


def pattern_of(operation: str, arguments: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Return the access pattern of a request outside a plan, from the keys of its items.

    ``labels`` are the patterns of the items of features, as in ``ItemKind``.

    The pattern of a write begins with ``write``. A transaction may write a comment and some
    counters. So if a write has several items, the first comment, user, order, organisation or
    ticket among them determines the pattern. If there is none, the first item determines it.
    """
    if operation == "scan":
        return "scan"
    if operation == "query":
        partitions = iter([arguments["ExpressionAttributeValues"].get(":p", {}).get("S", "")])
    else:
        partitions = _partitions(arguments)
    prefixes = (one.partition("#")[0] for one in partitions)
    found = (_PATTERNS.get(one) or labels.get(one, OTHER) for one in prefixes)
    if operation not in WRITES:
        return next(found, OTHER)
    patterns = list(found)
    of_clients = (_WRITES[one] for one in patterns if one in _WRITES)
    return f"write {next(of_clients, patterns[0] if patterns else OTHER)}"


def _partitions(value: Any) -> Iterator[str]:
    """Yield the partition key of each item or key in a request's arguments."""
    if isinstance(value, list):
        for one in value:
            yield from _partitions(one)
    elif isinstance(value, dict):
        if "PK" in value:
            yield value["PK"].get("S", "")
        else:
            for one in value.values():
                yield from _partitions(one)
