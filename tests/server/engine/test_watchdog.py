"""Engines that neither die nor answer."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from server.engine.guard import Guard
from server.engine.process import EngineProcess
from server.engine.storage import open_store
from server.engine.watchdog import IDLE_LOOKS, watch
from server.settings import Settings
from tests.engines import free_port
from tests.server.embedded import engine_pid, successor

LOOK = 0.1
KEPT = {"PK": {"S": "kept"}, "SK": {"S": "kept"}}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.engine.watchdog.PAUSE", LOOK / 2)
    monkeypatch.setattr("server.engine.watchdog.LOOK", LOOK)


async def test_a_hung_engine_is_replaced_and_costs_no_request(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(Settings(data_dir=tmp_path), share=False) as store:
        pid = engine_pid(tmp_path)
        await store.table.put_many([KEPT])
        os.kill(pid, signal.SIGSTOP)
        assert await store.table.get(KEPT) == KEPT
        assert await successor(tmp_path, pid) != pid
        assert not store.died.done()
    assert "The storage engine neither answers nor works" in caplog.text
    assert "died (killed by SIGKILL): starting it again" in caplog.text


async def test_a_busy_engine_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It works, however long it owes an answer."""
    monkeypatch.setattr("server.engine.watchdog.LOOK", 3 * LOOK)  # others may be busier still
    busy = await asyncio.create_subprocess_exec(sys.executable, "-c", "while True: pass")
    with deaf_port() as port:
        watching = asyncio.create_task(watch(process_of(busy, port)))
        try:
            await asyncio.sleep(4 * LOOK * IDLE_LOOKS)
            assert not watching.done()
            busy.send_signal(signal.SIGSTOP)
            assert await busy.wait() == -signal.SIGKILL
            await watching
        finally:
            watching.cancel()
            with suppress(ProcessLookupError):
                busy.kill()
            await busy.wait()


async def test_an_engine_that_is_gone_is_no_matter_of_the_watchdog(tmp_path: Path) -> None:
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    watching = asyncio.create_task(watch(process_of(gone, free_port())))
    await asyncio.sleep(2 * LOOK * IDLE_LOOKS)
    assert not watching.done()
    watching.cancel()


def process_of(process: asyncio.subprocess.Process, port: int) -> EngineProcess:
    """Take a process for an engine's."""
    guard = Guard(cast(Any, process), asyncio.StreamReader(), asyncio.BaseTransport())
    return EngineProcess(guard, process.pid, port)


@contextmanager
def deaf_port() -> Iterator[int]:
    """A port that takes connections and answers nothing, as that of a stopped process does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]
