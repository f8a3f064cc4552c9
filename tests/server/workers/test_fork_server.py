"""The fork server as its parent sees it, where one of its processes does not behave."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from server.workers import fork_server
from server.workers.fork_server import ForkServer, ForkServerEndedError, Worker


@pytest.fixture
def hanging() -> Iterator[subprocess.Popen[bytes]]:
    """A process that hears nothing, such as one in the midst of a broken import."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def of(process: subprocess.Popen[bytes], parent: socket.socket) -> ForkServer:
    parent.setblocking(False)
    return ForkServer(process, parent)


async def test_a_fork_server_that_hangs_is_ended_by_force(
    hanging: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "_END_DEADLINE", 0.05)
    ours, theirs = socket.socketpair()
    with theirs:
        async with asyncio.timeout(60):
            await of(hanging, ours).end()
    assert hanging.returncode == -signal.SIGKILL


async def test_the_process_id_of_a_worker_that_is_gone_is_left_alone(
    hanging: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its fork server nobody keeps the number from being given again."""
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))
    (ours, theirs), (channel, _) = socket.socketpair(), socket.socketpair()
    with channel, _:
        parent = of(hanging, ours)
        theirs.close()
        await parent.ended.wait()
        worker = Worker(parent, 4_000_000, channel, respawn=False)
        worker.kill()
        worker.exited.set()
        worker.kill()
        assert killed == [4_000_000]
        monkeypatch.undo()
        hanging.kill()
        await parent.end()


async def test_a_request_that_was_not_sent_is_not_waited_for(
    hanging: subprocess.Popen[bytes],
) -> None:
    """The next answer would be taken for its own."""
    ours, theirs = socket.socketpair()
    with theirs:
        parent = of(hanging, ours)
        filled = 0
        with suppress(BlockingIOError):
            while True:
                filled += ours.send(b"x" * 4_096)
        with pytest.raises(ForkServerEndedError):
            await parent.spawn()
        while filled:
            filled -= len(theirs.recv(filled))
        spawning = asyncio.create_task(parent.spawn())
        await asyncio.sleep(0)
        _, sockets, *_ = socket.recv_fds(theirs, 8, 2)
        theirs.send(b"4000000\n")
        async with asyncio.timeout(60):
            worker = await spawning
        worker.channel.close()
        for descriptor in sockets:
            os.close(descriptor)
        assert worker.pid == 4_000_000
        hanging.kill()
        await parent.end()
