"""The processes of a server with workers, and clients that each use one worker."""

import asyncio
import os
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx
import psutil

from tests.server.serving import Served, bearer


def workers_of(server: Served) -> list[psutil.Process]:
    """Return the workers, the oldest first."""
    found = []
    for child in psutil.Process(server.process.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "--multiprocessing-fork" in child.cmdline():
                found.append(child)
    return sorted(found, key=psutil.Process.create_time)


async def another(server: Served, gone: psutil.Process, count: int) -> psutil.Process:
    """Wait until there are ``count`` workers, none of them ``gone``. Return the newest worker."""
    return (await others(server, [gone], count))[-1]


async def others(
    server: Served, gone: Collection[psutil.Process], count: int = 2
) -> list[psutil.Process]:
    """Wait until there are ``count`` workers, none of them among ``gone``. Return the workers."""
    async with asyncio.timeout(120):
        while set(gone) & set(now := workers_of(server)) or len(now) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return now


def said(server: Served) -> str:
    """Return a server's log."""
    return os.pread(server.log.fileno(), 1_000_000, 0).decode()


async def logged(server: Served, sentence: str, times: int = 1) -> None:
    """Wait until the log contains a sentence the given number of times."""
    async with asyncio.timeout(120):
        while said(server).count(sentence) < times:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def complaints(errors: str) -> list[str]:
    """Return the lines of a server's log, except the one about workers without Redis."""
    lines = [line.partition("] ")[2] for line in errors.splitlines()]
    return [line for line in lines if not line.startswith("Live comments")]


@asynccontextmanager
async def clients_of(server: Served, count: int) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Open clients with one connection each. The workers get the connections in turn."""
    workers = workers_of(server)
    async with AsyncExitStack() as stack:
        opened = []
        for number in range(count):
            chosen = workers[number % len(workers)]
            opened.append(client := await _client_of(server, chosen, workers))
            stack.push_async_callback(client.aclose)
        yield opened


async def _client_of(
    server: Served, chosen: psutil.Process, workers: Collection[psutil.Process]
) -> httpx.AsyncClient:
    """Return a client with a connection to the worker ``chosen``, which may still be starting."""
    paused = [worker for worker in workers if worker != chosen]
    limits = httpx.Limits(max_connections=1)
    while True:
        client = httpx.AsyncClient(
            base_url=server.url, headers=bearer("ana"), limits=limits, timeout=60
        )
        for worker in paused:  # otherwise the kernel could give the connection to another worker
            worker.suspend()
        try:
            assert (await client.get("/health/live", timeout=2)).is_success
        except httpx.TimeoutException:
            await client.aclose()
        else:
            return client
        finally:  # soon enough that no watchdog reports that its process was stopped
            for worker in paused:
                worker.resume()
        await asyncio.sleep(1)
