"""What SIGHUP means: new workers, or that the terminal is gone."""

import asyncio
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator

import pytest

from server.run import _on_hangup

SAID: list[str] = []


async def heard(count: int) -> list[str]:
    """Send SIGHUP to this process; return what it has done by then."""
    os.kill(os.getpid(), signal.SIGHUP)
    async with asyncio.timeout(30):
        while len(SAID) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    return list(SAID)


@pytest.fixture
async def master(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """Give this process a terminal; yield the end of whoever sits at it."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        SAID.clear()
        _on_hangup(lambda: SAID.append("replace"), lambda: SAID.append("end"))
        yield ours
    asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)


async def test_it_replaces_workers_until_the_terminal_is_closed(master: int) -> None:
    assert await heard(1) == ["replace"]
    os.close(master)
    assert await heard(2) == ["replace", "end"]
