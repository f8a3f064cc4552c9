"""The metrics, traces and access log of one process, and the middleware that feeds them."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asgi_correlation_id import correlation_id
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dal.dynamodb.instrumentation import STORE_INSTRUMENTS
from dal.dynamodb.table import Table
from schema.execution.executable_schema import ExecutableSchema
from server.observability.access_log import AccessLog
from server.observability.observation import OTHER, Observation, ObservedSchema
from server.settings import Settings

if TYPE_CHECKING:  # extras
    from server.observability.metrics import Load, Metrics
    from server.observability.tracing import TracedObservation, Tracing

_PATHS = re.compile(r"(?P<graphql>/graphql)|(?P<static>/schema\.graphql)|(?P<health>/health(/.*)?)")
"""Matches paths. The name of the outermost group that matches is the route, which is used as a
label."""

_TRACED = {"graphql", "page"}
"""The routes on which requests may get a trace. Health checks and files never get a trace."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Metrics, traces and the access log. Each is None if it is off."""

    metrics: "Metrics | None" = None
    tracing: "Tracing | None" = None
    access_log: AccessLog | None = None
    background: Observation | None = None
    """Counts the work outside requests, such as updates of leaderboards."""

    @property
    def on(self) -> bool:
        """Whether metrics, traces or the access log are on."""
        return any(one is not None for one in (self.metrics, self.tracing, self.access_log))

    @property
    def schema(self) -> type[ExecutableSchema]:
        """The class of the GraphQL schema. If signals are on, the class reports to observations."""
        return ObservedSchema if self.on else ExecutableSchema

    @asynccontextmanager
    async def sampling(self, table: Table, load: "Load") -> AsyncIterator[None]:
        """Sample a server's state every second during the ``with`` block, if metrics are on."""
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
    """Yield the signals that the settings enable.

    At the end of the ``with`` block, send the remaining traces.
    """
    metrics, tracing, background, access_log = None, None, None, None
    if settings.metrics_port is not None:
        from dal.composition import KINDS  # noqa: PLC0415 - a server needs them only for metrics
        from server.observability.metrics import Metrics  # noqa: PLC0415 - an extra

        metrics = Metrics(
            {prefix: label for kind in KINDS for prefix, label in kind.labels.items()}
        )
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
        if tracing is not None:
            await asyncio.to_thread(tracing.close)


class ObservedApp:
    """ASGI middleware around the whole application: counts, traces and logs requests.

    ``pages`` matches the paths of pages, as in ``route_of``. ``endless`` returns whether the
    response to a request may last for hours. Such a request gets no trace.

    OpenTelemetry's own middleware takes 43 µs for each request, even if the request gets no trace.
    For such a request, this middleware takes less time, because it only draws a random number.
    """

    def __init__(
        self,
        app: ASGIApp,
        signals: Signals,
        pages: re.Pattern[str],
        endless: Callable[[Scope], bool] = lambda _: False,
    ) -> None:
        self._app, self._signals, self._endless, self._pages = app, signals, endless, pages
        if signals.metrics is not None:
            for route in (*_PATHS.groupindex, *pages.groupindex, "websocket", OTHER):
                for status in ("500", "503"):
                    signals.metrics.http_requests[route, status].inc(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and observe it."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        metrics, tracing = self._signals.metrics, self._signals.tracing
        route, began = route_of(scope, self._pages), time.perf_counter()
        traced: TracedObservation | None = None
        if tracing is not None and route in _TRACED and not self._endless(scope):
            traced = tracing.begin(scope["headers"], metrics)
        observation = traced or Observation(metrics)
        status, sent = "none", 0

        def observed_send(message: Message) -> Awaitable[None]:
            nonlocal status, sent
            kind = message["type"]
            if kind in {"http.response.body", "websocket.send"}:
                sent += len(message.get("body", b""))
                # Add the counts to the metrics after each part, because the response to a
                # subscription may last for hours.
                observation.write()
            elif kind in {"http.response.start", "websocket.http.response.start"}:
                status = str(message["status"])
            elif kind == "websocket.accept":
                status = "101"
            return send(message)

        try:
            with observation:
                await self._app(scope, receive, observed_send)
        finally:
            if traced is not None:
                traced.end(scope["method"], route, status, correlation_id.get() or "")
            if metrics is not None:
                metrics.http_requests[route, status].inc()
                observation.write()
            if (access_log := self._signals.access_log) is not None:
                fields = {
                    "method": scope.get("method", "GET"),
                    "path": scope["path"],
                    "status": status,
                    "request_id": correlation_id.get() or "-",
                    "milliseconds": round((time.perf_counter() - began) * 1e3, 2),
                    "bytes": sent,
                    "route": route,
                }
                access_log.add(fields | observation.fields())


def route_of(scope: Scope, pages: re.Pattern[str]) -> str:
    """Return the route of a request as a label.

    ``pages`` matches the paths of pages. The name of its outermost group that matches is the route.
    """
    if scope["type"] == "websocket":
        return "websocket"
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    known = _PATHS.fullmatch(path) or pages.fullmatch(path)
    return OTHER if known is None or known.lastgroup is None else known.lastgroup
