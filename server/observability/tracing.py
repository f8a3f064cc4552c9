"""Traces requests with OpenTelemetry: samples requests, records spans, and sends them.

A span takes 20 microseconds, so few requests get a trace: requests whose header ``traceparent``
shows that the caller traces them, and a fraction of the requests without this header. At most
``MOST_TRACES`` requests per second get a trace. A span contains the name and the cost of an
operation, and the parts of keys that ``_KEY_FIELDS`` lists. It contains no user names, tokens,
texts, variables or error messages.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from opentelemetry.context import Context, attach
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
    use_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.span import INVALID_SPAN_CONTEXT
from opentelemetry.util.types import AttributeValue

from dal.dynamodb.account import WRITES, consumed
from dal.dynamodb.instrumentation import Send
from dal.query.plan import Plan, Segment
from dal.query.statistics import Result, SegmentStatistics
from schema.execution.compiled.fields import FIELD_INSTRUMENTS
from server.observability.observation import NameOf, Observation

if TYPE_CHECKING:
    from server.observability.metrics import Metrics  # another extra

MOST_TRACES = 5
"""Maximum traces per second of one process. With about ten spans each, they take 0.1 % of the
process's time."""

EXPORT_TIMEOUT = 3
"""Maximum seconds in which the collector must accept a batch of spans."""

MOST_SPANS = 200
"""Maximum spans of one trace, in addition to the request's span. An operation that reads thousands
of items could otherwise have thousands of spans."""

_KEY_FIELDS = frozenset({"product", "language", "locale", "rating", "status"})

_ARGUMENTS = {
    "TableName": "db.collection.name",
    "IndexName": "aws.dynamodb.index_name",
    "Limit": "aws.dynamodb.limit",
    "ConsistentRead": "aws.dynamodb.consistent_read",
}
"""Arguments of requests to DynamoDB, each with the span's attribute that contains it."""

_NONE = NonRecordingSpan(INVALID_SPAN_CONTEXT)

_PROPAGATOR = TraceContextTextMapPropagator()

logger = logging.getLogger(__name__)

Attributes = Mapping[str, AttributeValue]


def otlp(url: str) -> SpanProcessor:
    """Return a processor that sends spans to the collector at ``url``, in its own thread."""
    endpoint = f"{url.rstrip('/')}/v1/traces"
    return BatchSpanProcessor(_QuietExporter(endpoint, timeout=EXPORT_TIMEOUT))


class _QuietExporter(OTLPSpanExporter):
    """Logs once when traces begin to be lost, and once when the collector accepts traces again.

    The library would log each batch that is lost.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
        super().__init__(*args, **options)
        self._away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        away = result is not SpanExportResult.SUCCESS
        if away and not self._away:
            logger.warning("Traces are lost, because no collector accepts them: check --trace-url.")
        elif self._away and not away:
            logger.warning("The collector accepts traces again.")
        self._away = away
        return result


class LimitedSampler(Sampler):
    """Samples the requests that continue a caller's sampled trace, and a fraction of new traces.

    At most ``MOST_TRACES`` requests per second get a trace. This sampler does not receive requests
    whose caller has not sampled its trace. ``ParentBased``, which ``Tracing`` puts around this
    sampler, decides that they get no trace.
    """

    def __init__(self, sample: float, clock: Callable[[], float]) -> None:
        self._without_trace = TraceIdRatioBased(sample)
        self._left = float(MOST_TRACES)
        self._clock = clock
        self._filled = clock()

    def should_sample(
        self, parent_context: Context | None, trace_id: int, name: str, *args: Any, **options: Any
    ) -> SamplingResult:
        """Return whether a request gets a trace."""
        caller = get_current_span(parent_context).get_span_context()
        sampler = ALWAYS_ON if caller.is_valid else self._without_trace
        result = sampler.should_sample(parent_context, trace_id, name, *args, **options)
        if result.decision is Decision.DROP:
            return result
        now = self._clock()  # This is a token bucket. It holds at most the traces of one second.
        self._left = min(MOST_TRACES, self._left + (now - self._filled) * MOST_TRACES)
        self._filled = now
        if self._left < 1:
            return SamplingResult(Decision.DROP)
        self._left -= 1
        return result

    def get_description(self) -> str:
        """Return a name for the SDK's logs."""
        return f"LimitedSampler({self._without_trace.get_description()})"


class Tracing:
    """Begins traces, and passes their spans to a processor.

    ``sample`` is a fraction from 0 to 1.
    """

    def __init__(
        self,
        processor: SpanProcessor,
        sample: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        known = {"service.name": "marginalia", "service.version": version("marginalia")}
        sampler = LimitedSampler(sample, clock)
        self._provider = TracerProvider(
            ParentBased(sampler, remote_parent_sampled=sampler),
            Resource.create().merge(Resource(known)),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("marginalia")

    def begin(
        self, headers: Iterable[tuple[bytes, bytes]], metrics: "Metrics | None"
    ) -> "TracedObservation | None":
        """Return an observation that records spans, or None if the request gets no trace."""
        caller = None
        for name, value in headers:
            if name == b"traceparent":
                caller = _PROPAGATOR.extract({"traceparent": value.decode("latin-1")}, Context())
        span = self._tracer.start_span("request", caller, SpanKind.SERVER)
        return TracedObservation(metrics, self._tracer, span) if span.is_recording() else None

    def close(self) -> None:
        """Send the remaining spans. Wait at most ``EXPORT_TIMEOUT`` for each batch of spans."""
        self._provider.shutdown()


class TracedObservation(Observation):
    """An observation that also records spans, below the request's span.

    It implements ``FieldInstruments`` too.
    """

    def __init__(self, metrics: "Metrics | None", tracer: Tracer, request: Span) -> None:
        super().__init__(metrics)
        self._tracer = tracer
        self._left = MOST_SPANS
        self.request = request
        self.trace_id = f"{request.get_span_context().trace_id:032x}"

    def __enter__(self) -> None:
        super().__enter__()
        self._tokens += FIELD_INSTRUMENTS.set(self), attach(set_span_in_context(self.request))

    def end(self, method: str, route: str, status: str, request_id: str) -> None:
        """End the request's span, with the response's status and the request's cost."""
        self.request.update_name(f"{method} {route}")
        self.request.set_attributes(
            {
                "http.request.method": method,
                "marginalia.route": route,
                "http.response.status_code": int(status) if status.isdigit() else 0,
                "marginalia.request_id": request_id,
                "marginalia.dynamodb.requests": self.requests,
                "marginalia.read_units": self.read_units,
                "marginalia.write_units": self.write_units,
                "marginalia.error_codes": self.codes,
            }
        )
        # GraphQL answers these errors with status 200.
        if status.startswith("5") or {"INTERNAL", "UNAVAILABLE"} & set(self.codes):
            self.request.set_status(StatusCode.ERROR)
        self.request.end()

    @contextmanager
    def span(
        self, name: str, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL
    ) -> Iterator[Span]:
        """Record a span for the ``with`` block.

        After ``MOST_SPANS`` spans, record no more spans. The request's span then has an attribute
        with the number of spans that were left out.
        """
        self._left -= 1
        if self._left < 0:
            self.request.set_attribute("marginalia.spans_left_out", -self._left)
            yield _NONE
            return
        span = self._tracer.start_span(name, kind=kind, attributes=attributes)
        # The library must not record the exception, because its message may contain a client's
        # data.
        with use_span(
            span, end_on_exit=True, record_exception=False, set_status_on_exception=False
        ):
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise

    async def operation(self, executing: Awaitable[Result], name_of: NameOf[Result]) -> Result:
        """Record a span for a GraphQL operation."""
        with self.span("operation", {}) as span:
            result = await super().operation(executing, name_of)
            name, kind = name_of(result)
            span.update_name(f"{kind} {name}")
            span.set_attribute("graphql.operation.name", name)
            span.set_attribute("graphql.operation.type", kind)
            return result

    async def field(self, type_name: str, name: str, result: Awaitable[Any]) -> Any:
        """Record a span for a GraphQL field. The span includes the fields below this field."""
        with self.span(f"{type_name}.{name}", {"graphql.field.name": name}):
            return await result

    async def plan(
        self, plan: Plan, counts: Sequence[SegmentStatistics], reading: Awaitable[Result]
    ) -> Result:
        """Record a span for the execution of a plan."""
        before = len(counts)
        attributes: dict[str, AttributeValue] = {
            "marginalia.access_pattern": plan.access_pattern,
            "marginalia.plan.index": plan.index.name or "table",
            "marginalia.plan.segments": len(plan.segments),
            "marginalia.plan.residual": sorted(plan.residual),
        }
        if plan.capacity is not None:
            attributes["marginalia.plan.estimated_read_units"] = plan.capacity
        with self.span(f"plan {plan.access_pattern}", attributes) as span:
            try:
                return await super().plan(plan, counts, reading)
            finally:
                read = counts[before:]
                span.set_attributes(
                    {
                        "marginalia.plan.segments_skipped": sum(one.skipped for one in read),
                        "marginalia.plan.refills": sum(one.refills for one in read),
                        "marginalia.plan.items_read": sum(one.items_read for one in read),
                    }
                )

    async def segment(
        self, segment: Segment, counts: SegmentStatistics, reading: Awaitable[Result]
    ) -> Result:
        """Record a span for reading the next rows of a segment (a key range of a plan)."""
        rows, requests = counts.items_read, counts.requests
        fields = sorted(f"{name}={value}" for name, value in segment.key if name in _KEY_FIELDS)
        attributes: dict[str, AttributeValue] = {
            "marginalia.segment.key": " ".join(fields),
            "marginalia.segment.refill": requests > 0,
            "marginalia.segment.skipped": counts.skipped,
        }
        with self.span("segment", attributes) as span:
            try:
                return await reading
            finally:
                span.set_attribute("marginalia.segment.rows", counts.items_read - rows)
                span.set_attribute("marginalia.segment.requests", counts.requests - requests)

    async def call(self, operation: str, arguments: dict[str, Any], send: Send) -> dict[str, Any]:
        """Record a span for one attempt at an operation of DynamoDB."""
        name = operation.title().replace("_", "")
        attributes: dict[str, AttributeValue] = {
            "db.system.name": "aws.dynamodb",
            "db.operation.name": name,
        }
        for argument, attribute in _ARGUMENTS.items():
            if argument in arguments:
                attributes[attribute] = arguments[argument]
        if "TransactItems" in arguments:
            attributes["marginalia.actions"] = len(arguments["TransactItems"])
        with self.span(f"DynamoDB {name}", attributes, SpanKind.CLIENT) as span:
            response = await super().call(operation, arguments, send)
            units = "write_units" if operation in WRITES else "read_units"
            span.set_attribute(f"marginalia.{units}", consumed(response))
            if operation not in WRITES:
                span.set_attribute("aws.dynamodb.count", _rows_of(response))
        return response

    def retried(self, operation: str) -> None:
        """Add an event about a retry to the current span."""
        super().retried(operation)
        get_current_span().add_event("retry", {"db.operation.name": operation})


def _rows_of(response: dict[str, Any]) -> int:
    """Return how many items a response contains or counts."""
    if "Count" in response:
        return int(response["Count"])
    if "Responses" in response:
        return sum(map(len, response["Responses"].values()))
    return int("Item" in response)
