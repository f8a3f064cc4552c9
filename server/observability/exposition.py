"""Where Prometheus scrapes: a port of its own, which is no part of the API.

It answers on this machine alone unless told otherwise, and from a thread, so that a busy event loop
is seen as such.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from server.errors import CommandError, installing
from server.observability.declared import WORKER_DEATHS
from server.observability.metrics import Metrics, Series
from server.observability.state_files import StateFiles
from server.settings import Settings

_TRACES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
"""Others bring OpenTelemetry's API alone."""


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
    except ModuleNotFoundError:  # nor what it is a part of
        return False


@contextmanager
def exposed(settings: Settings, states: Callable[[], Iterable[Series]]) -> Iterator[str]:
    """Answer scrapes until the block ends; yields the URL. CommandError for a port of no use."""
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - an extra

    from server.observability.collector import StateCollector  # noqa: PLC0415 - as above

    registry = CollectorRegistry()
    registry.register(StateCollector(states))
    host, port = settings.metrics_host, settings.metrics_port or 0
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


class Ended(Protocol):
    """Keeps what a process has counted."""

    def __call__(self, pid: int, *, died: bool) -> None:
        """Count it among the dead ones if it ``died`` rather than was replaced."""


@dataclass(frozen=True, slots=True)
class WorkerMetrics:
    """The metrics of all workers together, at ``url``; they leave them in ``directory``."""

    url: str
    directory: Path
    ended: Ended
    """Takes the process id of a worker that is gone."""


@contextmanager
def of_workers(settings: Settings) -> Iterator[WorkerMetrics | None]:
    """Sum up what workers leave in a directory, if the settings want metrics."""
    if settings.metrics_port is None:
        yield None
        return
    with TemporaryDirectory(prefix="marginalia-metrics-") as name:
        files, own = StateFiles(Path(name)), Metrics()
        own.add(WORKER_DEATHS, 0)

        def ended(pid: int, *, died: bool) -> None:
            files.died(pid)
            own.add(WORKER_DEATHS, died)

        with exposed(settings, lambda: chain(own.state(), files.read())) as url:
            yield WorkerMetrics(url, Path(name), ended)


@contextmanager
def followed(settings: Settings) -> Iterator[str | None]:
    """Show the metrics of a follower that runs in this block, if the settings want that."""
    check_packages(settings)
    if settings.metrics_port is None:
        yield None
        return
    from server.observability.following import following  # noqa: PLC0415 - as stats imports stream

    metrics = Metrics()
    with exposed(settings, metrics.state) as url, following(metrics):
        yield url
