"""WebSocket connections: handshakes, frames, and clients that do not read."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from starlette.types import Receive, Scope, Send
from websockets.frames import Frame, Opcode

from features.live import websocket
from features.live.websocket import MAX_FRAMES, WebSocketProtocol
from server.http import connections
from tests.server.http.listening import GET, HANDSHAKE, HEALTH, Client, Echo, clients, listening

PING = Frame(Opcode.PING, b"")
PONG = Frame(Opcode.PONG, b"")
TEXT = Frame(Opcode.TEXT, b"a")
OPENING = Frame(Opcode.TEXT, b"", fin=False)
EMPTY = Frame(Opcode.CONT, b"", fin=False)


def wire(*frames: Frame) -> bytes:
    return b"".join(frame.serialize(mask=True) for frame in frames)


MOST_PINGS = MAX_FRAMES + websocket._PIECE // len(wire(PING))
"""The maximum number of pings that the server reads from a client that sends many at once."""


class Socket(Echo):
    """An application that accepts every WebSocket. It reads messages, or closes after the first."""

    def __init__(self, *, closing: bool = False) -> None:
        super().__init__()
        self._closing = closing
        self.messages = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await super().__call__(scope, receive, send)
            return
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] == "websocket.receive":
            self.messages += 1
            if self._closing:
                await send({"type": "websocket.close"})


@asynccontextmanager
async def sockets(port: int, count: int = 1) -> AsyncIterator[list[Client]]:
    """Open ``count`` WebSockets."""
    async with clients(port, count) as opened:
        for client in opened:
            client.writer.write(HANDSHAKE)
            async with asyncio.timeout(60):
                head = await client.reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 101 ")
        yield opened


@pytest.mark.parametrize(
    "frames",
    [[PING] * 3_000, [PONG] * 3_000, [OPENING, *[EMPTY] * 3_000], [TEXT] * 3_000],
    ids=["pings", "pongs", "empty continuations", "messages"],
)
async def test_frames_of_every_kind_are_counted(frames: list[Frame]) -> None:
    """If many frames arrive at once, the server parses at most one piece more after the limit."""
    app = Socket()
    async with listening(app) as port, sockets(port) as (client,):
        client.writer.write(wire(*frames))
        async with asyncio.timeout(60):
            received = await client.reader.read()
    pongs, code = received[: received.rindex(b"\x88")], received[received.rindex(b"\x88") + 2 :]
    assert int.from_bytes(code[:2]) == 4429
    assert code[2:].startswith(b"Too many frames: send at most 100 frames a second")
    assert len(pongs) // 2 <= MOST_PINGS
    assert app.messages <= MAX_FRAMES + websocket._PIECE // len(wire(TEXT))


async def test_an_application_that_answers_a_flooding_client_ends_without_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Answering(Socket):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            await send({"type": "websocket.accept"})
            while True:
                await receive()
                await send({"type": "websocket.send", "text": "a"})

    async with listening(Answering()) as port, sockets(port) as (client,):
        client.writer.write(wire(TEXT) * 3_000)
        async with asyncio.timeout(60):
            await client.reader.read()
    assert "Exception in ASGI application" not in caplog.text


async def test_frames_are_counted_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[WebSocketProtocol] = []
    make = WebSocketProtocol.connection_made

    def making(self: WebSocketProtocol, transport: asyncio.BaseTransport) -> None:
        make(self, transport)
        opened.append(self)

    monkeypatch.setattr(WebSocketProtocol, "connection_made", making)
    async with listening(Socket()) as port, sockets(port) as (client,):
        for _ in range(3):
            client.writer.write(wire(PING) * (MAX_FRAMES - 1))
            async with asyncio.timeout(60):
                await client.reader.readexactly(2 * (MAX_FRAMES - 1))
            opened[0]._second -= 1


async def test_a_message_has_a_maximum_number_of_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "MAX_MESSAGE_FRAMES", 10)
    async with listening(Socket()) as port, sockets(port) as (client,):
        client.writer.write(wire(OPENING, *[EMPTY] * 11))
        async with asyncio.timeout(60):
            assert (await client.reader.read())[2:4] == (4429).to_bytes(2)


async def test_frames_after_the_close_frame_are_counted_too() -> None:
    """A client may send frames until it has responded to the close frame."""
    async with listening(Socket(closing=True)) as port, sockets(port) as (client,):
        client.writer.write(wire(TEXT))
        async with asyncio.timeout(60):
            assert await client.reader.readexactly(4) == b"\x88\x02\x03\xe8"
        client.writer.write(wire(PING) * 3_000)
        received = 0
        with suppress(ConnectionError):
            received = len(await client.rest())
        assert received // 2 <= MOST_PINGS


@pytest.mark.parametrize("seconds", [0.2, 60.0])
async def test_a_client_that_reads_no_pongs_is_not_read_and_then_disconnected(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(websocket, "MAX_FRAMES", 10**9)
    monkeypatch.setattr(connections, "SEND_TIMEOUT", seconds)
    full, lost = asyncio.Event(), asyncio.Event()
    buffered = [0]
    pause, lose = WebSocketProtocol.pause_writing, WebSocketProtocol.connection_lost
    receive = WebSocketProtocol.data_received

    def pausing(self: WebSocketProtocol) -> None:
        pause(self)
        full.set()

    def receiving(self: WebSocketProtocol, data: bytes) -> None:
        receive(self, data)
        buffered.append(self.transport.get_write_buffer_size())

    def losing(self: WebSocketProtocol, exc: Exception | None) -> None:
        lose(self, exc)
        lost.set()

    monkeypatch.setattr(WebSocketProtocol, "pause_writing", pausing)
    monkeypatch.setattr(WebSocketProtocol, "data_received", receiving)
    monkeypatch.setattr(WebSocketProtocol, "connection_lost", losing)
    pings = wire(Frame(Opcode.PING, b"a" * 125)) * 1_000
    async with listening(Socket()) as port, sockets(port) as (client,), clients(port) as (probe,):
        transport = client.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        # The kernel's buffers, which would otherwise grow to megabytes, fill sooner.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        async with asyncio.timeout(60):
            while not full.is_set():
                client.writer.write(pings)
                await asyncio.sleep(0)
            if seconds < 1:
                await lost.wait()
                return
        client.writer.write(pings * 20)
        for _ in range(20):
            assert (await probe.ask(HEALTH))[0] == 200
        assert max(buffered) < 600_000
        transport.resume_reading()
        client.writer.write(wire(Frame(Opcode.CLOSE, b"")))
        assert (await client.rest()).endswith(b"\x88\x00")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        (b"", b"101"),
        (b"X: " + b"a" * 10_000 + b"\r\n", b"431"),
        (b"Content-Length: 3\r\n", b"400"),
        (b"Sec-WebSocket-Version: 1\r\n", b"400"),
    ],
)
async def test_a_handshake_that_is_refused_ends_the_connection(more: bytes, status: bytes) -> None:
    request = HANDSHAKE.replace(b"Host: x\r\n", b"Host: x\r\n" + more)
    async with listening(Socket()) as port, clients(port, 1, request) as (client,):
        async with asyncio.timeout(60):
            head = await client.reader.readuntil(b"\r\n\r\n")
            assert head.split()[1] == status
            if status != b"101":
                await client.reader.read()


async def test_messages_before_the_end_of_the_handshake_are_dropped() -> None:
    async with listening(Socket()) as port, clients(port) as (client,):
        client.writer.write(HANDSHAKE + wire(PING) * 1_000)
        async with asyncio.timeout(60):
            await client.reader.readuntil(b"\r\n\r\n")
            client.writer.write(wire(PING))
            assert await client.reader.readexactly(2) == b"\x8a\x00"


async def test_a_handshake_before_the_response_to_an_earlier_request_ends_the_connection() -> None:
    app = Echo()
    app.held.clear()
    async with listening(app) as port, clients(port, 1, GET) as (client,):
        await app.serving.wait()
        client.writer.write(HANDSHAKE)
        assert await client.rest() == b""
        app.held.set()
