"""The fork server as its parent sees it: it spawns workers, kills them, and tells how they ended.

Each fork server has the imports of the version that was installed when it started. So workers of a
new version come from a fork server of their own.
"""

import asyncio
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from server.workers.__main__ import REQUEST
from server.workers.config import WorkerConfig

_EXIT_CODE_DEADLINE = 5.0
"""Seconds to learn how a worker has ended once it is gone."""

_END_DEADLINE = 5.0
"""Seconds that a fork server without workers may take to end: an import may hang for good."""


class ForkServerEndedError(Exception):
    """The fork server is gone; it has said why, where it ended by itself."""


@dataclass(eq=False)
class Worker:
    """A process that serves, with our end of its socket."""

    fork_server: "ForkServer"
    pid: int
    channel: socket.socket
    respawn: bool
    """Whether another one is to follow when it ends."""
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    exited: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its end of the channel is closed."""

    def kill(self) -> None:
        """End it at once; once it has exited, its process id may be another's."""
        if not self.exited.is_set():
            self.fork_server.kill(self.pid)

    def discard(self) -> None:
        """Have one that nobody monitors end, as it does without a parent."""
        self.channel.close()


class ForkServer:
    """A process that workers are forked from."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket) -> None:
        self._process = process
        self._connection = connection
        self._spawning: deque[asyncio.Future[int]] = deque()
        """The process ids that were asked for, in the order of the requests."""
        self._exit_codes: dict[int, asyncio.Future[int | None]] = {}
        self._reading = asyncio.create_task(self._read())
        self.ended = asyncio.Event()

    @classmethod
    def start(cls, config: WorkerConfig) -> "ForkServer":
        """Start one; what it cannot do, such as its imports, the first worker shows."""
        ours, theirs = socket.socketpair()
        with theirs:
            # Not by the event loop: uvloop leaves children a second copy of each pipe. And workers
            # import what is installed, not what stands in the directory they are started from.
            process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-m", "server.workers", str(theirs.fileno())],
                stdin=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
            )
        ours.setblocking(False)
        assert process.stdin is not None  # noqa: S101 - piped above
        with suppress(BrokenPipeError), process.stdin as told:
            told.write(pickle.dumps(config.to_dict()))
        return cls(process, ours)

    async def spawn(self, *, respawn: bool = True) -> Worker:
        """Spawn a worker; ForkServerEndedError when that cannot be done any more."""
        channel, their_channel = socket.socketpair()
        channel.setblocking(False)
        spawned: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        with their_channel:
            try:
                socket.send_fds(self._connection, [REQUEST.pack(0)], [their_channel.fileno()])
                self._spawning.append(spawned)
            except OSError:  # it is gone, or hangs and reads nothing
                spawned.set_exception(ForkServerEndedError())
        try:
            return Worker(self, await spawned, channel, respawn)
        except BaseException:
            channel.close()
            raise

    def kill(self, pid: int) -> None:
        """Kill one of its workers, which may have ended."""
        with suppress(OSError):
            if self.ended.is_set():
                os.kill(pid, signal.SIGKILL)
            else:
                self._connection.send(REQUEST.pack(pid))

    async def exit_code(self, worker: Worker) -> int | None:
        """Return the exit code of a worker that has exited; None where nobody can tell it."""
        code = self._exit_codes[worker.pid]
        await asyncio.wait([code], timeout=_EXIT_CODE_DEADLINE)
        return code.result() if code.done() else None

    async def end(self) -> None:
        """End it, by force where it takes too long; workers that it still has see to themselves."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._connection.close()
        # It takes a moment; a thread that waited would outlive whoever is cancelled.
        deadline = time.monotonic() + _END_DEADLINE
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                self._process.kill()
            await asyncio.sleep(0.001)

    async def _read(self) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=self._connection.dup())
        try:
            with suppress(OSError):
                while line := await reader.readline():
                    self._handle(*map(int, line.split()))
        finally:
            writer.close()
            self._close()

    def _handle(self, pid: int, exit_code: int | None = None) -> None:
        if exit_code is None:
            self._exit_codes[pid] = asyncio.get_running_loop().create_future()
            spawned = self._spawning.popleft()
            if not spawned.done():
                spawned.set_result(pid)
        elif not self._exit_codes[pid].done():
            self._exit_codes[pid].set_result(exit_code)

    def _close(self) -> None:
        """Expect nothing any more."""
        self.ended.set()
        for spawned in self._spawning:
            if not spawned.done():
                spawned.set_exception(ForkServerEndedError())
        for code in self._exit_codes.values():
            if not code.done():
                code.set_result(None)
