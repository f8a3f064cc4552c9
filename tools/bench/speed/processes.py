"""Stops the processes that are measured, and reads their CPU time and memory."""

import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

STOP_SECONDS = 10.0

Times = Mapping[tuple[int, str], int]
"""Nanoseconds of CPU time, by process and thread."""


def stop(process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> None:
    """Stop a process; kill it if it does not stop within STOP_SECONDS."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def cpu_times(pid: int) -> Times:
    """Return the CPU time of each thread of a process and its descendants, from ``schedstat``."""
    times: dict[tuple[int, str], int] = {}
    for process in _family(pid):
        # A process or a thread may end at any time. Leave out those that have ended.
        with suppress(FileNotFoundError, ProcessLookupError):
            for thread in Path(f"/proc/{process.pid}/task").iterdir():
                with suppress(FileNotFoundError, ProcessLookupError):
                    text = (thread / "schedstat").read_text()
                    times[process.pid, thread.name] = int(text.split()[0])
    return times


def cpu_between(before: Times, after: Times) -> float:
    """Return the CPU seconds between two readings. Threads that ended in between do not count."""
    return sum(time - before.get(thread, 0) for thread, time in after.items()) / 1e9


def memory_of(pid: int) -> int:
    """Return the bytes of memory that a process and its descendants use."""
    total = 0
    for process in _family(pid):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total
