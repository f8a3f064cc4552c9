"""Kills servers, and looks for engines that outlive them.

Each round starts a server with a data directory of its own. It sends SIGKILL to a server without
workers, to the parent of two workers, to a worker and then its parent, to a parent that replaces
its workers, or to a server that is starting. The engine must end within a second after its server.
If only a worker is killed, the engine must continue.
"""

import argparse
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tests.server.embedded import engine_pid
from tests.server.serving import MARGINALIA, environment, served
from tests.server.workers.processes import workers_of
from tools.trials.reporting import finish, show

SOON = 1.0
"""The seconds within which the engine of a killed server must end."""

KINDS = ("server", "parent", "worker", "replacing", "start")


def _of(data_dir: Path) -> list[psutil.Process]:
    """Return the running processes that have a directory in an argument or an environment
    variable.
    """
    found = []
    for one in psutil.process_iter(["cmdline", "environ", "status"]):
        named = [*(one.info["cmdline"] or ()), *(one.info["environ"] or {}).values()]
        if one.info["status"] != psutil.STATUS_ZOMBIE and any(str(data_dir) in it for it in named):
            found.append(one)
    return found


def _gone(remain: Callable[[], object]) -> float:
    """Return the seconds until nothing remains, at most 60."""
    began = time.monotonic()
    while remain() and time.monotonic() - began < 60:
        time.sleep(0.005)
    return time.monotonic() - began


def _killed(kind: str, data_dir: Path) -> float:
    """Start and kill a server. Return the seconds until its engine has ended."""
    workers = () if kind == "server" else ("--workers", "2")
    with served(data_dir, *workers, TRIAL=str(data_dir)) as running:
        engine = engine_pid(data_dir)
        if kind == "worker":
            workers_of(running)[0].kill()
            time.sleep(random.uniform(0, 0.5))
        elif kind == "replacing":
            running.process.send_signal(signal.SIGHUP)
            time.sleep(random.uniform(0, 2.5))
        assert engine_pid(data_dir) == engine
        assert psutil.pid_exists(engine)
        running.kill()
        return _gone(lambda: psutil.pid_exists(engine))


def _killed_at_start(data_dir: Path) -> float:
    """Kill a server while it starts. Return the seconds until all its processes have ended."""
    command = [str(MARGINALIA), "serve", "--port", "0", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) as starting:
        time.sleep(random.uniform(0.2, 1.2))
        starting.kill()
        starting.wait()
        return _gone(lambda: _of(data_dir))


def main() -> None:
    """Run the rounds and print their numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    engines: dict[str, list[float]] = {kind: [] for kind in KINDS}
    others: dict[str, list[float]] = {kind: [] for kind in KINDS}
    """The seconds from the end of the engine to the end of all processes."""
    broken = []
    with TemporaryDirectory() as folder:
        for number in range(rounds):
            kind, data_dir = KINDS[number % len(KINDS)], Path(folder, f"round-{number}")
            kill = _killed_at_start(data_dir) if kind == "start" else _killed(kind, data_dir)
            engines[kind].append(kill)
            others[kind].append(_gone(lambda at=data_dir: _of(at)))  # type: ignore[misc]
            broken += [f"{kind}: process {one.pid} is left." for one in _of(data_dir)]
    rows = []
    for kind, seconds in engines.items():
        row = sorted(seconds) or [0.0]
        figures = row[len(row) // 2], row[-1], max(others[kind], default=0.0)
        rows.append([kind, str(len(seconds)), *(f"{one:.3f}" for one in figures)])
        if row[-1] > SOON:
            broken.append(f"{kind}: an engine stayed for {row[-1]:.1f} s.")
    columns = ("killed", "rounds", "engine gone: median s", "longest s", "then all: longest s")
    show("Killed servers", columns, rows)
    finish(broken)


if __name__ == "__main__":
    main()
