"""Sets up in an empty folder, and times the first page.

Clones this repository without uncommitted changes, and runs ``make run`` in the clone, with an
empty home directory and without npm. Each round measures the given commits in turn, by default
HEAD. On a busy machine, compare rounds and processor times.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psutil

from server.local_engine.engine_process import free_port
from tests.engines import ROOT
from tools.trials.reporting import CONSOLE

PATIENCE = 900.0
"""Seconds after which the trial gives up."""

_KEPT = ("PIP_", "NPM_CONFIG_", "SSL_CERT_", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY")


def bare(directory: Path) -> dict[str, str]:
    """Return an environment with an empty home directory, and a PATH without npm and Node.js."""
    programs = directory / "bin"
    programs.mkdir()
    for program in (one for place in ("/usr/bin", "/bin") for one in Path(place).iterdir()):
        link = programs / program.name
        if program.name not in {"node", "nodejs", "npm", "npx"} and not link.is_symlink():
            link.symlink_to(program)
    (directory / "home").mkdir()
    kept = {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}
    return kept | {"PATH": str(programs), "HOME": str(directory / "home")}


@contextmanager
def made_to_run(directory: Path, commit: str, port: int) -> Iterator[psutil.Process]:
    """Run ``make run`` in a clone of a commit until the block ends."""
    clone = directory / "clone"
    git = shutil.which("git") or "git"
    subprocess.run([git, "clone", "--quiet", ROOT, clone], check=True)
    subprocess.run([git, "-C", clone, "checkout", "--quiet", commit], check=True)
    with (
        (directory / "log").open("w") as log,
        subprocess.Popen(
            ["/usr/bin/make", "run"],
            cwd=clone,
            env=bare(directory) | {"MARGINALIA_PORT": str(port)},
            stdout=log,
            stderr=log,
            process_group=0,
        ) as process,
    ):
        try:
            yield psutil.Process(process.pid)
        finally:
            os.killpg(process.pid, signal.SIGINT)


def spent(process: psutil.Process) -> float:
    """Return the processor time of a process and its descendants in seconds."""
    times = [one.cpu_times() for one in [process, *process.children(recursive=True)]]
    return float(sum(sum(time[:4]) for time in times))


def first_page(commit: str) -> tuple[float, float]:
    """Return the seconds until a commit shows its first page, and the processor time until then."""
    port = free_port()
    with TemporaryDirectory() as directory, made_to_run(Path(directory), commit, port) as process:
        started = time.monotonic()
        while not _answers(port):
            if process.status() == psutil.STATUS_ZOMBIE or time.monotonic() - started > PATIENCE:
                sys.exit((Path(directory) / "log").read_text("utf-8"))
            time.sleep(0.1)
        return time.monotonic() - started, spent(process)


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/", timeout=30).is_success
    except httpx.TransportError:
        return False


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", default=["HEAD"])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for _ in range(given.rounds):
        for commit in given.commits:
            seconds, cpu = first_page(commit)
            load = os.getloadavg()[0]
            CONSOLE.print(f"{commit:12} {seconds:6.1f} s  CPU {cpu:5.1f} s  load {load:.1f}")


if __name__ == "__main__":
    main()
