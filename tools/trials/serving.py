"""Runs a server in another process, while this process runs a proxy in front of its engine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.server.serving import AWS, Served, served


@asynccontextmanager
async def serving(directory: Path, *options: str) -> AsyncIterator[Served]:
    """Run a server until the block ends. Its start and end do not block the event loop."""
    opened = served(directory, *options, **AWS)
    server = await asyncio.to_thread(opened.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(opened.__exit__, None, None, None)
