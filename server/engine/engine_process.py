"""The embedded engine's process: started under a guard, stopped, and found after a crash.

The guard is a shell that kills the engine when this process ends, on any Unix. It reads from a pipe
that this process keeps open. When the process ends, even by SIGKILL, the system closes the pipe.
"""

import asyncio
import logging
import os
import random
import signal
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from server.engine.data_directory import DataDirectory, EngineRecord
from server.engine.program import engine_binary
from server.errors import CommandError

logger = logging.getLogger(__name__)

START_DEADLINE = 30.0
"""Seconds. After a kill, the next start reads the write-ahead log, which takes a moment."""

STOP_DEADLINE = 5.0
"""Seconds between SIGTERM and SIGKILL."""

_SCRIPT = """\
sh -c 'echo $$ >&2; exec "$@"' sh "$@" </dev/null >/dev/null &
exec 2>/dev/null
read -r _
kill -9 $!
wait $!
"""
"""Runs a program until standard input ends. The starting process holds the other end of that pipe
and never writes to it, so the pipe ends when the process ends.

The guard is the program's parent, so no other program gets its process id before the guard ends.
The program's own process writes the id before it runs the program: an id that the guard wrote
could land in the middle of the program's first line.
"""

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Linux's first and last ephemeral port."""

_PORTS = range(11_000, 65_536)
"""Ports to choose from; browsers refuse some below."""

_RANDOM = random.SystemRandom()
"""Differs in each process, also if a test has seeded the shared generator."""

_SIGNALLED = 128
"""A shell adds this to the number of the signal that killed a program."""

_NOT_EXECUTED = {126, 127}
"""A shell's exit codes for a program that the system does not run."""


class PortTakenError(Exception):
    """Another program took the port between its choice and the engine's start."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A shell that runs a program until this process closes the shell's standard input."""

    process: subprocess.Popen[bytes]
    output: asyncio.StreamReader
    """A line with the program's process id, then the program's standard error until its end."""
    transport: asyncio.BaseTransport

    async def end(self) -> int:
        """Kill the program if it still runs, wait for the guard, and return the exit code.

        For a program that a signal killed, the code is the signal's number below zero.
        """
        assert self.process.stdin is not None  # noqa: S101 - piped in guarded
        self.process.stdin.close()
        await self.output.read()
        self.transport.close()
        # otherwise the loop would close the pipe in its next turn, which may never come
        await asyncio.sleep(0)
        # The guard ends in a moment. A waiting thread would outlive a cancelled task.
        while (code := self.process.poll()) is None:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(0.001)
        return _SIGNALLED - code if code > _SIGNALLED else code


async def guarded(program: Path, *arguments: str) -> Guard:
    """Start a program under a guard, in a new session, without this process's in- and output."""
    # The event loop must not start it: children of uvloop inherit a second copy of each pipe, which
    # stays open.
    process = subprocess.Popen(  # noqa: ASYNC220, S603 - a millisecond, and our own program
        ["/bin/sh", "-c", _SCRIPT, "marginalia-guard", str(program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )
    output = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(output)
    assert process.stderr is not None  # noqa: S101 - piped above
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, process.stderr)
    return Guard(process, output, transport)


@dataclass(frozen=True, slots=True)
class EngineProcess:
    """A running engine that answers on a port of 127.0.0.1."""

    guard: Guard
    pid: int
    """Process id of the engine itself."""
    port: int

    @property
    def endpoint_url(self) -> str:
        """The URL of the engine's DynamoDB API."""
        return f"http://127.0.0.1:{self.port}"

    @classmethod
    async def start(cls, database: Path, port: int) -> "EngineProcess":
        """Start an engine over a file and wait until it listens.

        Raises PortTakenError, and CommandError if the engine ends or does not listen in time.
        """
        binary = engine_binary()
        options = ["--host", "127.0.0.1", "--port", str(port), "--db-path", str(database)]
        guard = await guarded(binary, "serve", *options)
        try:
            async with asyncio.timeout(START_DEADLINE):
                pid, error = await _listening(guard)
        except TimeoutError:
            error = f"it did not start within {START_DEADLINE:.0f} seconds"
        except asyncio.CancelledError:
            await guard.end()
            raise
        if not error:
            return cls(guard, pid, port)
        if await guard.end() in _NOT_EXECUTED:
            try:  # this attempt gets the system's reason
                subprocess.run([binary, "--version"], capture_output=True, check=False)  # noqa: ASYNC221, S603 - it fails at once
            except OSError as why:
                raise CommandError(
                    f"The storage engine {binary} cannot be run ({why.strerror}): run `make setup` "
                    "again, or set MARGINALIA_ENGINE to one that can."
                ) from why
        if "already in use" in error:
            raise PortTakenError
        reason = error.partition(". ")[0]  # the rest is advice for the engine's developers
        raise CommandError(
            f"The storage engine cannot open {database}: {reason}. If the file is damaged, put a "
            "backup in its place with `marginalia restore`."
        )

    async def wait(self) -> str:
        """Wait for the engine to end; return its exit code or signal, in a few words."""
        async for line in self.guard.output:
            logger.warning("The storage engine: %s", line.decode(errors="replace").rstrip())
        code = await self.guard.end()
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    async def stop(self) -> None:
        """Terminate the engine, and kill it if it does not end in time."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_DEADLINE):
                await self.guard.output.read()
        await self.guard.end()


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free, and not ephemeral where possible.

    The system gives ephemeral ports to connections and to servers that name no port. They could
    take the port of an engine that died before the engine is restarted.
    """
    try:
        first, last = map(int, _EPHEMERAL.read_text().split())
    except OSError:
        first, last = 49_152, 65_535  # IANA's range, which macOS uses
    lasting = [port for port in _PORTS if not first <= port <= last]
    while True:
        port = _RANDOM.choice(lasting or _PORTS)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


async def _listening(guard: Guard) -> tuple[int, str]:
    """Read the output until the engine listens; return its process id, and no error.

    For an engine that ends instead, the error is the last line of its output.
    """
    pid, error, listens = 0, "it wrote no error message", False
    async for line in guard.output:
        text = line.decode(errors="replace").strip()
        if text.isdecimal():
            pid = int(text)
        else:
            error = text.removeprefix("error: ").removeprefix("Internal error: ") or error
        listens = listens or text.startswith("Dynoxide listening on")
        if pid and listens:
            return pid, ""
    return pid, error


def recorded_process(record: EngineRecord, database: Path) -> psutil.Process | None:
    """Return the process of the recorded engine, None if it does not run over ``database``.

    The system may have given the process id to another program since.
    """
    try:
        process = psutil.Process(record.engine)
        command = process.cmdline()
    except psutil.Error:
        return None
    return process if str(database) in command else None


def end_orphan(directory: DataDirectory) -> None:
    """End the engine of a killed owner: two engines over one file ignore each other's locks."""
    record = directory.record()
    process = record and recorded_process(record, directory.database)
    if process:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
            try:
                process.wait(STOP_DEADLINE)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(STOP_DEADLINE)
        logger.warning("The storage engine of a killed server was still running; it is stopped.")
    directory.forget_record()
