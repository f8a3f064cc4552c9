"""The embedded engine with real directories, files and processes."""

import asyncio
import errno
import os
import signal
import socket
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from server.local_engine import engine as engine_module
from server.local_engine import engine_process
from server.local_engine.data_directory import DataDirectory, DataDirectoryInUseError
from server.local_engine.engine import embedded_engine
from server.local_engine.engine_process import EngineProcess, free_port
from server.local_engine.storage import open_store, open_table
from server.settings import Settings
from tests.server.embedded import engine_pid, successor


async def test_the_engine_creates_the_directory_and_leaves_no_process(tmp_path: Path) -> None:
    data_dir = tmp_path / "deep/data"
    async with embedded_engine(data_dir, share=False) as engine:
        pid = engine_pid(data_dir)
        assert psutil.pid_exists(pid)
        assert engine.endpoint_url.startswith("http://127.0.0.1:")
        assert not engine.died.done()
    assert not psutil.pid_exists(pid)
    assert DataDirectory(data_dir).record() is None


async def test_an_exception_in_the_block_stops_the_engine(tmp_path: Path) -> None:
    pids = []

    async def fail() -> None:
        async with embedded_engine(tmp_path, share=False):
            pids.append(engine_pid(tmp_path))
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        await fail()
    assert not psutil.pid_exists(pids[0])


async def test_a_command_uses_the_engine_of_a_running_server_and_leaves_it_running(
    tmp_path: Path,
) -> None:
    """The command reaches the directory by another path than the server."""
    (tmp_path / "link").symlink_to(tmp_path / "data")
    async with embedded_engine(tmp_path / "data", share=False) as engine:
        pid = engine_pid(tmp_path / "data")
        async with embedded_engine(tmp_path / "link", share=True) as shared:
            assert shared.endpoint_url == engine.endpoint_url
        assert engine_pid(tmp_path / "data") == pid
        assert psutil.pid_exists(pid)


async def test_a_command_waits_for_a_command_that_runs_an_engine_itself(tmp_path: Path) -> None:
    running = 0

    async def command() -> str:
        nonlocal running
        async with embedded_engine(tmp_path, share=True) as engine:
            running += 1
            assert running == 1
            await asyncio.sleep(0.1)
            running -= 1
            return engine.endpoint_url

    assert len(await asyncio.gather(command(), command(), command())) == 3


async def test_a_command_reports_that_it_waits_and_finally_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine_module, "SHARE_DEADLINE", 1.0)
    monkeypatch.setattr(engine_module, "_SILENT_WAIT", 0.1)
    async with embedded_engine(tmp_path, share=True):
        with pytest.raises(DataDirectoryInUseError):
            async with embedded_engine(tmp_path, share=True):
                pass
    assert f" {tmp_path}: waiting" in caplog.messages[-1]


async def test_a_killed_engine_is_restarted_on_its_port_with_its_data(tmp_path: Path) -> None:
    async with open_store(Settings(data_dir=tmp_path), share=False) as store:
        pid = engine_pid(tmp_path)
        await store.table.put_many([{"PK": {"S": "kept"}, "SK": {"S": "kept"}}])
        os.kill(pid, signal.SIGKILL)
        assert await store.table.get({"PK": {"S": "kept"}, "SK": {"S": "kept"}})
        await successor(tmp_path, pid, died=store.died)
        async with open_table(Settings(data_dir=tmp_path), share=True) as shared:
            assert await shared.get({"PK": {"S": "kept"}, "SK": {"S": "kept"}})
        assert not store.died.done()


async def test_an_engine_that_ends_rarely_is_restarted_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "RESTART_WINDOW", 0.0)
    async with embedded_engine(tmp_path, share=False) as engine:
        pid = engine_pid(tmp_path)
        for _ in range(3):
            os.kill(pid, signal.SIGKILL)
            pid = await successor(tmp_path, pid, died=engine.died)
        assert not engine.died.done()


async def test_an_engine_that_cannot_be_restarted_is_reported_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with embedded_engine(tmp_path, share=False) as engine:
        monkeypatch.setenv("MARGINALIA_ENGINE", str(tmp_path / "gone"))
        os.kill(engine_pid(tmp_path), signal.SIGKILL)
        async with asyncio.timeout(60):
            assert "set MARGINALIA_ENGINE" in await engine.died


@contextmanager
def stolen(endpoint_url: str) -> Iterator[None]:
    """Listen on the port of a killed engine, as another program could."""
    port = urlsplit(endpoint_url).port
    assert port is not None
    until = time.monotonic() + 60
    while True:  # does not await, because the event loop would restart the engine first
        try:
            listener = socket.create_server(("127.0.0.1", port))
            break
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.001)
    with listener:
        yield


async def test_the_restart_of_an_engine_waits_for_its_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients of the table know only this port."""
    attempts = 0
    start = EngineProcess.start

    async def counted(database: Path, port: int) -> EngineProcess:
        nonlocal attempts
        attempts += 1
        if attempts == 3:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return await start(database, port)

    async with embedded_engine(tmp_path, share=False) as engine:
        pid = engine_pid(tmp_path)
        monkeypatch.setattr(engine_module, "_START_PAUSE", 0.0)
        monkeypatch.setattr(EngineProcess, "start", counted)
        os.kill(pid, signal.SIGKILL)
        with stolen(engine.endpoint_url):
            async with asyncio.timeout(60):
                while attempts < 15 and not engine.died.done():  # noqa: ASYNC110 - no event
                    await asyncio.sleep(0.001)
        assert await successor(tmp_path, pid, died=engine.died)
    port = engine.endpoint_url.rpartition(":")[2]
    (message,) = caplog.messages[1:]
    assert f"port {port}): trying again" in message


async def test_an_engine_whose_port_stays_in_use_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with embedded_engine(tmp_path, share=False) as engine:
        monkeypatch.setattr(engine_module, "START_DEADLINE", 0.0)
        os.kill(engine_pid(tmp_path), signal.SIGKILL)
        with stolen(engine.endpoint_url):
            async with asyncio.timeout(60):
                assert engine.endpoint_url.rpartition(":")[2] in await engine.died


@pytest.mark.parametrize(
    ("ephemeral", "free"),
    [
        ("32768\t60999\n", {*range(11_000, 32_768), *range(61_000, 65_536)}),
        ("11000 65000", range(65_001, 65_536)),
        ("1024 65535", range(11_000, 65_536)),
        (None, range(11_000, 49_152)),
    ],
)
def test_a_free_port_is_outside_of_the_systems_range_of_ephemeral_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ephemeral: str | None, free: Container[int]
) -> None:
    path = tmp_path / "ip_local_port_range"
    if ephemeral is not None:
        path.write_text(ephemeral)
    monkeypatch.setattr(engine_process, "_EPHEMERAL", path)
    assert all(free_port() in free for _ in range(20))


async def test_if_another_program_takes_the_port_another_port_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = free_port()
        ports = [free, listener.getsockname()[1]]
        monkeypatch.setattr(engine_module, "free_port", ports.pop)
        async with embedded_engine(tmp_path, share=False) as engine:
            assert engine.endpoint_url == f"http://127.0.0.1:{free}"


async def test_a_broken_record_counts_as_a_missing_record(tmp_path: Path) -> None:
    (tmp_path / "engine.json").write_text('{"owner": ')
    async with embedded_engine(tmp_path, share=False):
        assert psutil.pid_exists(engine_pid(tmp_path))


async def test_a_directory_whose_lock_file_was_deleted_cannot_be_used_twice(tmp_path: Path) -> None:
    """Another program may delete files of the directory while the server runs."""
    async with embedded_engine(tmp_path, share=False):
        pid = engine_pid(tmp_path)
        for name in ("marginalia.lock", "engine.json"):
            (tmp_path / name).unlink(missing_ok=True)
        with pytest.raises(DataDirectoryInUseError):
            async with embedded_engine(tmp_path, share=False):
                pass
        assert psutil.pid_exists(pid)
