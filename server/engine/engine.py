"""The embedded engine: owned by one process, shared by others, restarted when it dies."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from server.engine.data_directory import ROOM, DataDirectory, EngineRecord
from server.engine.engine_process import (
    EngineProcess,
    PortTakenError,
    end_orphan,
    free_port,
    recorded_process,
)
from server.errors import CommandError

logger = logging.getLogger(__name__)

RESTART_WINDOW = 60.0
"""Seconds: an engine that dies again so soon after its restart is not restarted again."""

ROOM_LOOK = 1.0
"""Seconds between two looks whether a full disk has room for the engine to start."""

_ROOM_LINE = 60.0
"""Seconds between two lines that say so."""

SERVER_LOOK = 1.0
"""Seconds between two looks of a command whether the server lives whose engine it uses."""

SHARE_DEADLINE = 30.0
"""Seconds a command waits for a server to come up, or for another command to end."""

_SILENT_WAIT = 1.0
"""Seconds after which a person wants to know why nothing happens."""

_PORT_ATTEMPTS = 10
_PORT_PAUSE = 0.2
"""Seconds between two attempts."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine; ``died`` gets a sentence when it is gone and will not come back.

    Nobody else uses an engine that is our ``own``.
    """

    endpoint_url: str
    died: asyncio.Future[str]
    own: bool


@asynccontextmanager
async def embedded_engine(data_dir: Path, *, share: bool) -> AsyncIterator[Engine]:
    """Run an engine over ``data_dir``; with ``share``, use a running server's if there is one.

    Raises DataDirectoryInUseError when another process owns the directory (with ``share``: one
    that is no server and does not end within 30 seconds), and CommandError when the directory, its
    data file or the engine's binary is not as it must be.
    """
    directory = DataDirectory(data_dir)
    directory.prepare()
    died: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    endpoint_url = await _own_or_share(directory) if share else None
    if endpoint_url is not None:
        watching = asyncio.create_task(_watch_server(directory, endpoint_url, died))
        try:
            yield Engine(endpoint_url, died, own=False)
        finally:
            watching.cancel()
        return
    if not share and not directory.own():
        raise directory.in_use()
    try:
        async with _kept(directory, died, serving=not share) as keeper:
            yield Engine(keeper.process.endpoint_url, died, own=share)
    finally:
        directory.leave()


async def _watch_server(
    directory: DataDirectory, endpoint_url: str, died: asyncio.Future[str]
) -> None:
    """Set ``died`` once the server is gone whose engine is shared; that engine may come back."""
    while (record := directory.record()) is not None and psutil.pid_exists(record.owner):
        if record.endpoint_url != endpoint_url:
            break
        await asyncio.sleep(SERVER_LOOK)
    died.set_result("The server whose engine this command used has ended: run the command again.")


async def _own_or_share(directory: DataDirectory) -> str | None:
    """Return the endpoint of a running server's engine, or None as the directory's new owner."""
    start = time.monotonic()
    warned = False
    while not directory.own():
        record = directory.record()
        if record and record.serving and recorded_process(record, directory.database):
            return record.endpoint_url
        waited = time.monotonic() - start
        if waited >= SHARE_DEADLINE:
            raise directory.in_use()
        if waited >= _SILENT_WAIT and not warned:
            warned = True
            logger.warning("Another command works on %s: waiting for its end.", directory.path)
        await asyncio.sleep(0.05)
    return None


@asynccontextmanager
async def _kept(
    directory: DataDirectory, died: asyncio.Future[str], *, serving: bool
) -> AsyncIterator["_Keeper"]:
    directory.check_data()
    end_orphan(directory)
    keeper = _Keeper(directory, await _start(directory, None), died, serving=serving)
    task = asyncio.create_task(keeper.keep())
    try:
        keeper.write_record()
        yield keeper
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await keeper.process.stop()
        directory.forget_record()


async def _start(directory: DataDirectory, port: int | None) -> EngineProcess:
    """Start an engine on a port, or on any free one.

    The system may free the port of an engine that died a moment later only.
    """
    for _ in range(_PORT_ATTEMPTS):
        with suppress(PortTakenError):
            return await EngineProcess.start(directory.database, port or free_port())
        await asyncio.sleep(_PORT_PAUSE)
    raise CommandError("Other programs took the storage engine's port: run the command again.")


class _Keeper:
    """Keeps an engine running on its port, and its record in the data directory."""

    def __init__(
        self,
        directory: DataDirectory,
        process: EngineProcess,
        died: asyncio.Future[str],
        *,
        serving: bool,
    ) -> None:
        self.process = process
        self._directory = directory
        self._died = died
        self._serving = serving

    async def keep(self) -> None:
        """Restart the engine when it dies; set ``died`` when that does not help."""
        restarted = float("-inf")
        try:
            while True:
                how = await self.process.wait()
                soon = time.monotonic() - restarted < RESTART_WINDOW
                if soon and not self._directory.full:
                    self._died.set_result(
                        f"The storage engine died again within a minute, {how}: what is "
                        "acknowledged is on disk; look at the log above and start again."
                    )
                    return
                logger.warning("The storage engine died (%s): starting it again.", how)
                await self._room()
                self.process = await _start(self._directory, self.process.port)
                self.write_record()
                restarted = time.monotonic()
        except CommandError as error:
            self._died.set_result(str(error))

    async def _room(self) -> None:
        """Wait until the disk has room for the engine to start."""
        next_line = 0.0
        while self._directory.full:
            if time.monotonic() >= next_line:
                next_line = time.monotonic() + _ROOM_LINE
                logger.error(
                    "The storage engine waits for room on the disk of %s: free %d MB or more.",
                    self._directory.path,
                    ROOM >> 20,
                )
            await asyncio.sleep(ROOM_LOOK)

    def write_record(self) -> None:
        """Let other commands find the engine."""
        self._directory.write_record(
            EngineRecord(os.getpid(), self._serving, self.process.pid, self.process.endpoint_url)
        )
