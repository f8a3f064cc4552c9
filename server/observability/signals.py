"""Metrics, traces and the access log of one process, and the ASGI middleware that feeds them."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asgi_correlation_id import correlation_id
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dal.client.table import Table
from dal.instrumentation import STORE_INSTRUMENTS
from schema.execution.executable_schema import ExecutableSchema
from server.observability.access_log import AccessLog
from server.observability.observation import OTHER, Observation, ObservedSchema
from server.settings import Settings

if TYPE_CHECKING:  # extras
    from server.observability.metrics import Load, Metrics
    from server.observability.tracing import TracedObservation, Tracing

_ROUTES = (
    (re.compile(r"/graphql"), "graphql"),
    (re.compile(r"/health(/.*)?"), "health"),
    (re.compile(r"/static/.*"), "static"),
    (
        re.compile(
            r"/|/products(/.*)?|/(comments|authors)/.*|/playground(/drawing)?|/sign-(in|out)"
        ),
        "page",
    ),
    (re.compile(r"/robots.txt|/sitemap.xml"), "page"),
)

_TRACED = {"graphql", "page"}
"""Only requests of these routes may get a trace, not health checks and files."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Metrics, traces and the access log; each None where it is off."""

    metrics: "Metrics | None" = None
    tracing: "Tracing | None" = None
    access_log: AccessLog | None = None
    background: Observation | None = None
    """Counts work outside requests, such as updates of leaderboards."""

    @property
    def on(self) -> bool:
        """Whether any of them is on."""
        return any(one is not None for one in (self.metrics, self.tracing, self.access_log))

    @property
    def schema(self) -> type[ExecutableSchema]:
        """The class of the schema."""
        return ObservedSchema if self.on else ExecutableSchema

    def around(self, app: ASGIApp, endless: Callable[[Scope], bool]) -> ASGIApp:
        """Return ``app`` with middleware that observes requests; ``app`` itself if all are off.

        ``endless`` returns whether the response to a request may last for hours; such a request
        gets no trace.
        """
        return _ObservedApp(app, self, endless) if self.on else app

    @asynccontextmanager
    async def sampling(self, table: Table, load: "Load") -> AsyncIterator[None]:
        """Sample the state of a server every second while the block runs."""
        if self.metrics is None or self.background is None:
            yield
            return
        from server.observability.metrics import StateSampler  # noqa: PLC0415 - an extra

        sampler = StateSampler(self.metrics, self.background.write, table, load)
        task = asyncio.create_task(sampler.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


OFF = Signals()


@asynccontextmanager
async def open_signals(settings: Settings) -> AsyncIterator[Signals]:
    """Yield the signals of the settings; write and send the rest when the block ends."""
    metrics, tracing, background, access_log = None, None, None, None
    if settings.metrics_port is not None:
        from server.observability.metrics import Metrics  # noqa: PLC0415 - an extra

        metrics = Metrics()
        background = Observation(metrics)
    if settings.trace_url:
        from server.observability.tracing import Tracing, otlp  # noqa: PLC0415 - an extra

        tracing = Tracing(otlp(settings.trace_url), settings.trace_sample)
    if settings.access_log:
        access_log = AccessLog(settings.log_format)
    token = STORE_INSTRUMENTS.set(background)
    try:
        yield Signals(metrics, tracing, access_log, background)
    finally:
        STORE_INSTRUMENTS.reset(token)
        if access_log is not None:
            access_log.flush()
        if tracing is not None:
            await asyncio.to_thread(tracing.close)


class _ObservedApp:
    """ASGI middleware around the whole application: counts, traces and logs requests.

    OpenTelemetry's own middleware costs 43 µs for each request without a trace; this one draws one
    random number.
    """

    def __init__(self, app: ASGIApp, signals: Signals, endless: Callable[[Scope], bool]) -> None:
        self._app = app
        self._metrics = signals.metrics
        self._tracing = signals.tracing
        self._access_log = signals.access_log
        self._endless = endless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        route, began = route_of(scope), time.perf_counter()
        traced: TracedObservation | None = None
        if self._tracing is not None and route in _TRACED and not self._endless(scope):
            traced = self._tracing.begin(scope["headers"], self._metrics)
        observation = traced or Observation(self._metrics)
        response = _ObservedResponse(send, observation)
        try:
            with observation:
                await self._app(scope, receive, response.send)
        finally:
            if traced is not None:
                traced.end(scope["method"], route, response.status, correlation_id.get() or "")
            if self._metrics is not None:
                self._metrics.http_requests[route, response.status].inc()
                observation.write()
            if self._access_log is not None:
                milliseconds = round((time.perf_counter() - began) * 1e3, 2)
                self._access_log.add(_line(scope, route, response, observation, milliseconds))


class _ObservedResponse:
    """Notes the status and the size of a response while it is sent.

    Each part of the response also adds the counts so far to the metrics: the response to a
    subscription lasts for hours.
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


def _line(
    scope: Scope,
    route: str,
    response: _ObservedResponse,
    observation: Observation,
    milliseconds: float,
) -> dict[str, object]:
    """Return the fields of a line of the access log."""
    fields: dict[str, object] = {
        "method": scope.get("method", "GET"),
        "path": scope["path"],
        "status": response.status,
        "request_id": correlation_id.get() or "-",
        "milliseconds": milliseconds,
        "bytes": response.bytes,
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


def route_of(scope: Scope) -> str:
    """Return the route of a request as a label."""
    if scope["type"] == "websocket":
        return "websocket"
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    return next((name for known, name in _ROUTES if known.fullmatch(path)), OTHER)
