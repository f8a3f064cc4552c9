"""``marginalia serve`` as a process: its start, its refusals and its end."""

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import orjson
import psutil
import pytest

from server.errors import UNAVAILABLE, USAGE
from tests.server.embedded import engine_pid, fill, mounted, successor
from tests.server.serving import (
    MARGINALIA,
    Served,
    add_comment,
    all_comments,
    bearer,
    called,
    environment,
    served,
)
from tests.server.workers.processes import said


def alive(process: psutil.Process) -> bool:
    """Return whether a process runs. A zombie has ended."""
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def client_of(server: Served, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, headers=headers or bearer("ana"), timeout=60)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for tests that do not end it."""
    with served(tmp_path_factory.mktemp("running")) as server:
        yield server


async def test_a_signal_ends_server_and_engine_after_the_running_requests(tmp_path: Path) -> None:
    """The engine gets SIGINT too if it comes from a terminal. Acknowledged writes are stored."""
    with served(tmp_path) as server:
        engine = server.engine()
        async with client_of(server) as client:
            adding = [asyncio.create_task(add_comment(client, f"{i}")) for i in range(20)]
            await asyncio.wait(adding, return_when=asyncio.FIRST_COMPLETED)
            server.process.send_signal(signal.SIGTERM)
            answers = {answer for answer in await asyncio.gather(*adding) if answer}
        assert server.ended() == (0, "")
        assert not engine.is_running()
        assert not (tmp_path / "engine.json").exists()
    assert answers
    with served(tmp_path) as server:
        engine = server.engine()
        async with client_of(server) as client:
            assert answers == {comment_id for comment_id, _ in await all_comments(client)}
        os.killpg(server.process.pid, signal.SIGINT)
        assert server.ended() == (0, "")
        assert not engine.is_running()


def test_a_second_ctrl_c_ends_the_server_without_a_traceback(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        engine = server.engine()
        address = urlsplit(server.url)
        where = (str(address.hostname), address.port or 0)
        with socket.create_connection(where, timeout=60) as client:
            client.sendall(b"GET / HT")  # the server waits for the rest, also while it stops
            time.sleep(0.2)
            server.process.send_signal(signal.SIGINT)
            time.sleep(0.2)
            server.process.send_signal(signal.SIGINT)
            assert server.ended() == (0, "")
        assert not engine.is_running()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_the_start_ends_the_server(tmp_path: Path, number: signal.Signals) -> None:
    slow = tmp_path / "dynoxide"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    with subprocess.Popen(
        [MARGINALIA, "serve", "--port", "0", "--data-dir", tmp_path / "data"],
        env=environment(MARGINALIA_ENGINE=str(slow)),
        stderr=subprocess.PIPE,
    ) as process:
        server = psutil.Process(process.pid)
        while len(children := server.children(recursive=True)) < 2:
            time.sleep(0.01)
        process.send_signal(number)
        assert process.communicate(timeout=60)[1] == b""
        assert process.returncode == 0
        assert not any(map(alive, children))


def test_a_body_above_the_limit_ends_its_connection(running: Served) -> None:
    """The server stops reading after its refusal, because a client could send data for hours."""
    head = (
        b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 400000000\r\n\r\n"
    )
    address = urlsplit(running.url)
    sent = 0
    with socket.create_connection((address.hostname, address.port), timeout=60) as client:
        client.sendall(head)
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(1_000):
                sent += client.send(b" " * 100_000)
    assert 1_000_000 < sent < 30_000_000


async def test_a_server_ends_with_a_reason_if_its_engine_ends_repeatedly(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        pid = engine_pid(tmp_path)
        psutil.Process(pid).kill()
        psutil.Process(await successor(tmp_path, pid)).kill()
        code, errors = server.ended()
    assert code == 3
    last = errors.splitlines()[-1]
    assert "twice" in last
    assert "(killed by SIGKILL)" in last
    assert "Traceback" not in errors


def refusal(*arguments: str | Path, code: int = USAGE, **settings: str) -> str:
    """Return a command's error message, which must be one line."""
    outcome = called(*arguments, **settings)
    assert outcome.returncode == code, outcome
    assert outcome.stdout == ""
    (line,) = outcome.stderr.splitlines()
    return line


def test_a_taken_port_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        line = refusal("serve", "--port", port, "--data-dir", tmp_path, code=UNAVAILABLE)
    assert line.startswith(f"marginalia: Port {port} on 127.0.0.1 ")
    assert "--port" in line


@pytest.mark.parametrize(
    ("host", "fault"),
    [
        ("no.such.host.invalid", "no.such.host.invalid is unknown: "),
        ("192.0.2.1", "192.0.2.1 is not "),
    ],
)
def test_a_host_of_another_machine_is_reported(tmp_path: Path, host: str, fault: str) -> None:
    line = refusal("serve", "--host", host, "--port", "0", "--data-dir", tmp_path)
    assert fault in line
    assert "--host" in line


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rate-limit", "often"),
        ("--rate-limit", "1/s, 9/min"),
        ("--trusted-proxy", "shop.example"),
    ],
)
def test_invalid_limits_are_refused(option: str, value: str) -> None:
    assert refusal("serve", option, value).startswith(f"marginalia: {option} {value} ")


def test_sighup_without_workers_changes_nothing(running: Served) -> None:
    """tests/server/workers/test_replacing.py tests SIGHUP with workers."""
    running.process.send_signal(signal.SIGHUP)
    while "has no workers" not in said(running):
        time.sleep(0.02)
    assert httpx.get(f"{running.url}/health/live", timeout=60).is_success


def test_a_second_server_on_the_same_directory_is_refused(running: Served) -> None:
    line = refusal("serve", "--port", "0", "--data-dir", running.data_dir)
    assert f" {running.data_dir} is used " in line
    assert f"(process {running.process.pid})" in line
    assert httpx.get(f"{running.url}/health", timeout=60).status_code == 200


def test_a_table_is_described_while_a_server_runs(running: Served) -> None:
    answer = called("table", "describe", "--json", "--data-dir", running.data_dir)
    assert orjson.loads(answer.stdout)["TableName"] == "marginalia"


def test_unusable_directories_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = refusal("serve", "--port", "0", "--data-dir", tmp_path / "file")
    assert "/file is not a " in line
    line = refusal("serve", "--port", "0", "--data-dir", "/proc/marginalia")
    assert line.startswith("marginalia: The data directory /proc/marginalia cannot be written (")


def test_a_file_size_limit_is_reported_as_a_full_disk(tmp_path: Path) -> None:
    limited = ["bash", "-c", 'ulimit -f 1024 && exec "$0" "$@"', str(MARGINALIA)]
    command = [*limited, "serve", "--port", "0", "--data-dir", str(tmp_path)]
    outcome = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert outcome.returncode == 2
    assert f" {tmp_path} is full: " in outcome.stderr
    assert outcome.stderr.count("\n") == 1


async def test_a_server_reports_a_full_disk_and_recovers(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=24m") as data_dir, served(data_dir) as server:
        ballast = data_dir / "ballast"
        async with client_of(server) as client:
            first = await add_comment(client, "first")
            await asyncio.to_thread(fill, ballast)
            large = [add_comment(client, "x" * 9_000) for _ in range(8)]
            assert None in await asyncio.gather(*large)
            ballast.unlink()
            last = await add_comment(client, "last")
            kept = [comment for comment, _ in await all_comments(client)]
        assert {first, last} <= set(kept)
        server.end()


def test_a_damaged_data_file_and_a_missing_binary_are_reported(tmp_path: Path) -> None:
    line = refusal(
        "serve", "--port", "0", "--data-dir", tmp_path, MARGINALIA_ENGINE="/nowhere/dynoxide"
    )
    assert "/nowhere/dynoxide: set MARGINALIA_ENGINE " in line
    (tmp_path / "marginalia.db").write_bytes(b"not a database" * 1000)
    line = refusal("serve", "--port", "0", "--data-dir", tmp_path)
    assert f"cannot open {tmp_path}/marginalia.db: " in line


def test_the_log_in_json_has_a_line_for_the_start_and_for_the_signal(tmp_path: Path) -> None:
    with served(tmp_path, "--log-format", "json") as server:
        code, log = server.end(signal.SIGTERM)
    assert code == 0
    lines = [orjson.loads(line) for line in log.splitlines()]
    first, last = [one["message"] for one in lines if one["logger"] == "server.run"]
    assert version("marginalia") in first
    assert "SIGTERM" in last
