"""The processes of a server with workers, and clients of one of them each."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx
import psutil

from tests.server.serving import Served, bearer


def workers_of(server: Served) -> list[psutil.Process]:
    """Return the processes that serve, the oldest first."""
    found: list[psutil.Process] = []
    for fork_server in fork_servers_of(server):
        with suppress(psutil.NoSuchProcess):
            found += fork_server.children()
    return sorted(found, key=psutil.Process.create_time)


def fork_servers_of(server: Served) -> list[psutil.Process]:
    """Return the processes that workers are forked from: one but for a while."""
    found = []
    for child in psutil.Process(server.process.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "server.workers" in child.cmdline():
                found.append(child)
    return found


async def others(
    server: Served, gone: Collection[psutil.Process], count: int = 2
) -> list[psutil.Process]:
    """Wait until there are ``count`` workers and none of ``gone``; return them."""
    async with asyncio.timeout(120):
        while set(gone) & set(now := workers_of(server)) or len(now) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return now


async def another(server: Served, gone: psutil.Process, count: int) -> psutil.Process:
    """Wait until there are ``count`` workers again without ``gone``; return the youngest."""
    for _ in range(6_000):
        workers = [worker for worker in workers_of(server) if worker.pid != gone.pid]
        if len(workers) == count:
            return workers[-1]
        await asyncio.sleep(0.01)
    raise TimeoutError(f"no worker followed {gone}")


def complaints(errors: str) -> list[str]:
    """Return what a server has logged, but for the line on workers without Redis."""
    lines = [line.partition("] ")[2] for line in errors.splitlines()]
    return [line for line in lines if not line.startswith("Live comments are off")]


@asynccontextmanager
async def clients_of(server: Served, count: int) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Connect so many clients, one connection each: they get to the workers in turn."""
    one = httpx.Limits(max_connections=1)
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(
                httpx.AsyncClient(
                    base_url=server.url, headers=bearer("ana"), timeout=60, limits=one
                )
            )
            for _ in range(count)
        ]
        for client in opened:
            assert (await client.get("/health/live")).is_success
        yield opened
