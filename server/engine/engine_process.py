"""The embedded engine's process: starts it under a guard, stops it, and finds it after a crash.

The guard is a shell that kills the engine when this process ends, on any Unix. The shell reads from
a pipe that this process keeps open. When this process ends, even by SIGKILL, the system closes the
pipe.
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
"""Maximum seconds of the engine's start. After a kill, it reads the write-ahead log first, which
takes a moment."""

STOP_DEADLINE = 5.0
"""Seconds between SIGTERM and SIGKILL."""

_SCRIPT = """\
sh -c 'echo $$ >&2; exec "$@"' sh "$@" </dev/null >/dev/null &
exec 2>/dev/null
read -r _
kill -9 $!
wait $!
"""
"""The guard's script: runs a program until standard input ends. The starting process holds the
other end of this pipe and never writes to it, so the pipe ends when that process ends.

The guard is the program's parent, so the system gives the program's process id to no other program
before the guard ends. The program's own process writes this id, and then executes the program. If
the guard wrote the id, the id could appear in the middle of the program's first line."""

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Linux's first and last ephemeral port."""

_PORTS = range(11_000, 65_536)
"""Ports to choose from. Browsers refuse some lower ports."""

_RANDOM = random.SystemRandom()
"""A generator that differs in each process, even if a test has seeded Python's shared one."""

_SIGNALLED = 128
"""If a signal kills a program, a shell's exit code is this number plus the signal's number."""

_NOT_EXECUTED = {126, 127}
"""A shell's exit codes if the system cannot execute a program."""


class PortTakenError(Exception):
    """Another program took the port after it was chosen, before the engine's start."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A shell that runs a program until this process closes the shell's standard input."""

    process: subprocess.Popen[bytes]
    output: asyncio.StreamReader
    """The program's process id in the first line, then everything that it writes to standard
    error."""
    transport: asyncio.BaseTransport

    async def end(self) -> int:
        """Kill the program if it still runs, wait for the guard, and return the exit code.

        If a signal killed the program, the code is the negative number of the signal.
        """
        assert self.process.stdin is not None  # noqa: S101 - piped in guarded
        self.process.stdin.close()
        await self.output.read()
        self.transport.close()
        # The event loop would close the pipe only in its next turn, and there may be no next turn.
        await asyncio.sleep(0)
        # This loop polls, because the guard ends in a moment, and a waiting thread would outlive a
        # cancelled task.
        while (code := self.process.poll()) is None:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(0.001)
        return _SIGNALLED - code if code > _SIGNALLED else code


async def guarded(program: Path, *arguments: str) -> Guard:
    """Start a program under a guard, in a new session, with pipes for its input and output."""
    # The event loop does not start the process, because a child of uvloop inherits a second copy of
    # each pipe, which would stay open.
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
    """A running engine, which answers on a port of 127.0.0.1."""

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
        """Start an engine over a file, and wait until it listens.

        Raises PortTakenError if another program uses the port, and CommandError if the engine ends
        or does not listen in time.
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
            try:  # try to run the program directly, to get the reason from the system
                subprocess.run([binary, "--version"], capture_output=True, check=False)  # noqa: ASYNC221, S603 - it fails at once
            except OSError as why:
                raise CommandError(
                    f"The storage engine {binary} cannot be run ({why.strerror}): run `make setup` "
                    "again, or set MARGINALIA_ENGINE to one that can."
                ) from why
        if "already in use" in error:
            raise PortTakenError
        # The rest of the message is advice for the engine's developers.
        reason = error.partition(". ")[0]
        raise CommandError(
            f"The storage engine cannot open {database}: {reason}. If the file is damaged, put a "
            "backup in its place with `marginalia restore`."
        )

    async def wait(self) -> str:
        """Wait until the engine ends. Return its exit code or signal, in a few words."""
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
    """Return a free port of 127.0.0.1, if possible one that is not ephemeral.

    The system gives ephemeral ports to connections, and to servers that choose no port. So while an
    engine is restarted, another program could get its ephemeral port.
    """
    try:
        first, last = map(int, _EPHEMERAL.read_text().split())
    except OSError:
        first, last = 49_152, 65_535  # IANA's range of ephemeral ports, which macOS uses
    lasting = [port for port in _PORTS if not first <= port <= last]
    while True:
        port = _RANDOM.choice(lasting or _PORTS)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


async def _listening(guard: Guard) -> tuple[int, str]:
    """Read the output until the engine listens. Return its process id and an empty text.

    If the engine ends instead, the text is the last line of its output.
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
    """Return the recorded engine's process; None if it does not run over ``database``.

    The system may have given its process id to another program.
    """
    try:
        process = psutil.Process(record.engine)
        command = process.cmdline()
    except psutil.Error:
        return None
    return process if str(database) in command else None


def end_orphan(directory: DataDirectory) -> None:
    """End the engine that a killed owner has left running.

    Two engines over one file would damage it, because they ignore each other's locks.
    """
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
