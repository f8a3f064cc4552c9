"""A proxy before an engine that spoils some of its answers."""

import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import ClientSession, web

Spoil = Callable[[bytes], bytes]


@dataclass
class Proxy:
    """Passes requests on to ``engine``; the next answers to an operation are spoilt in turn."""

    engine: str
    url: str = ""
    spoils: dict[str, list[Spoil]] = field(default_factory=dict)
    seen: list[tuple[str, bytes]] = field(default_factory=list)

    async def pass_on(self, request: web.Request) -> web.Response:
        body = await request.read()
        operation = request.headers["X-Amz-Target"].rpartition(".")[2]
        self.seen.append((operation, body))
        dropped = {"Host", "Content-Length", "Connection"}
        headers = {name: one for name, one in request.headers.items() if name not in dropped}
        async with (
            ClientSession(auto_decompress=False) as session,
            session.post(self.engine, data=body, headers=headers) as answer,
        ):
            told, status = await answer.read(), answer.status
        checksum = {"x-amz-crc32": str(zlib.crc32(told))}
        spoil = self.spoils.get(operation, [])
        if status == 200 and spoil:
            told = spoil.pop(0)(told)
        return web.Response(body=told, status=status, headers=checksum)


@asynccontextmanager
async def proxy_of(engine: str) -> AsyncIterator[Proxy]:
    """Open a proxy on a free port of this machine."""
    proxy = Proxy(engine)
    app = web.Application(client_max_size=0)
    app.router.add_post("/", proxy.pass_on)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield proxy
    finally:
        await runner.cleanup()
