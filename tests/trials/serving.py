"""A server in another process, for trials that proxy its engine in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.server.serving import AWS, Served, served


@asynccontextmanager
async def serving(directory: Path, *options: str) -> AsyncIterator[Served]:
    """Serve until the block ends; the event loop continues while the server starts and ends."""
    opened = served(directory, *options, **AWS)
    server = await asyncio.to_thread(opened.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(opened.__exit__, None, None, None)
