"""What one process shows of itself, put together from its settings."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from starlette.types import ASGIApp, Scope

from dal.client.table import Table
from dal.instrumentation import STORE_INSTRUMENTS
from schema.build import ExecutableSchema
from server.observability.access_log import AccessLog
from server.observability.middleware import ObservedApp
from server.observability.observation import Observation, ObservedSchema
from server.settings import Settings

if TYPE_CHECKING:  # extras
    from server.observability.metrics import Metrics
    from server.observability.tracing import Tracing


class Load(NamedTuple):
    """How busy a serving process is; ``refused`` counts from its start."""

    running: int
    waiting: int
    refused: int


@dataclass(frozen=True, slots=True)
class Signals:
    """Metrics, traces and the access log; each None where it is off."""

    metrics: "Metrics | None" = None
    tracing: "Tracing | None" = None
    access_log: AccessLog | None = None
    background: Observation | None = None
    """Counts the work for no request, such as the moves of leaderboards."""

    @property
    def on(self) -> bool:
        """Whether anything is shown."""
        return any(one is not None for one in (self.metrics, self.tracing, self.access_log))

    @property
    def schema(self) -> type[ExecutableSchema]:
        """The class of the schema."""
        return ObservedSchema if self.on else ExecutableSchema

    def around(self, app: ASGIApp, endless: Callable[[Scope], bool]) -> ASGIApp:
        """Return an application whose requests are observed; the same one if nothing is on."""
        if not self.on:
            return app
        return ObservedApp(
            app,
            metrics=self.metrics,
            tracing=self.tracing,
            access_log=self.access_log,
            endless=endless,
        )

    @asynccontextmanager
    async def sampling(self, table: Table, load: Callable[[], Load]) -> AsyncIterator[None]:
        """Look every second at the state of a server while the block runs."""
        if self.metrics is None or self.background is None:
            yield
            return
        from server.observability.metrics import StateSampler  # noqa: PLC0415 - an extra

        sampler = StateSampler(self.metrics, self.background, table, load)
        task = asyncio.create_task(sampler.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        """Write and send what is left."""
        if self.access_log is not None:
            self.access_log.flush()
        if self.tracing is not None:
            await asyncio.to_thread(self.tracing.close)


OFF = Signals()


@asynccontextmanager
async def open_signals(settings: Settings) -> AsyncIterator[Signals]:
    """Yield the signals that the settings ask for, and close them when the block ends."""
    metrics, tracing = None, None
    if settings.metrics_port is not None:
        from server.observability.metrics import Metrics  # noqa: PLC0415 - an extra

        metrics = Metrics()
    if settings.trace_url:
        from server.observability.tracing import Tracing, otlp  # noqa: PLC0415 - an extra

        tracing = Tracing(otlp(settings.trace_url), settings.trace_sample)
    signals = Signals(
        metrics,
        tracing,
        AccessLog(settings.log_format) if settings.access_log else None,
        None if metrics is None else Observation(metrics),
    )
    token = STORE_INSTRUMENTS.set(signals.background)
    try:
        yield signals
    finally:
        STORE_INSTRUMENTS.reset(token)
        await signals.close()
