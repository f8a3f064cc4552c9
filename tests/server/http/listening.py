"""Serves an application in this process. Its clients send bytes."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from server.app import Served
from server.serving import HttpServer, duplicates
from server.settings import Settings

GET = b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
HANDSHAKE = (
    b"GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nUpgrade: websocket\r\n\r\n"
)


@asynccontextmanager
async def listening(app: ASGIApp, settings: Settings | None = None) -> AsyncIterator[int]:
    """Serve ``app`` in the way of ``marginalia serve``. Yield the port."""
    # asyncio switches Nagle's algorithm off only for connections of this protocol, and uvloop for
    # all. With the algorithm, a response in two writes takes 40 ms.
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        chosen = settings or Settings()
        server = HttpServer(Served(app, chosen), chosen, "")
        serving = asyncio.create_task(server.serve(sockets=duplicates(listener)))
        try:
            yield listener.getsockname()[1]
        finally:
            server.end()
            await serving


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.head = ""
        """The status line and headers of the last response."""

    async def answer(self) -> tuple[int, str]:
        """Return the next response's status and body."""
        async with asyncio.timeout(60):
            self.head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            length = int(self.head.partition("content-length: ")[2].split()[0])
            body = await self.reader.readexactly(length)
        return int(self.head.split()[1]), body.decode()

    async def ask(self, request: bytes) -> tuple[int, str]:
        """Send a request and return its response."""
        self.writer.write(request)
        return await self.answer()

    async def rest(self) -> bytes:
        """Return the remaining bytes until the server closes the connection."""
        async with asyncio.timeout(60):
            return await self.reader.read()


@asynccontextmanager
async def clients(port: int, count: int = 1, send: bytes = b"") -> AsyncIterator[list[Client]]:
    """Open ``count`` connections. Each sends the bytes ``send``."""
    opened = [Client(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(count)]
    for client in opened:
        client.writer.write(send)
    try:
        yield opened
    finally:
        for client in opened:
            client.writer.close()


async def taken(port: int) -> None:
    """Wait until the server has read everything that was sent.

    The event loop reads from all connections in turn, so this request is read last.
    """
    async with clients(port) as (probe,):
        assert (await probe.ask(HEALTH))[0] == 200


class Echo:
    """An application that returns the request's body. It responds once ``held`` is set."""

    def __init__(self) -> None:
        self.served = 0
        self.headers: list[tuple[bytes, bytes]] = []
        """The headers of the last request."""
        self.serving = asyncio.Event()
        """Set while or after a request runs."""
        self.held = asyncio.Event()
        self.held.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while not body.endswith(b"!"):
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False) or len(body) > 1_000_000:
                break
        if scope["path"] != "/health":
            self.served += 1
            self.headers = scope["headers"]
            self.serving.set()
            await self.held.wait()
        answer = scope["path"].encode() + b":" + body[:100]
        headers = [(b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})
