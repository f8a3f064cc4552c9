"""Where Prometheus scrapes: a port that is not part of the API.

It listens on 127.0.0.1 unless the settings say otherwise, and answers from a thread, so that a busy
event loop shows.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from server.errors import CommandError, installing
from server.settings import Settings

if TYPE_CHECKING:
    from prometheus_client import Metric

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which ``prometheus_client`` finds the files of all processes. It reads the
variable when it is imported; workers inherit it."""

_TRACES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
"""Other packages bring OpenTelemetry's API alone."""


def check_packages(settings: Settings) -> None:
    """Raise CommandError where an option needs a package that is not installed."""
    for option, wanted, packages in (
        ("--metrics-port", settings.metrics_port is not None, ("prometheus_client",)),
        ("--trace-url", settings.trace_url is not None, _TRACES),
    ):
        if wanted and not all(map(_installed, packages)):
            raise CommandError(
                f"{option} needs a package that is not installed: run "
                f"{installing('observability')}."
            )


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # nor the package that it is a part of
        return False


@contextmanager
def exposed(settings: Settings) -> Iterator[str | None]:
    """Answer scrapes until the block ends, if the settings want metrics; yields the URL.

    This process and the workers that start in the block keep their metrics in a directory of ours.
    CommandError for a port that cannot be opened.
    """
    if settings.metrics_port is None:
        yield None
        return
    with TemporaryDirectory(prefix="marginalia-metrics-") as directory:
        os.environ[DIRECTORY] = directory
        try:
            with _answering(settings.metrics_host, settings.metrics_port, Path(directory)) as url:
                yield url
        finally:
            del os.environ[DIRECTORY]


@contextmanager
def _answering(host: str, port: int, directory: Path) -> Iterator[str]:
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - an extra

    registry = CollectorRegistry()
    registry.register(_Processes(directory))
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise CommandError(
            f"Metrics cannot be shown on {host} port {port} ({error.strerror}): choose another "
            "with --metrics-port or --metrics-host."
        ) from error
    try:
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Processes:
    """The sums of all processes; the gauges of those that are gone go with them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterable["Metric"]:
        from prometheus_client import multiprocess  # noqa: PLC0415 - as above

        for pid in {int(file.stem.rpartition("_")[2]) for file in self._directory.glob("*.db")}:
            if not _runs(pid):
                with suppress(FileNotFoundError):  # another scrape has removed them
                    multiprocess.mark_process_dead(pid, self._directory)  # type: ignore[no-untyped-call]
        collector = multiprocess.MultiProcessCollector(None, self._directory)  # type: ignore[no-untyped-call]
        found: Iterable[Metric] = collector.collect()  # type: ignore[no-untyped-call]
        return found


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:  # none has this id, or a process of another user has it now
        return False
    return True


@contextmanager
def followed(settings: Settings) -> Iterator[str | None]:
    """Show the metrics of a follower that runs in this block, if the settings want that."""
    check_packages(settings)
    with exposed(settings) as url:
        if url is None:
            yield None
            return
        from server.observability.metrics import Metrics, following  # noqa: PLC0415 - an extra

        with following(Metrics()):
            yield url
