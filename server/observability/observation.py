"""What is observed of one piece of work: its requests to DynamoDB, its plans, and their cost."""

import time
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar, Token
from typing import Any

from graphql import GraphQLError

from dal.query.execution_stats import ExecutionStatistics, SegmentStatistics
from dal.query.instrumentation import READ_INSTRUMENTS, Result
from dal.query.plan import Plan, Segment
from dal.table.account import consumed, is_write
from dal.table.answers import CapacityUntoldError
from dal.table.instrumentation import STORE_INSTRUMENTS, Send
from server.observability.declared import (
    CAPACITY,
    ERRORS,
    OPERATION_SECONDS,
    PLANS,
    REFILLS,
    RETRIES,
    ROWS,
    SEGMENTS,
    STORE_REQUESTS,
    STORE_SECONDS,
)
from server.observability.labels import outcome_of, pattern_of
from server.observability.metrics import Metrics

Named = Callable[[Result], tuple[str, str]]

_pattern: ContextVar[str | None] = ContextVar("access_pattern", default=None)
"""The access pattern of the plan that is read."""

_current: ContextVar["Observation | None"] = ContextVar("observation", default=None)


class Observation:
    """Counts in metrics, and what it has counted itself, for a line of the access log.

    It is a ``StoreInstruments`` and a ``ReadInstruments``. As a context manager it observes what
    is done in its block, and the tasks that this begins.
    """

    def __init__(self, metrics: Metrics | None) -> None:
        self._metrics = metrics
        self.operations: list[str] = []
        """Names of GraphQL operations; a page may run several."""
        self.codes: list[str] = []
        """Of errors in their answers."""
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

    async def operation(self, executing: Awaitable[Result], named: Named[Result]) -> Result:
        """Await an operation; ``named`` tells its name and type by its result."""
        began = time.perf_counter()
        result = await executing
        name, kind = named(result)
        self.operations.append(name)
        if self._metrics is not None:
            self._metrics.observe(OPERATION_SECONDS, time.perf_counter() - began, name, kind)
        return result

    def failed(self, code: str) -> None:
        """Count an error in an answer."""
        self.codes.append(code)
        if self._metrics is not None:
            self._metrics.add(ERRORS, 1, code)

    async def call(self, operation: str, arguments: dict[str, Any], send: Send) -> dict[str, Any]:
        """Count one attempt at an operation of DynamoDB."""
        self.requests += 1
        began = time.perf_counter()
        try:
            answer = await send()
        except CapacityUntoldError as untold:  # an answer nevertheless
            self._called(operation, "ok", time.perf_counter() - began)
            self._spent(operation, arguments, untold.answer)
            raise
        except BaseException as error:
            self._called(operation, outcome_of(error), time.perf_counter() - began)
            raise
        self._called(operation, "ok", time.perf_counter() - began)
        self._spent(operation, arguments, answer)
        return answer

    def _called(self, operation: str, outcome: str, seconds: float) -> None:
        if self._metrics is not None:
            self._metrics.add(STORE_REQUESTS, 1, operation, outcome)
            self._metrics.observe(STORE_SECONDS, seconds, operation)

    def _spent(self, operation: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
        units, written = consumed(answer), is_write(operation)
        if written:
            self.write_units += units
        else:
            self.read_units += units
        if self._metrics is None:
            return
        pattern = _pattern.get() or pattern_of(operation, arguments)
        if units:
            self._metrics.add(CAPACITY, units, "write" if written else "read", pattern)
        if rows := rows_of(answer):
            self._metrics.add(ROWS, rows, pattern)

    def retried(self, operation: str) -> None:
        """Count another attempt."""
        if self._metrics is not None:
            self._metrics.add(RETRIES, 1, operation)

    async def plan(
        self, plan: Plan, stats: ExecutionStatistics, reading: Awaitable[Result]
    ) -> Result:
        """Count a plan and its segments; requests meanwhile are of its access pattern."""
        before = len(stats.segments)
        token = _pattern.set(plan.access_pattern)
        try:
            return await reading
        finally:
            _pattern.reset(token)
            if self._metrics is not None:
                _count_plan(self._metrics, plan, stats.segments[before:])

    def segment(
        self, segment: Segment, read: SegmentStatistics, asking: Awaitable[Result]
    ) -> Awaitable[Result]:
        """Do nothing: the plan counts its segments."""
        del segment, read
        return asking


def observed_now() -> Observation | None:
    """Return what observes the work under way."""
    return _current.get()


def note_errors(errors: Iterable[GraphQLError]) -> None:
    """Count the errors of an answer, as its client sees them."""
    observation = _current.get()
    if observation is not None:
        for error in errors:
            observation.failed(str((error.extensions or {}).get("code")))


def rows_of(answer: dict[str, Any]) -> int:
    """Return how many items an answer holds or has counted."""
    if "Count" in answer:
        return int(answer["Count"])
    if "Responses" in answer:
        return sum(map(len, answer["Responses"].values()))
    return int("Item" in answer)


def _count_plan(metrics: Metrics, plan: Plan, segments: list[SegmentStatistics]) -> None:
    pattern = plan.access_pattern
    metrics.add(PLANS, 1, pattern, plan.index.name or "table")
    skipped = sum(one.skipped for one in segments)
    if skipped:
        metrics.add(SEGMENTS, skipped, pattern, "skipped")
    if len(segments) > skipped:
        metrics.add(SEGMENTS, len(segments) - skipped, pattern, "read")
    if refills := sum(one.refills for one in segments):
        metrics.add(REFILLS, refills, pattern)
