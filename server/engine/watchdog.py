"""Kills an engine that hangs, so that it is started again.

A hung engine neither answers nor works. One that is merely busy works, and may let a request wait
for many seconds before it answers; one that reads its write-ahead log does not listen yet, and is
not watched.
"""

import asyncio
import logging

import psutil

from server.engine.process import EngineProcess

logger = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds between an answer and the next question."""

LOOK = 1.0
"""Seconds between two looks at an engine that owes an answer."""

IDLE_LOOKS = 5
"""How many looks in a row find no answer, and no processor time used since the one before, when an
engine hangs. A server that was stopped itself for long finds that once."""

_QUESTION = b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"
"""Asks the engine's health, which takes no look at the data."""


async def watch(process: EngineProcess) -> None:
    """Ask the engine time and again whether it is there; kill it and return when it hangs."""
    while True:
        await asyncio.sleep(PAUSE)
        if await _hangs(process):
            break
    logger.error(
        "The storage engine neither answers nor works for %.0f seconds: killing it.",
        LOOK * IDLE_LOOKS,
    )
    process.kill()


async def _hangs(process: EngineProcess) -> bool:
    answer = asyncio.ensure_future(_answer(process.port))
    try:
        idle, worked = 0, _processor_time(process.pid)
        while idle < IDLE_LOOKS:
            if (await asyncio.wait({answer}, timeout=LOOK))[0]:
                return False
            before, worked = worked, _processor_time(process.pid)
            idle = idle + 1 if worked == before else 0
    finally:
        answer.cancel()
    return True


async def _answer(port: int) -> None:
    """Return once the engine says anything; a lost connection says that its process is gone."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return
    try:
        writer.write(_QUESTION)
        await reader.read(1)
    except OSError:
        return
    finally:
        writer.close()


def _processor_time(pid: int) -> float:
    """Return the seconds that a process has worked; 0 for one that is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)
