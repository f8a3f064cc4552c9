"""The nursery as its parent sees it, where one of its processes does not behave."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from server.workers import nursery
from server.workers.nursery import Nursery, Worker


@pytest.fixture
def hanging() -> Iterator[subprocess.Popen[bytes]]:
    """A process that hears nothing, such as one in the midst of a broken import."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def of(process: subprocess.Popen[bytes], parent: socket.socket) -> Nursery:
    parent.setblocking(False)
    return Nursery(process, parent)


async def test_a_nursery_that_hangs_is_ended_by_force(
    hanging: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursery, "_END_DEADLINE", 0.05, raising=False)
    ours, theirs = socket.socketpair()
    with theirs:
        async with asyncio.timeout(30):
            await of(hanging, ours).end()
    assert hanging.returncode == -signal.SIGKILL


async def test_the_process_id_of_a_worker_that_is_gone_is_left_alone(
    hanging: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its nursery nobody keeps the number from being given again."""
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))
    (ours, theirs), (channel, changes) = socket.socketpair(), socket.socketpair()
    with channel, changes:
        parent = of(hanging, ours)
        theirs.close()
        await parent.ended.wait()
        worker = Worker(parent, 4_000_000, channel, changes, wanted=False)
        worker.kill()
        worker.gone.set()
        worker.kill()
        assert killed == [4_000_000]
        monkeypatch.undo()
        hanging.kill()
        await parent.end()
