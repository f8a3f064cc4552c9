"""Serves the metrics to Prometheus, on a separate port.

The port is on 127.0.0.1 unless the settings name another address. A thread serves it, so that
metrics can be read while the event loop is busy.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psutil

from server.errors import UNAVAILABLE, USAGE, CommandError, installing
from server.observability.vitals import Vitals
from server.settings import Settings

if TYPE_CHECKING:  # an extra
    from prometheus_client import Metric

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the directory where ``prometheus_client`` keeps the values of all
processes. The package reads this variable at its import, and workers inherit the variable:
https://prometheus.github.io/client_python/multiprocess/"""

_TRACES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
"""If these packages are installed, the extra ``observability`` is installed. The check does not use
OpenTelemetry's API, because other packages install the API, too."""


def check_packages(settings: Settings) -> None:
    """Raise CommandError if an option needs a package that is not installed."""
    for option, given, packages in (
        ("--metrics-port", settings.metrics_port, ("prometheus_client",)),
        ("--trace-url", settings.trace_url, _TRACES),
    ):
        try:
            installed = given is None or all(map(find_spec, packages))
        except ModuleNotFoundError:  # the parent package is missing
            installed = False
        if not installed:
            raise CommandError(
                f"{option} needs a package that is not installed: run "
                f"{installing('observability')}."
            )


@contextmanager
def exposed(settings: Settings, vitals: Vitals | None = None) -> Iterator[str | None]:
    """Serve the metrics in the ``with`` block, if the settings enable them. Yield the URL or None.

    ``vitals`` is the state of a server's main process. This process, and the workers that it starts
    in the block, keep their metrics in a temporary directory. Raises CommandError if the port
    cannot be opened.
    """
    if settings.metrics_port is None:
        yield None
        return
    host, port = settings.metrics_host, settings.metrics_port
    with TemporaryDirectory(prefix="marginalia-metrics-") as directory:
        os.environ[DIRECTORY] = directory
        from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - an extra

        registry = CollectorRegistry()
        registry.register(_Processes(Path(directory)))
        if vitals is not None:
            registry.register(vitals)
        try:
            server, thread = start_http_server(port, host, registry)
        except OSError as error:
            del os.environ[DIRECTORY]
            raise CommandError(
                f"Metrics cannot be shown on {host} port {port} ({error.strerror}): choose another "
                "port with --metrics-port, or another address with --metrics-host.",
                UNAVAILABLE if error.errno == errno.EADDRINUSE else USAGE,
            ) from error
        try:
            yield f"http://{host}:{server.server_port}/metrics"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
            del os.environ[DIRECTORY]


class _Processes:
    """Sums the metrics of all processes. The sums include the counters of ended processes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterable["Metric"]:
        from prometheus_client import multiprocess  # noqa: PLC0415 - an extra

        # uvicorn's supervisor does not report ended workers. So each scrape looks for them, and
        # removes their gauges. Otherwise the sums would include, for example, their open requests.
        for pid in {int(file.stem.rpartition("_")[2]) for file in self._directory.glob("*.db")}:
            if not psutil.pid_exists(pid):
                with suppress(FileNotFoundError):  # Another scrape has removed the file.
                    multiprocess.mark_process_dead(pid, self._directory)  # type: ignore[no-untyped-call]
        collector = multiprocess.MultiProcessCollector(None, self._directory)  # type: ignore[no-untyped-call]
        found: Iterable[Metric] = collector.collect()  # type: ignore[no-untyped-call]
        return found
