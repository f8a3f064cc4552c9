"""Servers as processes: the address of their metrics, labels, and the last export of spans."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import httpx
import orjson
import pytest
from prometheus_client.values import MultiProcessValue

from server.errors import UNAVAILABLE, CommandError
from server.observability import exposition
from server.settings import Settings
from tests.server.observability.collector import collecting
from tests.server.observability.observed import Values, by, metrics_of, value, values_of
from tests.server.serving import add_comment, called, served
from tests.server.workers.processes import another, clients_of, others, workers_of

PAGE = 'query Page { product(productId: "42") { comments(first: 3) { nodes { commentId } } } }'
REQUESTS = "marginalia_http_requests_total"
STARTED = "marginalia_worker_start_time_seconds"
DEATHS, RESTARTS = "marginalia_worker_deaths_total", "marginalia_engine_restarts_total"
SEEN = "marginalia_worker_seen_timestamp_seconds"
OPTIONS = ("--access-log", "--log-format", "json", "--metrics-port", "0", "--rate-limit", "off")


async def got(url: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=60) as client:
        return await client.get(url)


async def until(url: str, wanted: Callable[[Values], bool]) -> Values:
    """Scrape until the result is as expected, or for a limited time. Return the last result."""
    for _ in range(1_200):
        found = values_of((await got(url)).text)
        if wanted(found):
            break
        await asyncio.sleep(0.05)
    return found


def answered(found: Values) -> float:
    return value(found, REQUESTS, route="graphql", status="200")


async def test_metrics_are_sums_over_workers(tmp_path: Path) -> None:
    """The sums include a killed worker. Both workers also send spans."""
    with (
        collecting() as collector,
        served(
            tmp_path,
            *OPTIONS,
            *("--workers", "2", "--trace-url", collector.url, "--trace-sample", "1"),
        ) as server,
    ):
        url = metrics_of(server)
        victim = workers_of(server)[0]
        async with clients_of(server, 2) as (one, other):
            for client in (one, other, other):
                await client.post("/graphql", json={"query": PAGE})
            assert await add_comment(one, "here")
        found = await until(url, lambda now: answered(now) >= 4)
        assert answered(found) == 4
        assert value(found, REQUESTS, route="health", status="200") == 2
        assert by(found, "marginalia_operation_seconds_count", "operation")["Page"] == 3
        assert by(found, "marginalia_plans_total", "access_pattern") == {"AP1": 3}
        victim.kill()
        await another(server, victim, 2)
        since = value(found, STARTED)
        found = await until(url, lambda now: value(now, STARTED) > since)
        assert value(found, STARTED) > since
        assert answered(found) == 4
        async with clients_of(server, 2) as (one, other):
            for client in (one, other):
                await client.post("/graphql", json={"query": PAGE})
        found = await until(url, lambda now: answered(now) >= 6)
        assert answered(found) == 6
        assert (await got(f"{server.url}/metrics")).status_code == 404
        code, log = server.end(signal.SIGTERM)
        assert code == 0
    names = [one.name for one in collector.traces()]
    assert names.count("POST graphql") >= 2
    assert collector.services == {"marginalia"}
    lines = [orjson.loads(line) for line in log.splitlines()]
    accesses = [line for line in lines if line["logger"] == "access"]
    pages = [line for line in accesses if line.get("operation") == ["Page"]]
    # Five requests were sent, but the killed worker may not have sent its span.
    assert len(pages) >= 3
    for line in pages:
        assert (line["method"], line["path"], line["status"]) == ("POST", "/graphql", "200")
        assert line["dynamodb_requests"] >= 1
        assert len(line["request_id"]) == len(line["trace_id"]) == 32
    assert "ana" not in log.replace("analytics", "")


async def test_a_stopped_worker_and_deaths_are_visible_and_a_reload_is_not(tmp_path: Path) -> None:
    with served(tmp_path, "--metrics-port", "0", "--workers", "2") as server:
        url = metrics_of(server)
        found = await until(url, lambda now: value(now, SEEN) > 0)
        for name in ("data_bytes", "memory_bytes", "start_time_seconds"):
            assert value(found, f"marginalia_{name}") > 0
        assert value(found, "marginalia_info", version=version("marginalia")) == 1
        victim, survivor = workers_of(server)
        victim.suspend()
        stopped = time.time()
        found = await until(url, lambda _: time.time() > stopped + 3)
        assert 0 < value(found, SEEN) < stopped + 1
        victim.kill()
        found = await until(url, lambda now: value(now, SEEN) > stopped + 1)
        assert value(found, SEEN) > stopped + 1
        pair = [survivor, await another(server, victim, 2)]
        assert value(values_of((await got(url)).text), DEATHS) == 1
        await until(url, lambda now: value(now, STARTED) > stopped)
        server.process.send_signal(signal.SIGHUP)
        await others(server, pair)
        server.engine().kill()
        found = await until(url, lambda now: value(now, RESTARTS) > 0)
        assert (value(found, DEATHS), value(found, RESTARTS)) == (1, 1)


async def test_one_process_has_the_same_metrics_and_logs_an_unreachable_collector_once(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        away = f"http://127.0.0.1:{taken.getsockname()[1]}"
    trace = ("--trace-url", away, "--trace-sample", "1")
    with served(tmp_path, "--access-log", "--metrics-port", "0", *trace) as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            for _ in range(2):
                answer = await client.post("/graphql", json={"query": PAGE})
        found = await until(metrics_of(server), lambda now: answered(now) >= 2)
        assert answered(found) == 2
        assert value(found, "marginalia_dynamodb_circuit_open") == 0
        code, log = server.end(signal.SIGINT)
    assert code == 0
    told = [line for line in log.splitlines() if " INFO " not in line]
    assert len(told) == 1
    assert told[0].endswith(": check --trace-url.")
    request_id = answer.headers["x-request-id"]
    line = next(line for line in log.splitlines() if request_id in line)
    assert f"INFO [{request_id}] POST /graphql 200 milliseconds=" in line
    assert "operation=Page" in line


def test_a_metrics_port_in_use_is_reported_in_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = called("serve", "--port", "0", "--data-dir", tmp_path, "--metrics-port", port)
    assert done.returncode == UNAVAILABLE
    assert done.stderr.startswith("marginalia: Metrics ")
    assert f" 127.0.0.1 port {port} (" in done.stderr


@pytest.mark.parametrize(
    ("settings", "option"),
    [
        (Settings(metrics_port=0), "--metrics-port"),
        (Settings(trace_url="http://127.0.0.1:1"), "--trace-url"),
    ],
)
def test_an_option_without_its_package_is_reported_with_the_package(
    settings: Settings, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exposition, "find_spec", lambda name: None)
    with pytest.raises(CommandError, match=rf"{option} needs a package.*\[observability\]"):
        exposition.check_packages(settings)
    exposition.check_packages(Settings())


def test_a_trace_url_without_the_sdk_of_opentelemetry_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(trace_url="http://127.0.0.1:1")
    exposition.check_packages(settings)
    monkeypatch.delitem(sys.modules, "opentelemetry.sdk.trace", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    with pytest.raises(CommandError, match=r"-c constraints.txt -e '\.\[observability\]'"):
        exposition.check_packages(settings)


def leave_metrics(pid: int) -> None:
    """Write the metrics that a worker with two finished and three running requests writes."""
    of_worker = MultiProcessValue(lambda: pid)  # type: ignore[no-untyped-call]
    of_worker("counter", "requests", "requests_total", (), (), "").inc(2)
    of_worker("gauge", "running", "running", (), (), "", multiprocess_mode="livesum").set(3)


def test_counts_of_an_ended_worker_are_kept_and_its_gauges_are_removed() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with exposition.exposed(Settings(metrics_port=0)) as url:
        assert url is not None
        leave_metrics(os.getpid())
        leave_metrics(gone.pid)
        for _ in range(2):
            text = httpx.get(url, timeout=60).text
            assert "\nrequests_total 4.0\n" in text
            assert "\nrunning 3.0\n" in text


def test_metrics_are_served_only_to_this_machine_while_the_server_runs() -> None:
    with exposition.exposed(Settings(metrics_port=0)) as url:
        assert url is not None
        assert url.startswith("http://127.0.0.1:")
        assert httpx.get(url, timeout=60).is_success
        directory = Path(os.environ[exposition.DIRECTORY])
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)
    assert not directory.exists()


OFF = """
import asyncio, sys
import server.run, server.workers
from server.observability.exposition import exposed
from server.observability.signals import open_signals
from server.settings import Settings

async def main():
    settings = Settings(access_log=True)
    with exposed(settings) as url:
        async with open_signals(settings) as signals:
            assert url is signals.metrics is None
    unwanted = ("prometheus_client", "opentelemetry.exporter", "server.observability.metrics")
    print([name for name in unwanted if name in sys.modules])

asyncio.run(main())
"""


def test_a_server_without_metrics_imports_nothing_for_them() -> None:
    done = subprocess.run([sys.executable, "-c", OFF], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
