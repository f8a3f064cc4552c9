"""Helpers for tests of the embedded engine."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from server.errors import CommandError
from server.local_engine.data_directory import DataDirectory, EngineRecord
from server.local_engine.engine import embedded_engine
from server.local_engine.engine_process import free_port
from tests.engines import DYNOXIDE


def engine_pid(data_dir: Path) -> int:
    """Return the process id of the engine that a data directory records."""
    record = DataDirectory(data_dir).record()
    assert record is not None
    return record.engine


async def successor(data_dir: Path, pid: int, *, died: asyncio.Future[str] | None = None) -> int:
    """Wait until another engine than ``pid`` is recorded. Return its process id.

    If ``died`` is done, the engine could not be restarted, and this fails at once.
    """
    for _ in range(6000):
        if (now := engine_pid(data_dir)) != pid:
            return now
        if died is not None and died.done():
            raise AssertionError(f"no engine followed {pid}: {died.result()}")
        await asyncio.sleep(0.01)
    running = [one.info for one in psutil.process_iter(["pid", "ppid", "status", "cmdline"])]
    mine = [one for one in running if str(data_dir) in " ".join(one["cmdline"] or [])]
    raise TimeoutError(f"no engine followed {pid}: {mine}")


async def refusal(data_dir: Path) -> str:
    """Return the error message of an engine that cannot start in ``data_dir``."""
    with pytest.raises(CommandError) as caught:
        async with embedded_engine(data_dir, share=False):
            pass
    return str(caught.value)


@contextmanager
def abandoned(data_dir: Path, database: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run an engine that is recorded in ``data_dir``, and whose server has ended."""
    command = [str(DYNOXIDE), "serve", "--port", str(free_port()), "--db-path", str(database)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"listening" in process.stderr.readline()
        DataDirectory(data_dir).write_record(EngineRecord(1, True, process.pid, "http://nowhere"))
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def mounted(path: Path, options: str) -> Iterator[Path]:
    """Mount a file system in memory at ``path``. Skip the test without the permission to mount."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        pytest.skip(f"needs the right to mount: {outcome.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


def fill(path: Path) -> None:
    """Write to a file until the disk is full."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            assert error.strerror == "No space left on device"  # noqa: PT017 - ends the loop
