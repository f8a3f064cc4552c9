"""The engine's process: programs that do not start, ports in use, guards and orphans."""

import asyncio
import contextlib
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import uvloop

from server.local_engine.engine import embedded_engine
from server.local_engine.engine_process import EngineProcess, PortTakenError, free_port, guarded
from tests.engines import ROOT
from tests.server.embedded import abandoned, engine_pid, refusal


async def test_a_port_in_use_is_distinguished_from_other_errors(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(PortTakenError):
        await EngineProcess.start(tmp_path / "x.db", listener.getsockname()[1])


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        (None, "{path}: set MARGINALIA_ENGINE "),
        (0o644, "{path} cannot be run (Permission denied): run `make setup`"),
        (0o755, "{path} cannot be run (Exec format error): run `make setup`"),
    ],
)
async def test_a_program_that_cannot_be_run_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int | None, sentence: str
) -> None:
    path = tmp_path / "dynoxide"
    if mode is not None:
        path.write_bytes(b"\0")
        path.chmod(mode)
    monkeypatch.setenv("MARGINALIA_ENGINE", str(path))
    assert sentence.format(path=path) in await refusal(tmp_path / "data")


async def test_the_message_of_an_engine_that_ends_at_once_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dynoxide"
    path.write_text("#!/bin/sh\necho 'error: Internal error: disk I/O error' >&2\nexit 1\n")
    path.chmod(0o755)
    monkeypatch.setenv("MARGINALIA_ENGINE", str(path))
    database = tmp_path / "data/marginalia.db"
    refused = await refusal(tmp_path / "data")
    assert f" {database}: disk I/O error. " in refused
    assert "`marginalia restore`" in refused


async def test_an_engine_that_does_not_start_in_time_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dynoxide"
    path.write_text("#!/bin/sh\nexec sleep 60\n")
    path.chmod(0o755)
    monkeypatch.setenv("MARGINALIA_ENGINE", str(path))
    monkeypatch.setattr("server.local_engine.engine_process.START_DEADLINE", 0.2)
    assert "did not start" in await refusal(tmp_path / "data")


STARTS = """
import asyncio, sys, uvloop
from pathlib import Path
from server.local_engine.engine_process import guarded
async def main():
    guard = await guarded(Path("/bin/sleep"), sys.argv[1])
    print((await guard.output.readline()).decode(), end="", flush=True)
    await asyncio.sleep(600)
asyncio.Runner(loop_factory=uvloop.new_event_loop).run(main())
"""


def sleepers(seconds: str) -> list[psutil.Process]:
    """Return the running programs of a test and their guards."""
    return [
        one
        for one in psutil.process_iter(["cmdline", "status"])
        if one.info["cmdline"]
        and one.info["cmdline"][-2:] == ["/bin/sleep", seconds]
        and one.info["status"] != psutil.STATUS_ZOMBIE
    ]


@pytest.mark.parametrize("said", [True, False])
def test_a_program_ends_when_the_process_that_started_it_is_killed(said: bool) -> None:
    """The process is killed while the program runs, or at some moment of the program's start."""
    for number in range(3):
        seconds = f"{600 + random.random()}"
        with subprocess.Popen(
            [sys.executable, "-c", STARTS, seconds], cwd=ROOT, stdout=subprocess.PIPE
        ) as starter:
            assert starter.stdout is not None
            if said:
                assert starter.stdout.readline().strip().isdigit()
                assert sleepers(seconds)
            else:
                time.sleep(0.15 + 0.05 * number)
            starter.kill()
        deadline = time.monotonic() + 60
        while sleepers(seconds) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not sleepers(seconds)


@pytest.mark.parametrize(
    ("program", "arguments", "code"),
    [
        ("/bin/sh", ["-c", "exit 3"], 3),
        ("/bin/sh", ["-c", "kill -TERM $$"], -signal.SIGTERM),
        ("/nowhere", [], 127),
        ("/bin/sleep", ["600"], -signal.SIGKILL),
    ],
)
async def test_the_guard_returns_the_exit_code_of_a_program(
    program: str, arguments: list[str], code: int
) -> None:
    guard = await guarded(Path(program), *arguments)
    if code != -signal.SIGKILL:
        await guard.output.read()
    assert await guard.end() == code
    assert await guard.end() == code, "it may be told twice"
    assert guard.process.returncode is not None


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("turns", range(4))
def test_a_start_that_is_cancelled_has_ended_its_program(
    turns: int, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def cancelled() -> None:
        start = asyncio.create_task(guarded(Path("/bin/sleep"), "600"))
        for _ in range(turns):
            await asyncio.sleep(0)
        children.update(psutil.Process().children(recursive=True))
        start.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await start).end()

    others = set(psutil.Process().children(recursive=True))  # servers of other tests
    children: set[psutil.Process] = set()
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(cancelled())
    assert not any(child.is_running() for child in children - others)


async def test_a_killed_guard_does_not_kill_its_program(tmp_path: Path) -> None:
    """The engine continues, and can be stopped as usual."""
    engine = await EngineProcess.start(tmp_path / "x.db", free_port())
    engine.guard.process.kill()
    engine.guard.process.wait()
    running = psutil.Process(engine.pid)
    assert running.status() != psutil.STATUS_ZOMBIE
    await engine.stop()
    assert psutil.wait_procs([running], timeout=60)[1] == []


def opened(pid: int) -> set[str]:
    """Return the pipes and sockets that a process has open."""
    found = set()
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the process has just closed it
            found.add(str(one.readlink()))
    return {one for one in found if one.startswith(("pipe:", "socket:"))}


def test_a_program_does_not_inherit_the_guards_pipe() -> None:
    """Otherwise the program would keep the guard's pipe open. It inherits only standard error."""

    async def descriptors() -> set[str]:
        guard = await guarded(Path("/bin/sleep"), "600")
        pid = int(await guard.output.readline())
        while psutil.Process(pid).name() != "sleep":  # noqa: ASYNC110 - looked at, not told
            await asyncio.sleep(0.001)
        found = opened(pid)
        await guard.end()
        return found

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs Linux's /proc to look at descriptors")
    kept = uvloop.run(descriptors())
    assert len(kept) == 1, "its standard error"


async def test_an_engine_of_a_killed_server_is_stopped_before_the_next_starts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with abandoned(tmp_path, tmp_path / "marginalia.db") as orphan:
        async with embedded_engine(tmp_path, share=False):
            assert not psutil.pid_exists(orphan.pid)
            assert engine_pid(tmp_path) != orphan.pid
    assert "was still running" in caplog.text


async def test_an_engine_that_ignores_sigterm_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.local_engine.engine_process.STOP_DEADLINE", 0.2)
    with abandoned(tmp_path, tmp_path / "marginalia.db") as orphan:
        orphan.send_signal(signal.SIGSTOP)
        async with embedded_engine(tmp_path, share=False):
            assert not psutil.pid_exists(orphan.pid)


async def test_another_program_with_the_recorded_process_id_is_not_stopped(tmp_path: Path) -> None:
    with abandoned(tmp_path, tmp_path / "elsewhere.db") as stranger:
        async with embedded_engine(tmp_path, share=False):
            assert stranger.poll() is None
