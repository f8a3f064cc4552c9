"""The parent of the workers: it starts them, starts them again, and replaces them by new ones.

A worker that is replaced takes no more connections and ends after its requests. It gives its idle
connections back, and they go to the others as they are: a client that asks its next question
notices nothing.
"""

import asyncio
import logging
import signal
import socket
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

from dal.client.table import TableAddress
from server.errors import CommandError
from server.loop_watchdog import KILLED_BY
from server.settings import Settings
from server.workers.config import WorkerConfig
from server.workers.fork_server import ForkServer, ForkServerEndedError, Worker
from server.workers.pool import WorkerPool

logger = logging.getLogger(__name__)

MAX_DEATHS = 5
DEATHS_WINDOW = 60.0
"""Seconds: workers that die more often than that in this time have a reason that stays."""

START = 60.0
"""Seconds that a worker which is to replace another one may take until it serves."""


class Supervisor:
    """Keeps as many workers as the settings say behind one listener."""

    def __init__(
        self,
        settings: Settings,
        address: TableAddress,
        listener: socket.socket,
    ) -> None:
        config = WorkerConfig(settings, address)
        self._count = settings.workers
        self._pool = WorkerPool(config, listener, died=self._respawn, failed=self._failed)
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS)
        self._replace = asyncio.Event()
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve(self, greeting: str) -> None:
        """Serve until told to ``end``; CommandError when workers keep dying."""
        self._pool.fork_server = self._pool.start_fork_server()
        running = asyncio.create_task(self._run(greeting))
        running.add_done_callback(self._failed)
        try:
            await asyncio.shield(self._ended)
        finally:
            running.cancel()
            await self._pool.stop()

    def end(self) -> None:
        """Stop serving, after the requests in flight; at once when told twice."""
        if self._ended.done():
            self._pool.kill()
        else:
            self._ended.set_result(None)

    def replace(self) -> None:
        """Replace the workers one by one, by new ones of the version that is installed now."""
        self._replace.set()

    def _failed(self, task: asyncio.Task[None]) -> None:
        """End where one of our tasks has raised an error."""
        if not task.cancelled() and (error := task.exception()) and not self._ended.done():
            self._ended.set_exception(error)

    async def _run(self, greeting: str) -> None:
        """Accept connections and say so once every worker serves; then replace them when told."""
        pool = self._pool
        try:
            for _ in range(self._count):
                await pool.spawn(pool.fork_server)
        except ForkServerEndedError:
            raise CommandError("No worker can be started: see the log above.") from None
        for _ in range(self._count):
            await pool.became_ready.acquire()
        pool.dispatcher.start()
        print(greeting, flush=True)  # noqa: T201 - a command's output
        while True:
            await _either(self._replace, pool.fork_server.ended)
            self._replace.clear()
            if pool.fork_server.ended.is_set():
                self._record_death("The fork server of the workers died", None)
            await self._replace_all()

    async def _respawn(self, code: int | None) -> None:
        """Have another worker follow one that died."""
        if self._ended.done():
            return
        if code == -KILLED_BY:  # this takes long: it cannot happen over and over at once
            logger.warning(
                "A worker's event loop was blocked (see the stack above): starting another."
            )
        else:
            self._record_death("A worker died", code)
        with suppress(ForkServerEndedError):  # all are replaced then
            await self._pool.spawn(self._pool.fork_server)

    def _record_death(self, what: str, code: int | None) -> None:
        """Say that something died; CommandError where that happens too often."""
        how = _how(code)
        now = time.monotonic()
        if len(self._deaths) == MAX_DEATHS and now - self._deaths[0] < DEATHS_WINDOW:
            raise CommandError(
                f"Workers died {MAX_DEATHS + 1} times in a minute, last {how}: look at the log "
                "above and start again."
            )
        self._deaths.append(now)
        logger.warning("%s (%s): starting it again.", what, how)

    async def _replace_all(self) -> None:
        """Have a new worker serve, then let an old one go, until all are new or one cannot serve.

        The version that is served so far goes on wherever a new one cannot.
        """
        new = self._pool.start_fork_server()
        while (done := self._count_of(new)) < self._count or any(self._others(new)):
            if done < self._count and not await self._serves(new):
                logger.error(
                    "%d of %d workers were replaced: a new one cannot serve, for the reason above. "
                    "The others serve on; mend it and send SIGHUP again.",
                    done,
                    self._count,
                )
                await self._pool.end_if_unused(new)
                return
            if old := next(self._others(new), None):
                await self._pool.shut_down(old)
        before, self._pool.fork_server = self._pool.fork_server, new
        await self._pool.end_if_unused(before)
        logger.warning("All %d workers were replaced.", self._count)

    def _count_of(self, fork_server: ForkServer) -> int:
        """Return how many workers of a fork server serve, and are to go on."""
        workers = self._pool.workers
        return sum(one.fork_server is fork_server and one.respawn for one in workers)

    def _others(self, fork_server: ForkServer) -> Iterator[Worker]:
        """Yield the workers of other fork servers, the oldest first; some may follow dead ones."""
        return (one for one in self._pool.workers if one.fork_server is not fork_server)

    async def _serves(self, fork_server: ForkServer) -> bool:
        """Spawn a worker that is to go on once it serves; return whether it does."""
        try:
            async with asyncio.timeout(START):
                worker = await self._pool.spawn(fork_server, respawn=False)
        except (ForkServerEndedError, TimeoutError):
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(START):
                await _either(worker.ready, worker.exited)
        worker.respawn = worker.ready.is_set() and not worker.exited.is_set()
        if not worker.respawn:
            worker.kill()
        return worker.respawn


def _how(code: int | None) -> str:
    if code is None:
        return "nobody knows how"
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


async def _either(*events: asyncio.Event) -> None:
    """Wait for the first of some events."""
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
