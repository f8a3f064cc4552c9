"""Starts and stops the process of the embedded engine, and finds it after a crash.

The engine runs under a guard: a shell process that kills the engine when the engine's owner (a
server or command) ends. The owner keeps a pipe to the guard open, and the guard waits for the end
of the pipe. When the owner ends, the system closes the pipe, even after SIGKILL.
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

from server.errors import CommandError
from server.local_engine.data_directory import DataDirectory, EngineRecord
from server.local_engine.program import engine_binary

logger = logging.getLogger(__name__)

START_DEADLINE = 30.0
"""Maximum seconds for the start of the engine. After an engine was killed, its next start takes
longer, because it first reads the write-ahead log."""

STOP_DEADLINE = 5.0
"""Seconds between SIGTERM and SIGKILL."""

_SCRIPT = """\
sh -c 'echo $$ >&2; exec "$@"' sh "$@" </dev/null >/dev/null &
exec 2>/dev/null
read -r _
kill -9 $!
wait $!
"""
"""The guard's script. It runs a program until standard input ends, then kills the program.

The script first prints the program's process id to standard error. The inner shell prints its own
id, and then becomes the program. If the guard printed the id, the id could appear in the middle of
the program's output. Until the guard ends, the system gives this id to no other process, because
the guard is the parent of the program's process."""

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""A file of Linux with the first and the last ephemeral port. The system gives ephemeral ports to
the connections of all programs."""

_PORTS = range(11_000, 65_536)
"""The ports from which ``free_port`` chooses. Browsers refuse to connect to some lower ports, and
tests open servers on these ports in a browser."""

_RANDOM = random.SystemRandom()
"""Chooses ports. If a test sets the seed of Python's default generator, that generator would choose
the same ports in several processes."""

_SIGNALLED = 128
"""If a signal kills a program, the shell returns this number plus the number of the signal."""

_NOT_EXECUTED = {126, 127}
"""The exit codes of a shell if the system cannot execute a program."""


class PortTakenError(Exception):
    """Another program uses the port that was chosen for the engine."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A shell process that runs a program until the shell's standard input is closed."""

    process: subprocess.Popen[bytes]
    output: asyncio.StreamReader
    """The first line is the program's process id. The other lines are the program's standard
    error."""
    transport: asyncio.BaseTransport

    async def end(self) -> int:
        """Kill the program if it still runs. Wait for the guard. Return the program's exit code.

        If a signal has killed the program, the code is the negative number of the signal.
        """
        assert self.process.stdin is not None  # noqa: S101 - piped in guarded
        self.process.stdin.close()
        await self.output.read()
        self.transport.close()
        # The transport closes the pipe in the loop's next turn. Wait for this turn. Otherwise the
        # loop may end before it, and the pipe would stay open.
        await asyncio.sleep(0)
        # The guard ends within milliseconds, so this loop polls. A thread that waits for the guard
        # would continue to run after its task was cancelled.
        while (code := self.process.poll()) is None:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(0.001)
        return _SIGNALLED - code if code > _SIGNALLED else code


async def guarded(program: Path, *arguments: str) -> Guard:
    """Start a program under a guard, in a new session, so that Ctrl-C does not end them."""
    # Use the module subprocess instead of the event loop to start the process. A process that
    # uvloop starts inherits a second copy of each pipe. The guard would keep the copy of its output
    # open, and this process would not see that the output ends when the program ends.
    process = subprocess.Popen(  # noqa: ASYNC220, S603 - takes a millisecond, and the program is ours
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
    connecting = asyncio.create_task(loop.connect_read_pipe(lambda: protocol, process.stderr))
    try:
        transport, _ = await asyncio.shield(connecting)
    except asyncio.CancelledError:
        # ``Guard.end`` needs the transport, so wait until the pipe is connected. This takes one
        # turn of the loop.
        transport, _ = await connecting
        await Guard(process, output, transport).end()
        raise
    return Guard(process, output, transport)


@dataclass(frozen=True, slots=True)
class EngineProcess:
    """The process of a running engine, which listens on a port of 127.0.0.1."""

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
        """Start an engine with the data file ``database``, and wait until it listens.

        Raises PortTakenError if another program uses the port, and OSError if the system cannot
        start a process. Raises CommandError if the engine's program is missing or cannot be run, or
        if the engine ends or does not listen in time.
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
                    "again, or set MARGINALIA_ENGINE to a program that can be run."
                ) from why
        if "already in use" in error:
            raise PortTakenError
        # Keep only the first sentence, because the rest is advice for the engine's developers.
        reason = error.partition(". ")[0]
        raise CommandError(
            f"The storage engine cannot open {database}: {reason}. If the file is damaged, "
            "restore a backup with `marginalia restore`."
        )

    async def wait(self) -> str:
        """Log the engine's errors until the engine ends. Return its exit code or signal as text."""
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
    """Return a free port of 127.0.0.1. If possible, it is not an ephemeral port.

    If the engine had an ephemeral port, the system could give this port to a connection of another
    program while the engine is restarted.
    """
    try:
        first, last = map(int, _EPHEMERAL.read_text().split())
    except OSError:
        first, last = 49_152, 65_535  # This is IANA's range of ephemeral ports. macOS uses it.
    lasting = [port for port in _PORTS if not first <= port <= last]
    while True:
        port = _RANDOM.choice(lasting or _PORTS)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


async def _listening(guard: Guard) -> tuple[int, str]:
    """Read the output until the engine listens. Return the engine's process id and an empty text.

    If the engine ends before it listens, the text is the reason: the last line of its output.
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
    """Return the process of the recorded engine, or None if the engine does not run.

    The function checks that the process was started with ``database``. If the engine has ended, the
    system may have given its process id to another program.
    """
    try:
        process = psutil.Process(record.engine)
        command = process.cmdline()
    except psutil.Error:
        return None
    return process if str(database) in command else None


def end_orphan(directory: DataDirectory) -> None:
    """End an engine that still runs although its owner was killed. Remove the engine's record.

    An engine runs on without its owner only if its guard was killed, too. Two engines with the same
    file would damage the file, because they ignore each other's locks.
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
        logger.warning(
            "The storage engine of a killed server or command was still running. It is stopped now."
        )
    directory.forget_record()
