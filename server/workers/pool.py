"""The workers that have not ended, what each of them tells its parent, and where they come from."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from server.serving import GRACE
from server.workers.channel import CONNECTION, DRAINING, READY, STOPPING, receive, send
from server.workers.config import WorkerConfig
from server.workers.dispatch import Dispatcher
from server.workers.fork_server import ForkServer, ForkServerEndedError, Worker

_READS = 100
"""What one worker says that is read in one turn of the event loop."""


class WorkerPool:
    """The workers behind one listener.

    ``died`` gets the exit code of each that was to go on. What it, or a task of the pool, raises
    goes to ``failed``.
    """

    def __init__(
        self,
        config: WorkerConfig,
        listener: socket.socket,
        *,
        died: Callable[[int | None], Awaitable[None]],
        failed: Callable[[asyncio.Task[None]], None],
    ) -> None:
        self._config = config
        self._died = died
        self._failed = failed
        self.dispatcher = Dispatcher(listener)
        self.fork_server: ForkServer
        """Where workers come from that follow dead ones."""
        self._fork_servers: set[ForkServer] = set()
        self._workers: dict[Worker, asyncio.Task[None]] = {}
        """The oldest first, and the task that monitors each."""
        self.became_ready = asyncio.Semaphore(0)
        """Released once for each worker that serves."""

    @property
    def workers(self) -> list[Worker]:
        """The workers that have not ended, the oldest first."""
        return [*self._workers]

    def start_fork_server(self) -> ForkServer:
        """Start a fork server of the version that is installed now."""
        fork_server = ForkServer.start(self._config)
        self._fork_servers.add(fork_server)
        return fork_server

    async def spawn(self, fork_server: ForkServer, *, respawn: bool = True) -> Worker:
        """Spawn a worker and monitor it; ForkServerEndedError when that cannot be done."""
        worker = await fork_server.spawn(respawn=respawn)
        if fork_server not in self._fork_servers:  # all others were replaced meanwhile
            worker.discard()
            raise ForkServerEndedError
        task = self._workers[worker] = asyncio.create_task(self._monitor(worker))
        task.add_done_callback(self._failed)
        return worker

    async def _monitor(self, worker: Worker) -> None:
        """Read what a worker says until it ends, and tell where it was to go on."""
        loop = asyncio.get_running_loop()
        loop.add_reader(worker.channel, self._receive, worker)
        try:
            await worker.exited.wait()
            code = await worker.fork_server.exit_code(worker)
        finally:
            loop.remove_reader(worker.channel)
            self._forget(worker)
        if worker.respawn:
            await self._died(code)
        await self.end_if_unused(worker.fork_server)

    def _forget(self, worker: Worker) -> None:
        self.dispatcher.remove(worker)
        worker.channel.close()
        del self._workers[worker]

    def _receive(self, worker: Worker) -> None:
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
                self.became_ready.release()
                self.dispatcher.add(worker)
            elif said == DRAINING:
                self._drain(worker)
            elif said == CONNECTION and connection is not None:
                self.dispatcher.take(connection)
            else:
                asyncio.get_running_loop().remove_reader(worker.channel)
                worker.exited.set()
                return

    async def shut_down(self, worker: Worker) -> None:
        """Have a worker end after its requests, by force where it takes too long."""
        monitoring = self._workers[worker]
        worker.respawn = False
        self._drain(worker)
        await asyncio.wait([monitoring], timeout=GRACE + 1)
        worker.kill()
        await asyncio.wait([monitoring])

    def _drain(self, worker: Worker) -> None:
        """Send a worker no more; it still takes what is on its way, and gives back what is idle."""
        self.dispatcher.remove(worker)
        with suppress(OSError):
            worker.channel.shutdown(socket.SHUT_WR)

    async def end_if_unused(self, fork_server: ForkServer) -> None:
        """End a fork server that no worker came from, or will."""
        used = any(one.fork_server is fork_server for one in self._workers)
        if fork_server is self.fork_server or used:
            return
        if fork_server in self._fork_servers:
            self._fork_servers.discard(fork_server)
            await fork_server.end()

    def kill(self) -> None:
        """Kill all workers."""
        for worker in self._workers:
            worker.kill()

    async def stop(self) -> None:
        """Accept no more, and end all workers after their requests."""
        self.dispatcher.stop()
        for worker in self._workers:
            worker.respawn = False
            send(worker.channel, STOPPING)
            self._drain(worker)
            if not worker.ready.is_set():
                worker.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE + 1):
                await asyncio.gather(*(worker.exited.wait() for worker in self._workers))
        self.kill()
        await asyncio.gather(*self._workers.values(), return_exceptions=True)
        fork_servers, self._fork_servers = self._fork_servers, set()
        for fork_server in fork_servers:
            await fork_server.end()
