"""An OpenTelemetry collector, which receives spans by OTLP over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.server.observability.observed import Node


class Collector:
    """The received spans. ``services`` are the names of the servers that sent them."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.url = ""

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.services |= {
                one.value.string_value
                for one in resource.resource.attributes
                if one.key == "service.name"
            }
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)

    def traces(self) -> list[Node]:
        """Return each trace as a tree of spans, the oldest first."""
        ids = {span.span_id for span in self.spans}
        roots = [span for span in self.spans if span.parent_span_id not in ids]
        return [
            self._tree(root) for root in sorted(roots, key=lambda one: one.start_time_unix_nano)
        ]

    def _tree(self, span: Span) -> Node:
        below = [one for one in self.spans if one.parent_span_id == span.span_id]
        below.sort(key=lambda one: one.start_time_unix_nano)
        attributes = {one.key: _value(one.value) for one in span.attributes}
        attributes["milliseconds"] = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
        return Node(span.name, attributes, [self._tree(one) for one in below])


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector on a free port."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                collector.take(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        collector.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
