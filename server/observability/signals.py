"""What one process tells of itself, put together from its settings."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Scope

from dal.table.client import Table
from dal.table.instrumentation import STORE_INSTRUMENTS
from schema.build import ExecutableSchema
from server.observability.access_log import AccessLog
from server.observability.load import Loaded
from server.observability.metrics import Metrics
from server.observability.middleware import ObservedApp
from server.observability.observation import Observation
from server.observability.sampler import Sampler
from server.observability.schema import ObservedSchema
from server.observability.state_files import StateFiles
from server.settings import Settings

if TYPE_CHECKING:
    from server.observability.tracing import Tracing  # needs packages that may be missing


@dataclass(frozen=True, slots=True)
class Signals:
    """Metrics, traces and the access log; each None where it is off."""

    metrics: Metrics | None = None
    tracing: "Tracing | None" = None
    access_log: AccessLog | None = None

    @property
    def on(self) -> bool:
        """Whether anything is told."""
        return any(one is not None for one in (self.metrics, self.tracing, self.access_log))

    @property
    def schema(self) -> type[ExecutableSchema]:
        """The class of the schema."""
        return ObservedSchema if self.on else ExecutableSchema

    def around(self, app: ASGIApp, endless: Callable[[Scope], bool]) -> ASGIApp:
        """Return an application whose requests are observed; the same one where nothing is told."""
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
    async def sampling(
        self, table: Table, server: Loaded, directory: Path | None = None
    ) -> AsyncIterator[None]:
        """Look at the state of a server now and then while the block runs.

        A worker leaves its metrics in a ``directory``.
        """
        if self.metrics is None:
            yield
            return
        files = None if directory is None else StateFiles(directory)
        task = asyncio.create_task(Sampler(self.metrics, table, server, files).run())
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
    """Tell what the settings ask for until the block ends."""
    signals = Signals(
        Metrics() if settings.metrics_port is not None else None,
        _tracing(settings.trace_url, settings.trace_sample) if settings.trace_url else None,
        AccessLog(settings.log_format) if settings.access_log else None,
    )
    # What is done for no request, such as the moves of leaderboards, is counted too.
    token = STORE_INSTRUMENTS.set(None if signals.metrics is None else Observation(signals.metrics))
    try:
        yield signals
    finally:
        STORE_INSTRUMENTS.reset(token)
        await signals.close()


def _tracing(url: str, sample: float) -> "Tracing":
    from server.observability.tracing import Tracing, otlp  # noqa: PLC0415 - an extra

    return Tracing(otlp(url), sample)
