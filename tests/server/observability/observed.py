"""Applications with metrics and traces, and the values and spans that they report."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from dal.dynamodb.table import Table
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.observability.metrics import Metrics
from server.observability.signals import Signals
from server.observability.tracing import Tracing
from server.services import services_of
from server.settings import Settings
from tests.server.serving import SECRET, Served

Values = dict[tuple[str, tuple[tuple[str, str], ...]], float]
"""The values of samples, by the sample's name and labels."""

SAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = 0x0AF7651916CD43DD8448EB211C80319C


def traced(exporter: InMemorySpanExporter, sample: float = 1.0) -> Tracing:
    """Return a ``Tracing`` that exports each span at once."""
    return Tracing(SimpleSpanProcessor(exporter), sample, clock=lambda: 0.0)


def metrics_of(server: Served) -> str:
    """Return the address of metrics in a server's output."""
    found = re.search(r"Metrics +(\S+)", server.said)
    assert found is not None
    return found[1]


@asynccontextmanager
async def client_of(
    table: Table,
    signals: Signals,
    settings: Settings | None = None,
    headers: dict[str, str] | None = None,
) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of an application over ``table`` that reports to ``signals``."""
    settings = settings or Settings()
    authenticator = Authenticator(secret=lambda: SECRET)
    app = create_app(settings, services_of(settings, table, authenticator, signals=signals))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://localhost", headers=headers
    ) as client:
        yield client


def values_of(text: str) -> Values:
    """Return the samples in the text of a scrape, without the creation times of series."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def scraped(metrics: Metrics) -> Values:
    """Return the samples that a scrape of ``metrics`` returns now."""
    return values_of(generate_latest(metrics.registry).decode())


def value(values: Values, name: str, **labels: str) -> float:
    """Return the value of a sample; 0 if it does not exist yet."""
    return values.get((name, tuple(sorted(labels.items()))), 0.0)


def by(values: Values, name: str, label: str) -> dict[str, float]:
    """Return the sums of a metric's samples for each value of a label, without sums of 0."""
    found: dict[str, float] = {}
    for (sample, labels), amount in values.items():
        if sample == name:
            of = dict(labels)[label]
            found[of] = found.get(of, 0.0) + amount
    return {of: amount for of, amount in found.items() if amount}


@dataclass(frozen=True)
class Node:
    """A span with its child spans, the oldest first."""

    name: str
    attributes: dict[str, Any]
    below: list["Node"]

    def lines(self, depth: int = 0) -> list[str]:
        """Return the names of the spans, each below its parent and indented."""
        return [
            "  " * depth + self.name,
            *(line for one in self.below for line in one.lines(depth + 1)),
        ]


def tree_of(spans: tuple[ReadableSpan, ...]) -> Node:
    """Return the spans of one trace as a tree."""
    ids = {span.context.span_id for span in spans if span.context}
    (root,) = [one for one in spans if one.parent is None or one.parent.span_id not in ids]

    def node(span: ReadableSpan) -> Node:
        assert span.context is not None
        own = span.context.span_id
        below = [one for one in spans if one.parent is not None and one.parent.span_id == own]
        below.sort(key=lambda one: one.start_time or 0)
        return Node(span.name, dict(span.attributes or {}), [node(one) for one in below])

    return node(root)
