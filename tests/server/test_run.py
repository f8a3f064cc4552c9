"""The start of a server: SIGHUP, and the URL in the banner."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.run import _on_hangup, address
from tests.server.serving import MARGINALIA, environment

SAID: list[str] = []


async def heard(count: int) -> list[str]:
    """Send SIGHUP to this process. Return what it has caused so far."""
    os.kill(os.getpid(), signal.SIGHUP)
    async with asyncio.timeout(60):
        while len(SAID) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    return list(SAID)


@pytest.fixture
async def master(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """Give this process a terminal as its input. Yield the other end of the terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        SAID.clear()
        _on_hangup(lambda: SAID.append("replace"), lambda: SAID.append("end"))
        yield ours
    asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)


async def test_sighup_replaces_workers_and_a_closed_terminal_ends_the_server(master: int) -> None:
    assert await heard(1) == ["replace"]
    os.close(master)
    assert await heard(2) == ["replace", "end"]


def test_sighup_does_not_end_a_server_that_starts(tmp_path: Path) -> None:
    """SIGHUP arrives while the demo data is loading, before the workers start."""
    command = [str(MARGINALIA), "serve", "--port", "0", "--data-dir", str(tmp_path / "data")]
    log = tmp_path / "log"
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            [*command, "--demo", "--workers", "2"],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        ) as starting,
    ):
        try:
            logged(log, "Demo data: loading", starting)
            starting.send_signal(signal.SIGHUP)
            logged(log, "no worker serves", starting)
        finally:
            starting.terminate()
    assert starting.returncode == 0
    assert "Traceback" not in log.read_text()


def logged(log: Path, sentence: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has logged a sentence."""
    deadline = time.monotonic() + 120
    while sentence not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("2001:db8::7", "http://[2001:db8::7]:8000"),
        ("shop.example", "http://shop.example:8000"),
    ],
)
def test_the_banner_has_a_url_that_a_browser_opens(host: str, url: str) -> None:
    assert address(host, 8000) == url
