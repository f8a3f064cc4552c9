"""ASGI middleware around the whole application: one observation for each request."""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from asgi_correlation_id import correlation_id
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.observability.access_log import AccessLog
from server.observability.labels import route_of
from server.observability.observation import Observation

if TYPE_CHECKING:  # extras
    from server.observability.metrics import Metrics
    from server.observability.tracing import TracedObservation, Tracing

_TRACED = {"graphql", "page"}
"""Routes whose requests may get a trace; probes and files need none."""


class ObservedApp:
    """Counts, traces and logs requests.

    ``endless`` returns whether the answer to a request goes on for hours; such a request gets no
    trace.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: "Metrics | None",
        tracing: "Tracing | None",
        access_log: AccessLog | None,
        endless: Callable[[Scope], bool],
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._tracing = tracing
        self._access_log = access_log
        self._endless = endless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        route, began = route_of(scope), time.perf_counter()
        traced = self._traced(scope, route)
        observation = traced or Observation(self._metrics)
        answer = _Answer(send, observation)
        try:
            with observation:
                await self._app(scope, receive, answer.send)
        finally:
            if traced is not None:
                _end(traced, scope, route, answer.status)
            if self._metrics is not None:
                self._metrics.http_requests[route, answer.status].inc()
                observation.write()
            if self._access_log is not None:
                seconds = time.perf_counter() - began
                self._access_log.add(_line(scope, route, answer, observation, seconds))

    def _traced(self, scope: Scope, route: str) -> "TracedObservation | None":
        if self._tracing is None or route not in _TRACED or self._endless(scope):
            return None
        return self._tracing.begin(scope, self._metrics)


class _Answer:
    """Notes status and size of an answer as it is sent.

    With each piece of the answer the metrics get what was counted for it: the answers to
    subscriptions go on for hours.
    """

    def __init__(self, send: Send, observation: Observation) -> None:
        self._send = send
        self._observation = observation
        self.status = "none"
        self.bytes = 0

    def send(self, message: Message) -> Awaitable[None]:
        kind = message["type"]
        if kind == "http.response.body":
            self.bytes += len(message.get("body", b""))
            self._observation.write()
        elif kind == "websocket.send":
            self._observation.write()
        elif kind in {"http.response.start", "websocket.http.response.start"}:
            self.status = str(message["status"])
        elif kind == "websocket.accept":
            self.status = "101"
        return self._send(message)


def _end(traced: "TracedObservation", scope: Scope, route: str, status: str) -> None:
    attributes = {
        "http.request.method": scope["method"],
        "marginalia.route": route,
        "http.response.status_code": int(status) if status.isdigit() else 0,
        "marginalia.request_id": correlation_id.get() or "",
        "marginalia.dynamodb.requests": traced.requests,
        "marginalia.read_units": traced.read_units,
        "marginalia.write_units": traced.write_units,
        "marginalia.error_codes": traced.codes,
    }
    traced.ended(f"{scope['method']} {route}", attributes, failed=status.startswith("5"))


def _line(
    scope: Scope, route: str, answer: _Answer, observation: Observation, seconds: float
) -> dict[str, object]:
    fields: dict[str, object] = {
        "method": scope.get("method", "GET"),
        "path": scope["path"],
        "status": answer.status,
        "request_id": correlation_id.get() or "-",
        "milliseconds": round(seconds * 1e3, 2),
        "bytes": answer.bytes,
        "route": route,
    }
    if observation.operations:
        fields["operation"] = observation.operations
    if observation.codes:
        fields["errors"] = observation.codes
    if observation.requests:
        fields["dynamodb_requests"] = observation.requests
        fields["rcu"] = observation.read_units
        fields["wcu"] = observation.write_units
    if observation.trace_id is not None:
        fields["trace_id"] = observation.trace_id
    return fields
