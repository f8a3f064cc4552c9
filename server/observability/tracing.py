"""Traces by OpenTelemetry: which requests have one, and where the spans go.

A span takes 20 microseconds, so few requests have a trace: a part of those that bring no
``traceparent``, and those whose caller has one. Both together are some a second at most, whoever
asks for more.
"""

import logging
import random
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import Scope

from server.observability.metrics import Metrics
from server.observability.spans import TracedObservation

MOST_TRACES = 5
"""Traces a second of one process: of some ten spans each, they take 0.3 % of it."""

EXPORT_TIMEOUT = 3
"""Seconds that a collector has to take some spans."""

logger = logging.getLogger(__name__)

_PROPAGATOR = TraceContextTextMapPropagator()


def otlp(url: str) -> SpanProcessor:
    """Return what sends spans to a collector at ``url`` every few seconds, from a thread."""
    return BatchSpanProcessor(_ToldExporter(url))


class _ToldExporter(SpanExporter):
    """Says once that the collector is away, where the library says it with every batch."""

    def __init__(self, url: str) -> None:
        logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
        self._exporter = OTLPSpanExporter(
            endpoint=f"{url.rstrip('/')}/v1/traces", timeout=EXPORT_TIMEOUT
        )
        self._away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        away = result is not SpanExportResult.SUCCESS
        if away and not self._away:
            logger.warning("Traces are lost: no collector takes them. Check --trace-url.")
        elif self._away and not away:
            logger.warning("The collector takes traces again.")
        self._away = away
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]


class Tracing:
    """Begins traces, and hands their spans to a processor; ``sample`` is from 0 to 1."""

    def __init__(
        self,
        processor: SpanProcessor,
        sample: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        known = {"service.name": "marginalia", "service.version": version("marginalia")}
        self._provider = TracerProvider(
            ALWAYS_ON, Resource.create().merge(Resource(known)), shutdown_on_exit=False
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("marginalia")
        self._sample = sample
        self._left = float(MOST_TRACES)
        self._clock = clock
        self._looked = clock()

    def begun(
        self, scope: Scope, metrics: Metrics | None, endless: Callable[[Scope], bool]
    ) -> TracedObservation | None:
        """Return what observes a request with spans; None where it gets no trace.

        Requests whose answers are ``endless`` get none; few are left when that is asked.
        """
        parent = None
        for name, value in scope["headers"]:
            if name == b"traceparent":
                parent = _parent(value.decode("latin-1"))
        if parent is not None:
            wanted = get_current_span(parent).get_span_context().trace_flags.sampled
        else:
            wanted = random.random() < self._sample  # noqa: S311 - no secret hangs on it
        if not wanted or endless(scope) or not self._may():
            return None
        return TracedObservation(metrics, self._tracer, parent)

    def _may(self) -> bool:
        """Return whether there were few traces of late."""
        now = self._clock()
        self._left = min(MOST_TRACES, self._left + (now - self._looked) * MOST_TRACES)
        self._looked = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def close(self) -> None:
        """Send what is left; it waits for the collector, but not for long."""
        self._provider.shutdown()


def _parent(text: str) -> Context | None:
    """Return the trace that the caller has; None where the header says none."""
    found = _PROPAGATOR.extract({"traceparent": text})
    return found if get_current_span(found).get_span_context().is_valid else None
