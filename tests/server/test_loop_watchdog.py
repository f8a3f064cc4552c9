"""Servers whose event loop is blocked by a regular expression or a system call."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from server.settings import Settings
from tests.engines import ROOT
from tests.server.serving import Served, served
from tests.server.workers.processes import another, clients_of, workers_of

HOOK = """
import re, signal, time
from server import loop_watchdog

loop_watchdog.TURN, loop_watchdog.STACK_AFTER, loop_watchdog.END_AFTER = 0.1, STACK, 2.0

def backtrack(*_):
    re.match("(a+)+$", "a" * 100 + "b")

def wait_long(*_):
    time.sleep(3600)

def wait(*_):
    time.sleep(2.5)

signal.signal(signal.SIGUSR1, backtrack)
signal.signal(signal.SIGUSR2, wait_long)
signal.signal(signal.SIGWINCH, wait)
"""
"""Code that every Python process of the server runs first. Signals then block the event loop."""

END = "--exit-when-blocked"


@contextmanager
def hooked(directory: Path, *options: str, stack_after: int = 1) -> Iterator[Served]:
    """Run a server with short limits of the watchdog, and with ``HOOK``."""
    (directory / "sitecustomize.py").write_text(f"STACK = {stack_after}.0\n{HOOK}")
    path = os.pathsep.join([str(directory), str(ROOT)])
    with served(directory / "data", *options, PYTHONPATH=path) as server:
        try:
            yield server
        except BaseException:
            server.kill()  # SIGTERM does not end a server whose event loop is blocked
            raise


async def test_a_blocked_worker_is_replaced_while_the_other_answers(tmp_path: Path) -> None:
    with hooked(tmp_path, "--workers", "2") as server:
        blocked, other = workers_of(server)
        async with clients_of(server, 2) as clients:
            blocked.send_signal(signal.SIGUSR1)
            asking = [asyncio.create_task(client.get("/health")) for client in clients]
            (answered,), _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            assert (await answered).status_code == 200
            assert blocked.is_running()
            assert await another(server, blocked, 2) != other
            assert other.is_running()
            await asyncio.gather(*asking, return_exceptions=True)
        code, said = server.end()
    assert code == 0
    assert "Timeout (" in said  # on a busy machine, the watchdog may print further stacks
    assert said.count(" in backtrack\n") == 1
    assert "stack is above): starting" in said


def test_a_blocked_server_without_the_option_prints_its_stack_and_continues(tmp_path: Path) -> None:
    with hooked(tmp_path) as server:
        server.process.send_signal(signal.SIGWINCH)
        assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200
        code, said = server.end()
    assert code == 0
    assert "Timeout (" in said
    assert said.count(" in wait\n") == 1
    assert "event loop was" in said


def test_a_suspended_server_continues_and_a_blocked_server_ends_with_its_engine(
    tmp_path: Path,
) -> None:
    """While a machine or container is suspended, its event loop is not blocked.

    A long system call blocks the event loop. After a suspension of any length, the loop has
    ``STACK_AFTER`` seconds to run.
    """
    with hooked(tmp_path, END, stack_after=3) as server:
        engine = server.engine()
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(4.95)  # just less than END_AFTER + STACK_AFTER
        server.process.send_signal(signal.SIGCONT)
        assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200
        server.process.send_signal(signal.SIGUSR2)
        code, said = server.ended()
        psutil.wait_procs([engine], 60)
        assert not engine.is_running()
    assert code == -signal.SIGPROF
    assert "Timeout (" in said
    assert " in backtrack\n" not in said


def test_blocked_processes_end_if_there_are_other_workers_or_by_the_option() -> None:
    assert not Settings().ends_when_blocked
    assert Settings(workers=2).ends_when_blocked
    assert Settings(exit_when_blocked=True).ends_when_blocked
    assert not Settings(workers=2, exit_when_blocked=False).ends_when_blocked
