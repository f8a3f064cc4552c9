"""Kills servers, and looks for engines that outlive them.

``python -m tests.trials.orphans`` starts servers over one data directory each and sends SIGKILL: to
a server, to the parent of two workers, to one worker of two, to a parent that replaces
its workers, and to a server that starts. A worker is replaced and the engine
stays, until its server is killed too.
"""

import argparse
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from rich.console import Console
from rich.table import Table as Grid

from tests.server.embedded import engine_pid
from tests.server.serving import MARGINALIA, environment, served
from tests.server.workers.processes import workers_of

SOON = 1.0
"""Seconds after which the engine of a killed server must be gone."""


def of(data_dir: Path) -> list[psutil.Process]:
    """Return the processes that name a directory in an argument or a variable; no dead ones."""
    found = []
    for one in psutil.process_iter(["cmdline", "environ", "status"]):
        named = [*(one.info["cmdline"] or ()), *(one.info["environ"] or {}).values()]
        if one.info["status"] != psutil.STATUS_ZOMBIE and any(str(data_dir) in it for it in named):
            found.append(one)
    return found


def gone(processes: Callable[[], bool]) -> float:
    """Return the seconds until there are none; a minute where some stay."""
    began = time.monotonic()
    while processes() and time.monotonic() - began < 60:
        time.sleep(0.005)
    return time.monotonic() - began


def server(data_dir: Path) -> float:
    """Kill a server."""
    with served(data_dir) as running:
        engine = engine_pid(data_dir)
        running.kill()
        return gone(lambda: psutil.pid_exists(engine))


def parent(data_dir: Path) -> float:
    """Kill the parent of workers."""
    with served(data_dir, "--workers", "2", TRIAL=str(data_dir)) as running:
        engine = engine_pid(data_dir)
        running.kill()
        return gone(lambda: psutil.pid_exists(engine))


def worker(data_dir: Path) -> float:
    """Kill a worker, see that the engine is the same, and kill the parent."""
    with served(data_dir, "--workers", "2", TRIAL=str(data_dir)) as running:
        engine = engine_pid(data_dir)
        workers_of(running)[0].kill()
        time.sleep(random.uniform(0, 0.5))
        assert engine_pid(data_dir) == engine
        assert psutil.pid_exists(engine)
        running.kill()
        return gone(lambda: psutil.pid_exists(engine))


def replacing(data_dir: Path) -> float:
    """Kill the parent at any moment while it replaces its workers."""
    with served(data_dir, "--workers", "2", TRIAL=str(data_dir)) as running:
        engine = engine_pid(data_dir)
        running.process.send_signal(signal.SIGHUP)
        time.sleep(random.uniform(0, 2.5))
        assert psutil.pid_exists(engine)
        running.kill()
        return gone(lambda: psutil.pid_exists(engine))


def start(data_dir: Path) -> float:
    """Kill a server at any moment of its start."""
    command = [str(MARGINALIA), "serve", "--port", "0", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) as starting:
        time.sleep(random.uniform(0.2, 1.2))
        starting.kill()
        starting.wait()
        return gone(lambda: bool(of(data_dir)))


KINDS = (server, parent, worker, replacing, start)


def main() -> None:
    """Print a table; end with 1 where an engine stayed for longer than a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    took: dict[str, list[float]] = {kind.__name__: [] for kind in KINDS}
    alone: dict[str, list[float]] = {kind.__name__: [] for kind in KINDS}
    """Seconds from the end of the engine to that of all."""
    left = 0
    with TemporaryDirectory() as folder:
        for number in range(rounds):
            kind, data_dir = KINDS[number % len(KINDS)], Path(folder, f"round-{number}")
            took[kind.__name__].append(kind(data_dir))
            alone[kind.__name__].append(gone(lambda at=data_dir: bool(of(at))))  # type: ignore[misc]
            left += len(of(data_dir))
    grid = Grid("killed", "rounds", "engine gone: median s", "longest s", "then all: longest s")
    for name, seconds in took.items():
        row = sorted(seconds) or [0.0]
        figures = row[len(row) // 2], row[-1], max(alone[name], default=0.0)
        grid.add_row(name, str(len(seconds)), *(f"{one:.3f}" for one in figures))
    console = Console()
    console.print(grid)
    console.print(f"{left} processes are left.")
    sys.exit(left > 0 or max(map(max, filter(None, took.values()))) > SOON)


if __name__ == "__main__":
    main()
