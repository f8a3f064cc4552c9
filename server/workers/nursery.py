"""The nursery as its parent sees it: what starts workers, ends them, and says how they ended.

Each nursery has the imports of the version that was installed when it started. So workers of a new
version come from a nursery of their own.
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

from server.workers.__main__ import WISH
from server.workers.orders import Orders

_CODE_DEADLINE = 5.0
"""Seconds to learn how a worker has ended once it is gone."""


_END_DEADLINE = 5.0
"""Seconds that a nursery without workers may take to end: an import may hang for good."""


class NurseryEndedError(Exception):
    """The nursery is gone; it has said why, where it ended by itself."""


@dataclass(eq=False)
class Worker:
    """A process that serves, with our ends of its two sockets."""

    nursery: "Nursery"
    pid: int
    channel: socket.socket
    changes: socket.socket
    wanted: bool
    """Whether another one is to follow when it ends."""
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its end of the channel is closed."""

    def kill(self) -> None:
        """End it at once; once it is gone, its process id may be another's."""
        if not self.gone.is_set():
            self.nursery.kill(self.pid)


class Nursery:
    """A process that workers are copies of."""

    def __init__(self, process: subprocess.Popen[bytes], parent: socket.socket) -> None:
        self._process = process
        self._parent = parent
        self._births: deque[asyncio.Future[int]] = deque()
        self._codes: dict[int, asyncio.Future[int | None]] = {}
        self._hearing = asyncio.create_task(self._hear())
        self.ended = asyncio.Event()

    @classmethod
    def started(cls, orders: Orders) -> "Nursery":
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
            told.write(pickle.dumps(orders.said()))
        return cls(process, ours)

    async def worker(self, *, wanted: bool = True) -> Worker:
        """Start a worker; NurseryEndedError when that cannot be done any more."""
        channel, their_channel = socket.socketpair()
        changes, their_changes = socket.socketpair()
        channel.setblocking(False)
        born: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        with their_channel, their_changes:
            self._births.append(born)
            try:
                descriptors = [their_channel.fileno(), their_changes.fileno()]
                socket.send_fds(self._parent, [WISH.pack(0)], descriptors)
            except OSError:
                born.set_exception(NurseryEndedError())
        try:
            return Worker(self, await born, channel, changes, wanted)
        except BaseException:
            channel.close()
            changes.close()
            raise

    def kill(self, pid: int) -> None:
        """Kill one of its workers, which may have ended."""
        with suppress(OSError):
            if self.ended.is_set():
                os.kill(pid, signal.SIGKILL)
            else:
                self._parent.send(WISH.pack(pid))

    async def code_of(self, worker: Worker) -> int | None:
        """Return the exit code of a worker that is gone; None where nobody can tell it."""
        code = self._codes[worker.pid]
        await asyncio.wait([code], timeout=_CODE_DEADLINE)
        return code.result() if code.done() else None

    async def end(self) -> None:
        """End it, by force where it takes too long; workers that it still has see to themselves."""
        self._hearing.cancel()
        await asyncio.gather(self._hearing, return_exceptions=True)
        self._parent.close()
        # It takes a moment; a thread that waited would outlive whoever is cancelled.
        deadline = time.monotonic() + _END_DEADLINE
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                self._process.kill()
            await asyncio.sleep(0.001)

    async def _hear(self) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=self._parent.dup())
        try:
            with suppress(OSError):
                while line := await reader.readline():
                    self._note(*map(int, line.split()))
        finally:
            writer.close()
            self._close()

    def _note(self, pid: int, code: int | None = None) -> None:
        if code is None:
            self._codes[pid] = asyncio.get_running_loop().create_future()
            born = self._births.popleft()
            if not born.done():
                born.set_result(pid)
        elif not self._codes[pid].done():
            self._codes[pid].set_result(code)

    def _close(self) -> None:
        """Expect nothing any more."""
        self.ended.set()
        for born in self._births:
            if not born.done():
                born.set_exception(NurseryEndedError())
        for code in self._codes.values():
            if not code.done():
                code.set_result(None)
