"""An application on a free port of this machine, in this process and its event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[str]:
    """Yield the URL at which it is served."""
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = _Server(config)
        serving = asyncio.create_task(server._serve([listener]))
        try:
            await server.listens.wait()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
