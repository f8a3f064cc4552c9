"""What is observed of one piece of work: its operations, requests to DynamoDB, plans and costs."""

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextvars import ContextVar, Token
from functools import partial
from typing import TYPE_CHECKING, Any

from graphql import GraphQLError
from strawberry.types import ExecutionResult

from dal.account import consumed, is_write
from dal.instrumentation import (
    READ_INSTRUMENTS,
    STORE_INSTRUMENTS,
    ObservedPlan,
    ObservedSegment,
    Result,
    SegmentCounts,
    Send,
)
from schema.build import ExecutableSchema
from schema.execution.execute import SizedResult
from server.observability.labels import OperationNames, outcome_of, pattern_of

if TYPE_CHECKING:  # an extra
    from prometheus_client import Counter

    from server.observability.metrics import Metrics

Named = Callable[[Result], tuple[str, str]]

_pattern: ContextVar[str | None] = ContextVar("access_pattern", default=None)
"""The access pattern of the plan that is read."""

_current: ContextVar["Observation | None"] = ContextVar("observation", default=None)


class Observation:
    """Counts for the metrics and for a line of the access log.

    It is a ``StoreInstruments`` and a ``ReadInstruments``. As a context manager it observes the
    work in its block, and the tasks that start there. The metrics get the counts by ``write``, as
    an increment takes longer than the rest of what is done here for a request to DynamoDB.
    """

    def __init__(self, metrics: "Metrics | None") -> None:
        self._metrics = metrics
        self._counts: dict[Counter, float] = defaultdict(float)
        """What the metrics have not got yet."""
        self.operations: list[str] = []
        """Names of GraphQL operations; a page may run several."""
        self.codes: list[str] = []
        """Codes of the errors in their answers."""
        self.requests = 0
        self.read_units = 0.0
        self.write_units = 0.0
        self._tokens: tuple[Token[Any], ...] = ()

    @property
    def trace_id(self) -> str | None:
        """The trace that it is a part of; None without one."""
        return None

    def __enter__(self) -> None:
        self._tokens = (STORE_INSTRUMENTS.set(self), READ_INSTRUMENTS.set(self), _current.set(self))

    def __exit__(self, *raised: object) -> None:
        for token in self._tokens:
            token.var.reset(token)

    def write(self) -> None:
        """Add what was counted since the last time to the metrics."""
        if self._counts:
            for series, amount in self._counts.items():
                series.inc(amount)
            self._counts.clear()

    async def operation(self, executing: Awaitable[Result], named: Named[Result]) -> Result:
        """Await an operation; ``named`` returns its name and type by its result."""
        began = time.perf_counter()
        result = await executing
        name, kind = named(result)
        self.operations.append(name)
        if self._metrics is not None:
            seconds = time.perf_counter() - began
            self._metrics.operation_seconds[name, kind].observe(seconds)
        return result

    def failed(self, code: str) -> None:
        """Count an error in an answer."""
        self.codes.append(code)
        if self._metrics is not None:
            self._counts[self._metrics.errors[code,]] += 1

    async def call(self, operation: str, arguments: dict[str, Any], send: Send) -> dict[str, Any]:
        """Count one attempt at an operation of DynamoDB."""
        self.requests += 1
        outcome = "ok"
        try:
            answer = await send()
        except BaseException as error:
            outcome = outcome_of(error)
            raise
        finally:
            if self._metrics is not None:
                self._counts[self._metrics.store_requests[operation, outcome]] += 1
        self._spent(operation, arguments, answer)
        return answer

    def _spent(self, operation: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
        units, written = consumed(answer), is_write(operation)
        if written:
            self.write_units += units
        else:
            self.read_units += units
        if self._metrics is not None and units:
            pattern = _pattern.get() or pattern_of(operation, arguments)
            capacity = self._metrics.capacity["write" if written else "read", pattern]
            self._counts[capacity] += units

    def retried(self, operation: str) -> None:
        """Do nothing: each attempt is counted with its outcome."""

    async def plan(
        self, plan: ObservedPlan, counts: Sequence[SegmentCounts], reading: Awaitable[Result]
    ) -> Result:
        """Count a plan and its refills; requests meanwhile are of its access pattern."""
        before = len(counts)
        token = _pattern.set(plan.access_pattern)
        try:
            return await reading
        finally:
            _pattern.reset(token)
            if self._metrics is not None:
                plans = self._metrics.plans[plan.access_pattern, plan.index.name or "table"]
                self._counts[plans] += 1
                if refills := sum(one.refills for one in counts[before:]):
                    self._counts[self._metrics.refills[plan.access_pattern,]] += refills

    def segment(
        self, segment: ObservedSegment, counts: SegmentCounts, reading: Awaitable[Result]
    ) -> Awaitable[Result]:
        """Do nothing: the plan counts its segments."""
        del segment, counts
        return reading


def note_errors(errors: Iterable[GraphQLError]) -> None:
    """Count the errors of an answer, as its client sees them."""
    observation = _current.get()
    if observation is not None:
        for error in errors:
            observation.failed(str((error.extensions or {}).get("code")))


class ObservedSchema(ExecutableSchema):
    """Executes operations, and passes their names, durations and errors to the observation."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._names = OperationNames()

    def execute(
        self, query: str | None, *args: Any, **options: Any
    ) -> Coroutine[Any, Any, ExecutionResult]:
        """Return the result of an operation, its errors as its client may see them."""
        executing = super().execute(query, *args, **options)
        observation = _current.get()
        if observation is None:
            return executing
        return observation.operation(executing, partial(self._named, query or ""))

    def _named(self, text: str, result: ExecutionResult) -> tuple[str, str]:
        """Return the label of an operation, and its type; ``none`` where there was none to run."""
        operation = result.operation if isinstance(result, SizedResult) else None
        if operation is None:
            return "none", "none"
        name = operation.node.name
        trusted = self.documents.is_trusted(text)
        label = self._names.label(None if name is None else name.value, trusted=trusted)
        return label, operation.node.operation.value

    def _told(self, errors: list[GraphQLError]) -> list[GraphQLError]:
        told = super()._told(errors)
        note_errors(told)
        return told
