"""One process of the embedded engine: started, guarded, and stopped."""

import asyncio
import logging
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from server.engine.guard import NOT_EXECUTED, Guard, guarded
from server.engine.program import engine_binary
from server.errors import CommandError

logger = logging.getLogger(__name__)

START_DEADLINE = 30.0
"""Seconds; an engine that was killed reads its write-ahead log first, which takes a moment."""

STOP_DEADLINE = 5.0
"""Seconds between asking an engine to end and making it end."""


class PortTakenError(Exception):
    """Another program took the port between its choice and the engine's start."""


class EngineProcess:
    """A running engine that answers on ``endpoint_url``."""

    def __init__(self, guard: Guard, pid: int, port: int) -> None:
        self._guard = guard
        self.pid = pid
        """The operating system's id of the engine itself."""
        self.port = port
        self.endpoint_url = f"http://127.0.0.1:{port}"

    @classmethod
    async def start(cls, database: Path, port: int) -> "EngineProcess":
        """Start an engine over a file and wait until it listens.

        Raises PortTakenError, and CommandError when the engine gives up or says nothing in time.
        """
        binary = engine_binary()
        options = ["--host", "127.0.0.1", "--port", str(port), "--db-path", str(database)]
        guard = await guarded(binary, "serve", *options)
        try:
            async with asyncio.timeout(START_DEADLINE):
                pid, complaint = await _begun(guard)
        except TimeoutError:
            complaint = f"it did not start within {START_DEADLINE:.0f} seconds"
        except asyncio.CancelledError:
            await guard.end()
            raise
        if not complaint:
            return cls(guard, pid, port)
        if await guard.end() in NOT_EXECUTED:
            await _check_executable(binary)
        if "already in use" in complaint:
            raise PortTakenError
        reason = complaint.partition(". ")[0]  # what follows is advice for the engine's builders
        raise CommandError(
            f"The storage engine cannot open {database}: {reason}. If the file is damaged, put a "
            "backup in its place with `marginalia restore`."
        )

    async def wait(self) -> str:
        """Wait for the engine to end; return how it did, in a few words."""
        async for line in self._guard.said:
            logger.warning("The storage engine: %s", line.decode(errors="replace").rstrip())
        code = await self._guard.end()
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    async def stop(self) -> None:
        """Ask the engine to end, and make it end when it does not."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_DEADLINE):
                await self._guard.said.read()
        await self._guard.end()


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


async def _begun(guard: Guard) -> tuple[int, str]:
    """Read what is said until the engine listens; return its process id, and no complaint.

    The complaint of an engine that ends instead is its last words.
    """
    pid, words, listens = 0, "it said nothing", False
    async for line in guard.said:
        said = line.decode(errors="replace").strip()
        if said.isdecimal():
            pid = int(said)
        else:
            words = said.removeprefix("error: ").removeprefix("Internal error: ") or words
        listens = listens or said.startswith("Dynoxide listening on")
        if pid and listens:
            return pid, ""
    return pid, words


async def _check_executable(binary: Path) -> None:
    """Raise CommandError where the system does not run the program; a shell tells that in words."""
    try:
        tried = await asyncio.create_subprocess_exec(
            binary,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise CommandError(
            f"The storage engine {binary} cannot be run ({error.strerror}): run `make setup` "
            "again, or set MARGINALIA_ENGINE to one that can."
        ) from error
    await tried.wait()
