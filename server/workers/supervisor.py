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

from dal.table.client import TableAddress
from live.local_socket import Exchange
from server.errors import CommandError
from server.observability.exposition import WorkerMetrics
from server.serving import GRACE
from server.settings import Settings
from server.workers.channel import CONNECTION, LEAVING, READY, receive
from server.workers.dispatch import Dispatcher
from server.workers.nursery import Nursery, NurseryEndedError, Worker
from server.workers.orders import Orders

logger = logging.getLogger(__name__)

MAX_DEATHS = 5
DEATHS_WINDOW = 60.0
"""Seconds: workers that die more often than that in this time have a reason that stays."""

START = 60.0
"""Seconds that a worker which is to replace another one may take until it serves."""

_LAST_CHANGES = 1.0
"""Seconds to read what a worker has written before it ended."""

_READS = 100
"""What one worker says that is heard in one turn of the event loop."""


class Workers:
    """As many processes as the settings say, behind one listener."""

    def __init__(
        self,
        settings: Settings,
        address: TableAddress,
        listener: socket.socket,
        metrics: WorkerMetrics | None = None,
    ) -> None:
        self._orders = Orders(settings, address, None if metrics is None else metrics.directory)
        self._count = settings.workers
        self._metrics = metrics
        self._dispatcher = Dispatcher(listener)
        self._exchange = Exchange()
        self._nursery: Nursery
        """Where workers come from that follow dead ones."""
        self._nurseries: set[Nursery] = set()
        self._workers: dict[Worker, asyncio.Task[None]] = {}
        """Those that have not ended, the oldest first, and what looks after each."""
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS)
        self._served = asyncio.Semaphore(0)
        self._replace = asyncio.Event()
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve(self, greeting: str) -> None:
        """Serve until told to ``end``; CommandError when workers keep dying."""
        self._nursery = self._nursery_started()
        running = asyncio.create_task(self._run(greeting))
        running.add_done_callback(self._failed)
        try:
            await asyncio.shield(self._ended)
        finally:
            running.cancel()
            await self._stop()

    def end(self) -> None:
        """Stop serving, after the requests in flight; at once when told twice."""
        if self._ended.done():
            for worker in self._workers:
                worker.kill()
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
        try:
            for _ in range(self._count):
                await self._begin(self._nursery)
        except NurseryEndedError:
            raise CommandError("No worker can be started: see the log above.") from None
        for _ in range(self._count):
            await self._served.acquire()
        self._dispatcher.start()
        print(greeting, flush=True)  # noqa: T201 - a command's output
        while True:
            await _either(self._replace, self._nursery.ended)
            self._replace.clear()
            if self._nursery.ended.is_set():
                self._note_death("The process that workers are copies of died", None)
            await self._replace_all()

    def _nursery_started(self) -> Nursery:
        nursery = Nursery.started(self._orders)
        self._nurseries.add(nursery)
        return nursery

    async def _begin(self, nursery: Nursery, *, wanted: bool = True) -> Worker:
        """Start a worker and look after it."""
        worker = await nursery.worker(wanted=wanted)
        task = self._workers[worker] = asyncio.create_task(self._look_after(worker))
        task.add_done_callback(self._failed)
        return worker

    async def _look_after(self, worker: Worker) -> None:
        """Hear what a worker says until it ends; have another one follow where that is wanted."""
        exchanging = asyncio.create_task(self._exchange.connect(worker.changes))
        loop = asyncio.get_running_loop()
        loop.add_reader(worker.channel, self._hear, worker)
        try:
            await worker.gone.wait()
            await asyncio.wait({exchanging}, timeout=_LAST_CHANGES)
            code = await worker.nursery.code_of(worker)
        finally:
            loop.remove_reader(worker.channel)
            exchanging.cancel()
            await asyncio.gather(exchanging, return_exceptions=True)
            self._forget(worker)
        if worker.wanted and not self._ended.done():
            self._note_death("A worker died", code)
            with suppress(NurseryEndedError):  # all are replaced then
                await self._begin(self._nursery)
        await self._leave(worker.nursery)

    def _forget(self, worker: Worker) -> None:
        self._dispatcher.remove(worker)
        worker.channel.close()
        del self._workers[worker]
        if self._metrics is not None:
            self._metrics.ended(worker.pid, died=worker.wanted)

    def _hear(self, worker: Worker) -> None:
        """Do what a worker says; the end of its channel is its own end."""
        for _ in range(_READS):
            try:
                said, connection = receive(worker.channel)
            except BlockingIOError:
                return
            except OSError:
                said, connection = b"", None
            if said == READY:
                worker.ready.set()
                self._served.release()
                self._dispatcher.add(worker)
            elif said == LEAVING:
                self._let_go(worker)
            elif said == CONNECTION and connection is not None:
                self._dispatcher.take(connection)
            else:
                asyncio.get_running_loop().remove_reader(worker.channel)
                worker.gone.set()
                return

    def _note_death(self, what: str, code: int | None) -> None:
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
        new = self._nursery_started()
        while (done := self._count_of(new)) < self._count or any(self._others(new)):
            if done < self._count and not await self._serves(new):
                logger.error(
                    "%d of %d workers were replaced: a new one cannot serve, for the reason above. "
                    "The others serve on; mend it and send SIGHUP again.",
                    done,
                    self._count,
                )
                await self._leave(new)
                return
            if old := next(self._others(new), None):
                await self._retire(old)
        before, self._nursery = self._nursery, new
        await self._leave(before)
        logger.warning("All %d workers were replaced.", self._count)

    def _count_of(self, nursery: Nursery) -> int:
        """Return how many workers of a nursery serve, and are to go on."""
        return sum(one.nursery is nursery and one.wanted for one in self._workers)

    def _others(self, nursery: Nursery) -> Iterator[Worker]:
        """Yield the workers of other nurseries, the oldest first; some may follow dead ones."""
        return (one for one in self._workers if one.nursery is not nursery)

    async def _serves(self, nursery: Nursery) -> bool:
        """Start a worker that is wanted once it serves; return whether it does."""
        try:
            async with asyncio.timeout(START):
                worker = await self._begin(nursery, wanted=False)
        except (NurseryEndedError, TimeoutError):
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(START):
                await _either(worker.ready, worker.gone)
        worker.wanted = worker.ready.is_set() and not worker.gone.is_set()
        if not worker.wanted:
            worker.kill()
        return worker.wanted

    async def _retire(self, worker: Worker) -> None:
        """Have a worker end after its requests, by force where it takes too long."""
        looking_after = self._workers[worker]
        worker.wanted = False
        self._let_go(worker)
        await asyncio.wait([looking_after], timeout=GRACE + 1)
        worker.kill()
        await asyncio.wait([looking_after])

    def _let_go(self, worker: Worker) -> None:
        """Send a worker no more; it still takes what is on its way, and gives back what is idle."""
        self._dispatcher.remove(worker)
        with suppress(OSError):
            worker.channel.shutdown(socket.SHUT_WR)

    async def _leave(self, nursery: Nursery) -> None:
        """End a nursery that no worker came from, or will."""
        if nursery is self._nursery or any(one.nursery is nursery for one in self._workers):
            return
        if nursery in self._nurseries:
            self._nurseries.discard(nursery)
            await nursery.end()

    async def _stop(self) -> None:
        self._dispatcher.stop()
        for worker in self._workers:
            worker.wanted = False
            self._let_go(worker)
            if not worker.ready.is_set():
                worker.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE + 1):
                await asyncio.gather(*map(_gone, self._workers))
        for worker in self._workers:
            worker.kill()
        await asyncio.gather(*self._workers.values(), return_exceptions=True)
        for nursery in list(self._nurseries):
            await nursery.end()


async def _gone(worker: Worker) -> None:
    await worker.gone.wait()


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
