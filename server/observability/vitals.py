"""The state of a server's main process, for each scrape of its metrics."""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:  # an extra
    from prometheus_client import Metric


@dataclass(slots=True, eq=False)
class Vitals:
    """Counts what happens to the processes of a server. Each count exists from the start.

    ``engine_restarts`` are the times at which the embedded engine started again, and ``database``
    is its data file. Both are empty for another store.
    """

    engine_restarts: Sequence[float] = ()
    database: Path | None = None
    worker_deaths: int = 0
    _started: float = field(default_factory=time.time)
    _version: str = field(default_factory=partial(version, "marginalia"))

    def collect(self) -> Iterable["Metric"]:
        """Yield the metrics."""
        from prometheus_client.core import (  # noqa: PLC0415 - an extra
            CounterMetricFamily,
            GaugeMetricFamily,
        )

        info = GaugeMetricFamily(
            "marginalia_info", "Always 1. The label is the installed version.", labels=["version"]
        )
        info.add_metric([self._version], 1)
        yield info
        yield GaugeMetricFamily(
            "marginalia_start_time_seconds", "When the server started, in Unix time.", self._started
        )
        yield GaugeMetricFamily(
            "marginalia_memory_bytes",
            "Resident memory of the server, its workers and its engine. Shared pages count in each "
            "process.",
            _memory(),
        )
        yield CounterMetricFamily(
            "marginalia_worker_deaths",
            "Workers that have ended although no operator replaced them.",
            self.worker_deaths,
        )
        yield CounterMetricFamily(
            "marginalia_engine_restarts",
            "How often the embedded engine has ended and was started again.",
            len(self.engine_restarts),
        )
        yield GaugeMetricFamily(
            "marginalia_data_bytes",
            "Size of the embedded engine's data file with its log; 0 for another store.",
            self._size(),
        )

    def _size(self) -> int:
        size = 0
        if self.database is not None:
            for suffix in ("", "-wal"):
                with suppress(FileNotFoundError):
                    size += Path(f"{self.database}{suffix}").stat().st_size
        return size


def _memory() -> int:
    own, total = psutil.Process(), 0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total
