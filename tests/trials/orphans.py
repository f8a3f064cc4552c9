"""Kills servers, and looks for engines that outlive them.

Each round starts a server with a data directory of its own and sends SIGKILL: to a server, to the
parent of two workers, to a worker and then its parent, to a parent that replaces its workers, or to
a server that starts. A killed worker is replaced and the engine must stay; the engine must end
within a second of its server.
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
from tests.trials.reporting import finish, show

SOON = 1.0
"""Seconds after which the engine of a killed server must be gone."""

KINDS = ("server", "parent", "worker", "replacing", "start")


def _of(data_dir: Path) -> list[psutil.Process]:
    """Return the living processes that name a directory in an argument or a variable."""
    found = []
    for one in psutil.process_iter(["cmdline", "environ", "status"]):
        named = [*(one.info["cmdline"] or ()), *(one.info["environ"] or {}).values()]
        if one.info["status"] != psutil.STATUS_ZOMBIE and any(str(data_dir) in it for it in named):
            found.append(one)
    return found


def _gone(remain: Callable[[], object]) -> float:
    """Return the seconds until no process remains; a minute if one does."""
    began = time.monotonic()
    while remain() and time.monotonic() - began < 60:
        time.sleep(0.005)
    return time.monotonic() - began


def _killed(kind: str, data_dir: Path) -> float:
    """Start and kill a server; return the seconds until its engine is gone."""
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
    """Kill a server at any moment of its start; return the seconds until no process is left."""
    command = [str(MARGINALIA), "serve", "--port", "0", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) as starting:
        time.sleep(random.uniform(0.2, 1.2))
        starting.kill()
        starting.wait()
        return _gone(lambda: _of(data_dir))


def main() -> None:
    """Run the rounds and show their figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    engines: dict[str, list[float]] = {kind: [] for kind in KINDS}
    others: dict[str, list[float]] = {kind: [] for kind in KINDS}
    """Seconds from the end of the engine to that of all processes."""
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
