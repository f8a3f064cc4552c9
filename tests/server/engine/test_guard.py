"""Programs that live no longer than who started them."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import uvloop

from server.engine.guard import guarded
from server.engine.process import EngineProcess
from tests.engines import ROOT, free_port

STARTS = """
import asyncio, sys, uvloop
from pathlib import Path
from server.engine.guard import guarded
async def main():
    guard = await guarded(Path("/bin/sleep"), sys.argv[1])
    print((await guard.said.readline()).decode(), end="", flush=True)
    await asyncio.sleep(600)
asyncio.Runner(loop_factory=uvloop.new_event_loop).run(main())
"""


def sleepers(seconds: str) -> list[psutil.Process]:
    """Return what a test has started, and the guards of it."""
    return [
        one
        for one in psutil.process_iter(["cmdline", "status"])
        if one.info["cmdline"]
        and one.info["cmdline"][-2:] == ["/bin/sleep", seconds]
        and one.info["status"] != psutil.STATUS_ZOMBIE
    ]


@pytest.mark.parametrize("said", [True, False])
def test_a_kill_of_who_started_it_ends_a_program(said: bool) -> None:
    """Once it runs, or at any moment before."""
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
async def test_the_end_tells_how_a_program_ended(
    program: str, arguments: list[str], code: int
) -> None:
    guard = await guarded(Path(program), *arguments)
    if code != -signal.SIGKILL:
        await guard.said.read()
    assert await guard.end() == code
    assert await guard.end() == code, "it may be told twice"
    assert guard.process.returncode is not None


async def test_a_killed_guard_takes_nothing_along(tmp_path: Path) -> None:
    """The engine serves on, and is stopped as ever."""
    engine = await EngineProcess.start(tmp_path / "x.db", free_port())
    engine._guard.process.kill()
    engine._guard.process.wait()
    running = psutil.Process(engine.pid)
    assert running.status() != psutil.STATUS_ZOMBIE
    await engine.stop()
    assert psutil.wait_procs([running], timeout=60)[1] == []


def opened(pid: int) -> set[str]:
    """Return the pipes that a process has open."""
    found = {str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir()}
    return {one for one in found if one.startswith(("pipe:", "socket:"))}


def test_the_program_has_no_end_of_the_guards_pipe() -> None:
    """A copy of ours would keep it alive, and of the other ends only its standard error is its."""

    async def descriptors() -> set[str]:
        guard = await guarded(Path("/bin/sleep"), "600")
        pid = int(await guard.said.readline())
        while psutil.Process(pid).name() != "sleep":  # noqa: ASYNC110 - looked at, not told
            await asyncio.sleep(0.001)
        found = opened(pid)
        await guard.end()
        return found

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs Linux's /proc to look at descriptors")
    kept = uvloop.run(descriptors())
    assert len(kept) == 1, "its standard error"
