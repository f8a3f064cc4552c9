"""Runs the embedded engine.

A server or a command starts and restarts the engine. Other commands can use a server's engine.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from server.errors import CommandError
from server.local_engine.compaction import compact
from server.local_engine.data_directory import ROOM, DataDirectory, EngineRecord
from server.local_engine.engine_process import (
    START_DEADLINE,
    EngineProcess,
    PortTakenError,
    end_orphan,
    free_port,
    recorded_process,
)

logger = logging.getLogger(__name__)

RESTART_WINDOW = 60.0
"""If the engine ends again within this number of seconds after a restart, it stays stopped.
Exception: if the disk is full, the engine is restarted when the disk has free space."""

ROOM_LOOK = 1.0
"""Seconds between two checks whether a full disk has enough free space to start the engine."""

_ROOM_LINE = 60.0
"""Seconds between two log lines about a full disk."""

SERVER_LOOK = 1.0
"""Seconds between two checks whether the server still runs. A command that uses a server's engine
makes these checks."""

SHARE_DEADLINE = 30.0
"""Maximum seconds that a command waits until a server has started or another command has ended."""

_SILENT_WAIT = 1.0
"""Seconds after which a waiting command logs the reason for the wait."""

_START_PAUSE = 0.2
"""Seconds between two attempts to start the engine."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine.

    ``died`` is a future. It gets a message as its result if the engine has ended and is not
    restarted. It also gets a message if the server that runs a shared engine has ended. ``own`` is
    true if this process is a command that has started the engine. No other process uses such an
    engine.
    """

    endpoint_url: str
    died: asyncio.Future[str]
    own: bool
    restarts: Sequence[float] = ()
    """The times at which the engine started again, in Unix time. The sequence grows."""


@asynccontextmanager
async def embedded_engine(
    data_dir: Path, *, share: bool, create: bool = True
) -> AsyncIterator[Engine]:
    """Run an engine with the data in ``data_dir``.

    With ``share``, use the engine of a running server if there is one. Without ``create``, raise
    CommandError if the directory has no data, and do not create the directory.

    After the engine has stopped, its data file is rewritten without deleted data if it has changed.

    Raises DataDirectoryInUseError if another process owns the directory. With ``share``, the
    function first waits up to 30 seconds. The wait ends earlier when the command that owns the
    directory has ended, or when the server that owns it has started its engine. Raises CommandError
    if the directory, its data file or the engine's program cannot be used.
    """
    directory = DataDirectory(data_dir)
    if not create and not directory.path.exists():
        directory.require_data()
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
        # Check for data only now that this process owns the directory. A server that starts owns
        # the directory before it creates the data, so an earlier check could find no data.
        if not create:
            directory.require_data()
        directory.check_data()
        end_orphan(directory)
        before = directory.last_change()
        keeper = _Keeper(directory, await _start(directory, None), died, serving=not share)
        task = asyncio.create_task(keeper.keep())
        try:
            keeper.write_record()
            yield Engine(keeper.process.endpoint_url, died, share, keeper.restarts)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await keeper.process.stop()
            # Forget the record first: it would make a killed compaction look like a lost log.
            directory.forget_record()
            if before is None or directory.last_change() != before:
                try:
                    await asyncio.to_thread(compact, directory.database)
                except CommandError as error:
                    logger.warning("%s", error)
    finally:
        directory.leave()


async def _watch_server(
    directory: DataDirectory, endpoint_url: str, died: asyncio.Future[str]
) -> None:
    """Set ``died`` when the server whose engine this command uses has ended."""
    while (record := directory.record()) is not None and psutil.pid_exists(record.owner):
        if record.endpoint_url != endpoint_url:
            break
        await asyncio.sleep(SERVER_LOOK)
    died.set_result("The server that ran the storage engine has ended: run the command again.")


async def _own_or_share(directory: DataDirectory) -> str | None:
    """Return the URL of a running server's engine.

    If no server or command runs, make this process the owner of the directory, and return None.
    Wait for a command that runs, or for a server that starts. Raises DataDirectoryInUseError after
    ``SHARE_DEADLINE``.
    """
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
            logger.warning(
                "Another command or a starting server uses %s: waiting for it.", directory.path
            )
        await asyncio.sleep(0.05)
    return None


async def _start(directory: DataDirectory, port: int | None) -> EngineProcess:
    """Start an engine on ``port``, or on a free port if ``port`` is None.

    If another program uses the port, or if the system cannot start a process, try again for 30
    seconds. After that time, raise CommandError.
    """
    until, warned = time.monotonic() + START_DEADLINE, False
    while True:
        try:
            return await EngineProcess.start(directory.database, port or free_port())
        except PortTakenError:
            reason = f"another program uses port {port}" if port else ""
        except OSError as error:
            reason = f"the system cannot start a process: {error.strerror}"
        if time.monotonic() >= until:
            raise CommandError(
                f"The storage engine did not start within {START_DEADLINE:.0f} seconds "
                f"({reason or 'other programs use its port'}): run the command again."
            )
        if reason and not warned:
            warned = True
            logger.warning("The storage engine cannot start (%s): trying again.", reason)
        await asyncio.sleep(_START_PAUSE)


@dataclass(slots=True)
class _Keeper:
    """Restarts an engine on the same port each time it ends, and updates the engine's record."""

    directory: DataDirectory
    process: EngineProcess
    died: asyncio.Future[str]
    serving: bool
    restarts: list[float] = field(default_factory=list)

    async def keep(self) -> None:
        """Restart the engine each time it ends. If the disk is full, first wait for free space.

        Set ``died`` to a message and return in two cases: the engine ends twice within a minute
        although the disk is not full, or the engine cannot be started.
        """
        restarted = float("-inf")
        try:
            while True:
                how = await self.process.wait()
                soon = time.monotonic() - restarted < RESTART_WINDOW
                if soon and not self.directory.full:
                    self.died.set_result(
                        f"The storage engine ended twice within a minute ({how}). All acknowledged "
                        "writes are on the disk. Read the log above, then run the command again."
                    )
                    return
                logger.warning("The storage engine has ended (%s): starting it again.", how)
                next_line = 0.0
                while self.directory.full:
                    if time.monotonic() >= next_line:
                        next_line = time.monotonic() + _ROOM_LINE
                        logger.error(
                            "The storage engine waits for free space on the disk of %s: free %d MB "
                            "or more.",
                            self.directory.path,
                            ROOM >> 20,
                        )
                    await asyncio.sleep(ROOM_LOOK)
                self.process = await _start(self.directory, self.process.port)
                self.write_record()
                restarted = time.monotonic()
                self.restarts.append(time.time())
        except CommandError as error:
            self.died.set_result(str(error))

    def write_record(self) -> None:
        """Write the engine's record, so that commands can find the engine."""
        self.directory.write_record(
            EngineRecord(os.getpid(), self.serving, self.process.pid, self.process.endpoint_url)
        )
