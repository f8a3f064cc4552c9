"""The metrics of workers, which each leaves in a file every second for their parent to sum up.

What a worker had counted when it was last seen stays counted after its death; its gauges do not.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson

from server.observability.declared import METRICS
from server.observability.metrics import Metrics, Series

_ALIVE, _DEAD = ".json", ".dead"

_ATTEMPTS = 5
"""At reading files while workers die; where all fail, the directory itself is gone."""

_GAUGES = frozenset(one.name for one in METRICS if one.kind == "gauge")


class StateFiles:
    """The states of workers in a directory, a file for each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._deaths = 0

    def write(self, metrics: Metrics) -> None:
        """Leave the state of this process; where there is no room, that of before stays."""
        path = self._directory / f"{os.getpid()}{_ALIVE}"
        new = path.with_suffix(".new")
        with suppress(OSError):
            new.write_bytes(orjson.dumps([tuple(one) for one in metrics.state()]))
            new.replace(path)

    def died(self, pid: int) -> None:
        """Keep what a process has counted, and its gauges no more."""
        self._deaths += 1
        path = self._directory / f"{pid}{_ALIVE}"
        if path.exists():
            path.rename(self._directory / f"{pid}-{self._deaths}{_DEAD}")

    def read(self) -> list[Series]:
        """Return all series of all workers; none once the directory is gone."""
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError):  # a worker has died meanwhile
                return [one for path in self._directory.iterdir() for one in _series_of(path)]
        return []


def _series_of(path: Path) -> Iterator[Series]:
    if path.suffix in {_ALIVE, _DEAD}:
        for name, labels, values in orjson.loads(path.read_bytes()):
            if path.suffix == _ALIVE or name not in _GAUGES:
                yield Series(name, labels, values)
