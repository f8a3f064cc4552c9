"""The metrics of workers in files: summed up, and never less than before."""

import os
from pathlib import Path

from server.observability.collector import StateCollector
from server.observability.declared import (
    HTTP_REQUESTS,
    LOOP_LATE,
    OPERATION_SECONDS,
    RUNNING,
)
from server.observability.metrics import Metrics
from server.observability.state_files import StateFiles


def worker(directory: Path, pid: int, seconds: float) -> None:
    """Leave the state of a worker that runs three requests and has answered two."""
    metrics = Metrics()
    metrics.add(HTTP_REQUESTS, 2, "graphql", "200")
    metrics.observe(OPERATION_SECONDS, seconds, "Page", "query")
    metrics.set(RUNNING, 3)
    metrics.set(LOOP_LATE, seconds)
    StateFiles(directory).write(metrics)
    (directory / f"{os.getpid()}.json").rename(directory / f"{pid}.json")


def samples(files: StateFiles) -> dict[str, float]:
    return {
        f"{sample.name}{sample.labels.get('le', '')}": sample.value
        for family in StateCollector(files.read).collect()
        for sample in family.samples
    }


def test_workers_are_summed_up_and_the_latest_is_the_greatest(tmp_path: Path) -> None:
    worker(tmp_path, 1, 0.002)
    worker(tmp_path, 2, 0.3)
    found = samples(StateFiles(tmp_path))
    assert found["marginalia_http_requests_total"] == 4
    assert found["marginalia_requests_running"] == 6
    assert found["marginalia_event_loop_late_seconds"] == 0.3
    buckets = [found[f"marginalia_operation_seconds_bucket{le}"] for le in ("0.001", "0.0025")]
    assert buckets == [0, 1]
    assert found["marginalia_operation_seconds_bucket+Inf"] == 2
    assert found["marginalia_operation_seconds_count"] == 2
    assert found["marginalia_operation_seconds_sum"] == 0.302


def test_what_a_worker_counted_outlives_it_and_what_it_held_does_not(tmp_path: Path) -> None:
    files = StateFiles(tmp_path)
    worker(tmp_path, 1, 0.002)
    worker(tmp_path, 2, 0.3)
    files.died(1)
    files.died(7)  # one that has left nothing yet
    worker(tmp_path, 1, 0.002)  # the next may get its id
    files.died(1)
    found = samples(files)
    assert found["marginalia_http_requests_total"] == 6
    assert found["marginalia_requests_running"] == 3


def test_without_the_directory_there_is_nothing(tmp_path: Path) -> None:
    assert StateFiles(tmp_path / "gone").read() == []
