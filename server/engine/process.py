"""One process of the embedded engine: found, started, and stopped."""

import asyncio
import ctypes
import logging
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from server.errors import CommandError

logger = logging.getLogger(__name__)

START_DEADLINE = 30.0
"""Seconds; an engine that was killed reads its write-ahead log first, which takes a moment."""

STOP_DEADLINE = 5.0
"""Seconds between asking an engine to end and making it end."""

_BINARY = Path(__file__).parents[2] / "node_modules/@dynoxide/linux-x64/dynoxide"
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


class PortTakenError(Exception):
    """Another program took the port between its choice and the engine's start."""


class EngineProcess:
    """A running engine that answers on ``endpoint_url``."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self._process = process
        self.port = port
        self.endpoint_url = f"http://127.0.0.1:{port}"

    @classmethod
    async def start(cls, database: Path, port: int) -> "EngineProcess":
        """Start an engine over a file and wait until it listens.

        Raises PortTakenError, and CommandError when the engine gives up or says nothing in time.
        """
        process = await _spawn(engine_binary(), database, port)
        try:
            async with asyncio.timeout(START_DEADLINE):
                complaint = await _complaint(process)
        except TimeoutError:
            complaint = f"it did not start within {START_DEADLINE:.0f} seconds"
        except asyncio.CancelledError:
            await _end(process)
            raise
        if complaint is None:
            return cls(process, port)
        await _end(process)
        if "already in use" in complaint:
            raise PortTakenError
        raise CommandError(f"The storage engine cannot open {database}: {complaint}.")

    @property
    def pid(self) -> int:
        """The operating system's id of the process."""
        return self._process.pid

    async def wait(self) -> str:
        """Wait for the engine to end; return how it did, in a few words."""
        assert self._process.stderr is not None  # noqa: S101 - piped in _spawn
        async for line in self._process.stderr:
            logger.warning("The storage engine: %s", line.decode(errors="replace").rstrip())
        code = await self._process.wait()
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    def kill(self) -> None:
        """End the engine at once; what it acknowledged is on disk."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def stop(self) -> None:
        """Ask the engine to end, and make it end when it does not."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(STOP_DEADLINE):
                await self._process.communicate()
        except TimeoutError:
            await _end(self._process)


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def engine_binary() -> Path:
    """Return the engine's program; CommandError where there is none."""
    binary = Path(os.environ.get("MARGINALIA_ENGINE") or _BINARY)
    if not binary.is_file():
        raise CommandError(
            f"The storage engine is not at {binary}: run `make setup`, or set MARGINALIA_ENGINE "
            "to where the dynoxide binary is."
        )
    return binary


async def _spawn(binary: Path, database: Path, port: int) -> asyncio.subprocess.Process:
    """Start the binary in a session of its own, so that Ctrl-C reaches the server alone."""
    options = ["serve", "--host", "127.0.0.1", "--port", str(port), "--db-path", str(database)]
    try:
        return await asyncio.create_subprocess_exec(
            binary,
            *options,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    except OSError as error:
        raise CommandError(
            f"The storage engine {binary} cannot be run ({error.strerror}): run `make setup` again."
        ) from error


def _die_with_parent() -> None:
    """Have the kernel kill this process when the server is gone, however the server went."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


async def _complaint(process: asyncio.subprocess.Process) -> str | None:
    """Read what the engine says until it listens; return its last words if it ends instead."""
    assert process.stderr is not None  # noqa: S101 - piped in _spawn
    words = "it said nothing"
    async for line in process.stderr:
        said = line.decode(errors="replace").strip()
        if said.startswith("Dynoxide listening on"):
            return None
        words = said.removeprefix("error: ").removeprefix("Internal error: ") or words
    return words


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the process and read it to its end, so that nothing of it stays behind."""
    with suppress(ProcessLookupError):
        process.kill()
    await process.communicate()
