"""The connection pool with servers that misbehave on request."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import pytest
import uvloop

from dal.dynamodb import connection_pool
from dal.dynamodb.connection_pool import ConnectionPool
from server.local_engine.engine_process import free_port

Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]

REQUEST = b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 2\r\n\r\n{}"


@dataclass
class Server:
    """Sends the given replies in turn; each later reply is the number of the request."""

    replies: list[Reply] = field(default_factory=list)
    requests: int = 0
    replied: int = 0
    opened: int = 0
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while await reader.readexactly(len(REQUEST)):
                self.requests += 1
                await (self.replies.pop(0) if self.replies else self.count)(writer)
                self.replied += 1
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def count(self, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(str(self.requests)))

    async def done(self, replied: int) -> None:
        """Wait until ``replied`` replies have been sent and received."""
        async with asyncio.timeout(60):
            while self.replied < replied:  # noqa: ASYNC110 - polled
                await asyncio.sleep(0.001)
        await turns()


async def turns() -> None:
    """Let the event loop turn several times: in each turn it reads from all sockets."""
    for _ in range(10):
        await asyncio.sleep(0.002)


def reply(body: str, *headers: str) -> bytes:
    lines = "".join(f"{one}\r\n" for one in (f"Content-Length: {len(body)}", *headers))
    return f"HTTP/1.1 200 OK\r\n{lines}\r\n{body}".encode()


def saying(*parts: bytes) -> Reply:
    async def reply(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.001)

    return reply


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def reset(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    scripted = Server()
    async with await asyncio.start_server(scripted.serve, "127.0.0.1", 0) as listening:
        scripted.port = listening.sockets[0].getsockname()[1]
        yield scripted


@pytest.fixture
async def kept(server: Server) -> AsyncIterator[ConnectionPool]:
    opened = ConnectionPool("127.0.0.1", server.port)
    yield opened
    opened.close()


async def send(kept: ConnectionPool) -> str:
    answer = await kept.send(REQUEST)
    assert answer.status == 200
    return answer.body.decode()


async def test_a_connection_serves_one_request_after_the_other(
    server: Server, kept: ConnectionPool
) -> None:
    assert [await send(kept) for _ in range(5)] == ["1", "2", "3", "4", "5"]
    assert server.opened == 1


async def test_each_concurrent_request_has_its_own_connection(
    server: Server, kept: ConnectionPool
) -> None:
    assert set(await asyncio.gather(*(send(kept) for _ in range(5)))) == set("12345")
    assert server.opened == 5
    assert set(await asyncio.gather(*(send(kept) for _ in range(5)))) == {"6", "7", "8", "9", "10"}
    assert server.opened == 5


WHOLE = reply("text", "X-Amz-CRC32: 7")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nte\r\n2\r\nxt\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        (WHOLE,),
        (WHOLE[:9], WHOLE[9:30], WHOLE[30:-3], WHOLE[-3:]),
        (CHUNKED,),
        (CHUNKED[:-9], CHUNKED[-9:]),
        (b"HTTP/1.1 100 Continue\r\n\r\n", WHOLE),
    ],
)
async def test_a_response_may_arrive_in_parts(
    server: Server, kept: ConnectionPool, parts: tuple[bytes, ...]
) -> None:
    server.replies = [saying(*parts)]
    answer = await kept.send(REQUEST)
    assert answer.body == b"text"
    assert answer.checksum == (b"7" if b"CRC32" in b"".join(parts) else b"")
    assert await send(kept) == "2"
    assert server.opened == 1


@pytest.mark.parametrize("end", [close, reset])
async def test_a_closed_idle_connection_is_not_reused(
    server: Server, kept: ConnectionPool, end: Reply
) -> None:
    async def answer_and_end(writer: asyncio.StreamWriter) -> None:
        await server.count(writer)
        await writer.drain()
        await asyncio.sleep(0.01)
        await end(writer)

    server.replies = [answer_and_end]
    assert await send(kept) == "1"
    await server.done(1)
    assert await send(kept) == "2"
    assert server.opened == 2


@pytest.mark.parametrize("end", [close, reset])
async def test_a_request_lost_by_a_closed_connection_is_not_sent_again(
    server: Server, kept: ConnectionPool, end: Reply
) -> None:
    await send(kept)
    server.replies = [end]
    with pytest.raises(ConnectionError):
        await send(kept)
    assert server.requests == 2
    assert await send(kept) == "3"


BROKEN = {
    "half a body": WHOLE[:-2],
    "half a head": WHOLE[:20],
    "no HTTP": b"220 mail.example ESMTP\r\n",
    "a body without an end": b"HTTP/1.1 200 OK\r\n\r\ntext",
    "half of the chunks": CHUNKED[:-9],
}


@pytest.mark.parametrize("begun", BROKEN.values(), ids=BROKEN)
async def test_a_broken_response_is_an_error(
    server: Server, kept: ConnectionPool, begun: bytes
) -> None:
    async def break_off(writer: asyncio.StreamWriter) -> None:
        await saying(begun)(writer)
        writer.close()

    await send(kept)
    server.replies = [break_off]
    with pytest.raises(OSError, match="closed"):
        await send(kept)
    assert server.requests == 2
    assert await send(kept) == "3"


async def test_a_late_response_is_not_used_for_the_next_request(
    server: Server, kept: ConnectionPool
) -> None:
    come = asyncio.Event()

    async def late(writer: asyncio.StreamWriter) -> None:
        await come.wait()
        writer.write(reply("late"))

    await send(kept)
    server.replies = [late, late]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await send(kept)
    leaving = asyncio.create_task(send(kept))
    async with asyncio.timeout(60):
        while server.requests < 3:  # noqa: ASYNC110 - polled
            await asyncio.sleep(0.001)
    leaving.cancel()
    assert await send(kept) == "4"
    come.set()
    await turns()
    assert await send(kept) == "5"
    assert server.opened == 3


@pytest.mark.parametrize(
    "reply",
    [
        (reply("once") + reply("twice"),),
        (reply("once"), b"and more"),
        (reply("once", "Connection: close"),),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nonce",),
    ],
    ids=["a second answer", "more bytes", "Connection: close", "HTTP/1.0"],
)
async def test_a_connection_with_unexpected_bytes_is_not_reused(
    server: Server, kept: ConnectionPool, reply: tuple[bytes, ...]
) -> None:
    server.replies = [saying(*reply)]
    assert await send(kept) == "once"
    await server.done(1)
    assert await send(kept) == "2"
    assert server.opened == 2


async def test_a_connection_that_was_idle_for_a_long_time_is_not_reused(
    server: Server, kept: ConnectionPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send(kept)
    monkeypatch.setattr(connection_pool, "IDLE_SECONDS", 0)
    await send(kept)
    assert server.opened == 2


async def test_a_refused_connection_raises_an_oserror() -> None:
    with pytest.raises(ConnectionRefusedError):
        await ConnectionPool("127.0.0.1", free_port()).send(REQUEST)


# --- hosts with several addresses ---


@contextlib.contextmanager
def swallowing(host: str, port: int) -> Iterator[None]:
    """Listen with a full backlog: the system drops further packets that open a connection."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(socket.create_server((host, port), backlog=0))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((host, port))
        yield


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The addresses that every host name resolves to."""
    addresses: list[tuple[str, int]] = []
    tcp = socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, ""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(*tcp, to) for to in addresses])
    return addresses


async def test_an_address_that_drops_packets_is_skipped(
    server: Server, resolved: list[tuple[str, int]]
) -> None:
    resolved += [("127.0.0.2", server.port), ("127.0.0.1", server.port)]
    with swallowing("127.0.0.2", server.port):
        kept = ConnectionPool("dynamodb.example", server.port)
        assert await send(kept) == "1"
        kept.close()


async def test_uvloop_connects_too(server: Server) -> None:
    async def answered() -> str:
        kept = ConnectionPool("localhost", server.port)
        try:
            return await send(kept)
        finally:
            kept.close()

    def run() -> str:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(answered())

    assert await asyncio.to_thread(run) == "1"
