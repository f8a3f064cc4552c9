"""The spans of one trace: request, operation, field, plan, segment, call of DynamoDB.

A span says what was done and what it cost, never whose it was: no usernames, tokens, texts,
variables or messages of errors. Of keys it shows the fields in ``_SHOWN`` alone.
"""

from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.span import INVALID_SPAN_CONTEXT
from opentelemetry.util.types import AttributeValue

from compiled.instrumentation import FIELD_INSTRUMENTS
from dal.query.execution_stats import ExecutionStatistics, SegmentStatistics
from dal.query.instrumentation import Result
from dal.query.plan import Plan, Segment
from dal.table.account import consumed, is_write
from dal.table.answers import CapacityUntoldError
from dal.table.instrumentation import Send
from server.observability.metrics import Metrics
from server.observability.observation import Named, Observation, rows_of

MOST_SPANS = 200
"""Of one trace; an operation may look up thousands of things."""

_SHOWN = frozenset({"product", "language", "rating", "status"})

_NONE = NonRecordingSpan(INVALID_SPAN_CONTEXT)

Attributes = Mapping[str, AttributeValue]


class TracedObservation(Observation):
    """An observation that makes spans, too. It is a ``FieldInstruments`` besides."""

    def __init__(self, metrics: Metrics | None, tracer: Tracer, parent: Context | None) -> None:
        super().__init__(metrics)
        self._tracer = tracer
        self._left = MOST_SPANS
        self.request = tracer.start_span("request", parent, SpanKind.SERVER)

    @property
    def trace_id(self) -> str | None:
        """The trace's id in hexadecimal digits."""
        return f"{self.request.get_span_context().trace_id:032x}"

    def __enter__(self) -> None:
        super().__enter__()
        self._tokens += FIELD_INSTRUMENTS.set(self), attach(set_span_in_context(self.request))

    def ended(self, name: str, attributes: Attributes, *, failed: bool) -> None:
        """End the request's span, saying what it was and whether the server has failed in it."""
        self.request.update_name(name)
        self.request.set_attributes(dict(attributes))
        if failed:
            self.request.set_status(StatusCode.ERROR)
        self.request.end()

    @contextmanager
    def span(
        self, name: str, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL
    ) -> Iterator[Span]:
        """Surround a part of the work; beyond ``MOST_SPANS`` it goes without a span of its own."""
        self._left -= 1
        if self._left < 0:
            self.request.set_attribute("marginalia.spans_left_out", -self._left)
            yield _NONE
            return
        span = self._tracer.start_span(name, kind=kind, attributes=attributes)
        token = attach(set_span_in_context(span))
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR)
            raise
        finally:
            detach(token)
            span.end()

    async def operation(self, executing: Awaitable[Result], named: Named[Result]) -> Result:
        """Surround an operation of GraphQL."""
        with self.span("operation", {}) as span:
            result = await super().operation(executing, named)
            name, kind = named(result)
            span.update_name(f"{kind} {name}")
            span.set_attribute("graphql.operation.name", name)
            span.set_attribute("graphql.operation.type", kind)
            return result

    async def field(self, type_name: str, name: str, result: Awaitable[Any]) -> Any:
        """Surround a field of GraphQL, with all that is below it."""
        with self.span(f"{type_name}.{name}", {"graphql.field.name": name}):
            return await result

    async def plan(
        self, plan: Plan, stats: ExecutionStatistics, reading: Awaitable[Result]
    ) -> Result:
        """Surround the reading of a plan."""
        before = len(stats.segments)
        with self.span(f"plan {plan.access_pattern}", _of_plan(plan)) as span:
            try:
                return await super().plan(plan, stats, reading)
            finally:
                read = stats.segments[before:]
                span.set_attributes(
                    {
                        "marginalia.plan.segments_skipped": sum(one.skipped for one in read),
                        "marginalia.plan.refills": sum(one.refills for one in read),
                        "marginalia.plan.items_read": sum(one.items_read for one in read),
                    }
                )

    async def segment(
        self, segment: Segment, read: SegmentStatistics, asking: Awaitable[Result]
    ) -> Result:
        """Surround one ask for rows of a segment."""
        rows, requests = read.items_read, read.requests
        fields = sorted(f"{name}={value}" for name, value in segment.key if name in _SHOWN)
        attributes: dict[str, AttributeValue] = {
            "marginalia.segment.key": " ".join(fields),
            "marginalia.segment.refill": requests > 0,
            "marginalia.segment.skipped": read.skipped,
        }
        with self.span("segment", attributes) as span:
            try:
                return await asking
            finally:
                span.set_attribute("marginalia.segment.rows", read.items_read - rows)
                span.set_attribute("marginalia.segment.requests", read.requests - requests)

    async def call(self, operation: str, arguments: dict[str, Any], send: Send) -> dict[str, Any]:
        """Surround one attempt at an operation of DynamoDB."""
        name = operation.title().replace("_", "")
        untold: CapacityUntoldError | None = None
        with self.span(f"DynamoDB {name}", _of_call(name, arguments), SpanKind.CLIENT) as span:
            try:
                answer = await super().call(operation, arguments, send)
            except CapacityUntoldError as told:  # an answer nevertheless: the span has not failed
                untold, answer = told, told.answer
            units = "write_units" if is_write(operation) else "read_units"
            span.set_attribute(f"marginalia.{units}", consumed(answer))
            if not is_write(operation):
                span.set_attribute("aws.dynamodb.count", rows_of(answer))
        if untold is not None:
            raise untold
        return answer

    def retried(self, operation: str) -> None:
        """Note another attempt in the span of who asks."""
        super().retried(operation)
        get_current_span().add_event("retry", {"db.operation.name": operation})


def _of_plan(plan: Plan) -> Attributes:
    known: dict[str, AttributeValue] = {
        "marginalia.access_pattern": plan.access_pattern,
        "marginalia.plan.index": plan.index.name or "table",
        "marginalia.plan.segments": len(plan.segments),
        "marginalia.plan.residual": sorted(plan.residual),
    }
    if plan.capacity is not None:
        known["marginalia.plan.estimated_read_units"] = plan.capacity
    return known


def _of_call(name: str, arguments: Mapping[str, Any]) -> Attributes:
    known: dict[str, AttributeValue] = {
        "db.system.name": "aws.dynamodb",
        "db.operation.name": name,
    }
    for argument, attribute in (
        ("TableName", "db.collection.name"),
        ("IndexName", "aws.dynamodb.index_name"),
        ("Limit", "aws.dynamodb.limit"),
        ("ConsistentRead", "aws.dynamodb.consistent_read"),
    ):
        if argument in arguments:
            known[attribute] = arguments[argument]
    if "TransactItems" in arguments:
        known["marginalia.actions"] = len(arguments["TransactItems"])
    return known
