"""The start of a server: SIGHUP, and the URL in the banner."""

import asyncio
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator

import pytest

from server.run import _on_hangup, address

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
