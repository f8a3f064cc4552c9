"""The supervisor over workers of this process, which die when it suits them least."""

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator

import pytest

from dal.client.table import TableAddress
from server.settings import Settings
from server.workers.channel import READY, send
from server.workers.config import WorkerConfig
from server.workers.fork_server import ForkServer, Worker
from server.workers.supervisor import Supervisor

PIDS = itertools.count(4_000_000)


class Forks:
    """A fork server whose workers are sockets; they come when ``open`` lets them."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.asked = 0
        self.ended = asyncio.Event()
        self.theirs: dict[Worker, socket.socket] = {}

    async def spawn(self, *, respawn: bool = True) -> Worker:
        self.asked += 1
        await self.open.wait()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        worker = Worker(self, next(PIDS), ours, respawn)  # type: ignore[arg-type]
        self.theirs[worker] = theirs
        asyncio.get_running_loop().add_reader(theirs, self._told, worker)
        send(theirs, READY)
        return worker

    def _told(self, worker: Worker) -> None:
        """End where nothing more comes."""
        if not self.theirs[worker].recv(1):
            self.die(worker)

    def die(self, worker: Worker) -> None:
        if (theirs := self.theirs.pop(worker, None)) is not None:
            asyncio.get_running_loop().remove_reader(theirs)
            theirs.close()

    def kill(self, pid: int) -> None:
        for worker in [one for one in self.theirs if one.pid == pid]:
            self.die(worker)

    async def exit_code(self, worker: Worker) -> int | None:
        del worker
        return None

    async def end(self) -> None:
        self.ended.set()


@pytest.fixture
async def made(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Supervisor, list[Forks]]]:
    """A supervisor that serves by one worker, and its fork servers."""
    started: list[Forks] = []

    def start(config: WorkerConfig) -> Forks:
        del config
        started.append(Forks())
        return started[-1]

    monkeypatch.setattr(ForkServer, "start", start)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        supervisor = Supervisor(Settings(workers=1), TableAddress("t"), listener)
        serving = asyncio.create_task(supervisor.serve("greeting"))
        try:
            while not started or not started[0].theirs:  # noqa: ASYNC110 - nothing tells it
                await asyncio.sleep(0.005)
            yield supervisor, started
        finally:
            supervisor.end()
            async with asyncio.timeout(60):
                await serving


async def test_no_old_worker_follows_once_all_are_new(
    made: tuple[Supervisor, list[Forks]], caplog: pytest.LogCaptureFixture
) -> None:
    """One that died as the last new one came to serve is followed by none of its own version."""
    supervisor, started = made
    old = started[0]
    old.open.clear()
    old.die(next(iter(old.theirs)))
    async with asyncio.timeout(60):
        while old.asked < 2:  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0.005)
        supervisor.replace()
        while "All 1 workers were replaced." not in caplog.text:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.005)
        old.open.set()
        for _ in range(10):
            await asyncio.sleep(0)
        while old.theirs:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.005)
    (worker,) = supervisor._pool.workers
    assert worker in started[1].theirs
