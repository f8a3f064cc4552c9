"""The parent of the workers: it starts them, starts them again, and hands connections round.

The port is its own. It accepts every connection and passes it to the workers in turn, so that all
have as many, whoever is quickest to look. One that starts or has died gets none, and one that hangs
a few hundred at most.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.context import ForkServerProcess

from dal.table.client import TableAddress
from live.local_socket import Exchange
from server.errors import CommandError
from server.observability.exposition import WorkerMetrics
from server.serving import ACCEPT_AGAIN, ACCEPTS, GRACE
from server.settings import Settings
from server.workers.worker import READY, work

logger = logging.getLogger(__name__)

MAX_DEATHS = 5
DEATHS_WINDOW = 60.0
"""Seconds: workers that die more often than that in this time have a reason that stays."""

_FULL_AGAIN = 0.005
"""Seconds until workers that have taken nothing for some hundred connections are asked again."""

_LAST_CHANGES = 1.0
"""Seconds to read what a worker has written before it died."""

_CONNECTION = b"c"


class Workers:
    """As many processes as the settings say, behind one listener."""

    def __init__(
        self,
        settings: Settings,
        address: TableAddress,
        listener: socket.socket,
        metrics: WorkerMetrics | None = None,
    ) -> None:
        self._settings = settings
        self._address = address
        self._listener = listener
        self._metrics = metrics
        self._context = multiprocessing.get_context("forkserver")
        # Workers import what is installed, not what stands in the directory they are started from.
        os.environ["PYTHONSAFEPATH"] = "1"
        # What workers are copies of: the imports are made, and kept in memory, once.
        self._context.set_forkserver_preload(["server.cli.main", "server.workers.worker"])
        self._processes: set[ForkServerProcess] = set()
        self._channels: deque[socket.socket] = deque()
        """Of the workers that serve, the next in turn first."""
        self._exchange = Exchange()
        self._held: socket.socket | None = None
        """A connection that no worker took yet."""
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS)
        self._ending = asyncio.Event()

    async def serve(self, greeting: str) -> None:
        """Serve until told to ``end``; CommandError when workers keep dying."""
        started = asyncio.Semaphore(0)
        keeping = [asyncio.create_task(self._keep(started)) for _ in range(self._settings.workers)]
        others = [
            asyncio.create_task(self._greet(greeting, started)),
            asyncio.create_task(self._until_end()),
        ]
        try:
            await asyncio.wait([*keeping, others[1]], return_when=asyncio.FIRST_COMPLETED)
            for task in keeping:
                if task.done():
                    task.result()
        finally:
            await _cancelled([*keeping, *others])
            await self._stop()

    def end(self) -> None:
        """Stop serving, after the requests in flight; at once when told twice."""
        if self._ending.is_set():
            for process in self._processes:
                process.kill()
        self._ending.set()

    async def _until_end(self) -> None:
        await self._ending.wait()

    async def _greet(self, greeting: str, started: asyncio.Semaphore) -> None:
        """Accept connections and say so once every worker serves."""
        for _ in range(self._settings.workers):
            await started.acquire()
        self._listener.setblocking(False)
        self._listen()
        print(greeting, flush=True)  # noqa: T201 - a command's output

    async def _keep(self, started: asyncio.Semaphore) -> None:
        """Run a worker, and another one whenever it dies."""
        while True:
            process, channel, changes = self._start()
            exchanging = asyncio.create_task(self._exchange.connect(changes))
            try:
                if await asyncio.get_running_loop().sock_recv(channel, len(READY)) == READY:
                    self._channels.append(channel)
                    started.release()
                await _ended(process)
                await asyncio.wait({exchanging}, timeout=_LAST_CHANGES)
            finally:
                with suppress(ValueError):
                    self._channels.remove(channel)
                channel.close()
                await _cancelled([exchanging])
            self._processes.discard(process)
            if self._metrics is not None and process.pid is not None:
                self._metrics.died(process.pid)
            self._count(process)

    def _start(self) -> tuple[ForkServerProcess, socket.socket, socket.socket]:
        """Start a worker; return it with our ends of its two channels."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        changes, their_changes = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        directory = None if self._metrics is None else self._metrics.directory
        with theirs, their_changes:
            process = self._context.Process(
                target=work,
                args=(self._settings, self._address, theirs, their_changes, directory),
                daemon=True,
            )
            process.start()
        ours.setblocking(False)
        self._processes.add(process)
        return process, ours, changes

    def _count(self, process: ForkServerProcess) -> None:
        code = process.exitcode or 0
        how = f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
        now = time.monotonic()
        if len(self._deaths) == MAX_DEATHS and now - self._deaths[0] < DEATHS_WINDOW:
            raise CommandError(
                f"Workers died {MAX_DEATHS + 1} times in a minute, last {how}: look at the log "
                "above and start again."
            )
        self._deaths.append(now)
        logger.warning("A worker died (%s): starting it again.", how)

    async def _stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)
        if self._held is not None:
            self._held.close()
        for process in self._processes:
            process.terminate()
        ends = [asyncio.create_task(_ended(process)) for process in self._processes]
        if ends:
            await asyncio.wait(ends, timeout=GRACE + 1)
        for process in self._processes:
            process.kill()
            await _ended(process)

    def _listen(self) -> None:
        if not self._ending.is_set():
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _listen_later(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listener)
        loop.call_later(seconds, self._listen)

    def _accept(self) -> None:
        for _ in range(ACCEPTS):
            try:
                accepted = self._held or self._listener.accept()[0]
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                self._listen_later(ACCEPT_AGAIN)
                return
            if not self._hand_on(accepted):
                self._held = accepted
                self._listen_later(_FULL_AGAIN)
                return
            self._held = None
            accepted.close()

    def _hand_on(self, accepted: socket.socket) -> bool:
        """Pass a connection to the next worker that takes it; False when none does."""
        for _ in range(len(self._channels)):
            channel = self._channels[0]
            self._channels.rotate(-1)
            with suppress(OSError):  # it has died, or took nothing for some hundred connections
                socket.send_fds(channel, [_CONNECTION], [accepted.fileno()])
                return True
        return False


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ended(process: ForkServerProcess) -> None:
    """Wait for the end of a process."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)
    process.join()
