"""The processes of a server with workers, and clients of one of them each."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import psutil

from tests.server.serving import Served, bearer


def workers_of(server: Served) -> list[psutil.Process]:
    """Return the processes that serve, the oldest first."""
    parent = psutil.Process(server.process.pid)
    (nursery,) = (
        one for one in parent.children() if "multiprocessing.forkserver" in str(one.cmdline())
    )
    return sorted(nursery.children(), key=psutil.Process.create_time)


async def another(server: Served, gone: psutil.Process, count: int) -> psutil.Process:
    """Wait until there are ``count`` workers again without ``gone``; return the youngest."""
    for _ in range(6_000):
        workers = [worker for worker in workers_of(server) if worker.pid != gone.pid]
        if len(workers) == count:
            return workers[-1]
        await asyncio.sleep(0.01)
    raise TimeoutError(f"no worker followed {gone}")


@asynccontextmanager
async def clients_of(server: Served, count: int) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Connect so many clients, one connection each: they get to the workers in turn."""
    one = httpx.Limits(max_connections=1)
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(
                httpx.AsyncClient(
                    base_url=server.url, headers=bearer("ana"), timeout=30, limits=one
                )
            )
            for _ in range(count)
        ]
        for client in opened:
            assert (await client.get("/health/live")).is_success
        yield opened
