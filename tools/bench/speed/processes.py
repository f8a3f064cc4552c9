"""Processes that are measured: their CPU time and memory, those of their children included."""

import resource
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from server.errors import CommandError

Times = Mapping[tuple[int, str], int]
"""Nanoseconds of CPU by process and thread."""

_PROC = Path("/proc")


def family(pids: Iterable[int]) -> list[psutil.Process]:
    """Return the processes of these ids, and all that descend from them."""
    found: list[psutil.Process] = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            found += [process, *process.children(recursive=True)]
    return found


def cpu_times(pids: Iterable[int]) -> Times:
    """Return what the scheduler has counted for each thread."""
    times: dict[tuple[int, str], int] = {}
    for process in family(pids):
        with suppress(FileNotFoundError, ProcessLookupError):
            for thread in (_PROC / str(process.pid) / "task").iterdir():
                with suppress(FileNotFoundError, ProcessLookupError):
                    text = (thread / "schedstat").read_text()
                    times[process.pid, thread.name] = int(text.split()[0])
    return times


def cpu_between(before: Times, after: Times) -> float:
    """Return the seconds of CPU between two looks; threads that have ended since do not count."""
    spent = sum(time - before.get(thread, 0) for thread, time in after.items())
    return spent / 1e9


def memory_of(pids: Iterable[int]) -> int:
    """Return the bytes that processes hold in memory."""
    total = 0
    for process in family(pids):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total


def check_counters() -> None:
    """Raise CommandError where the kernel does not count the CPU time of threads."""
    if not (_PROC / "self/schedstat").exists():
        raise CommandError("This kernel has no /proc/PID/schedstat: use a Linux that has it.")


def allow_descriptors() -> None:
    """Let this process have as many connections as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
