"""Connections that ask for nothing, slowly, or for too much, and their neighbours."""

import asyncio
import gc
import resource
import socket
import time
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from server.http import admission, connections
from server.http.connections import max_connections, raise_descriptor_limit
from server.settings import Settings
from tests.server.http.listening import GET, HEALTH, Client, Echo, clients, listening
from tests.server.serving import served

HALF_A_HEAD = b"POST /page HTTP/1.1\r\nHost: x\r\nContent-Le"
HALF_A_BODY = b"POST /page HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345"
CHUNKED = b"POST /page HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", HALF_A_HEAD, HALF_A_BODY])
async def test_requests_that_never_end_make_room_for_others(sent: bytes) -> None:
    async with (
        listening(Echo(), Settings(max_connections=20)) as port,
        clients(port, 300, sent),
        clients(port, 2) as (neighbour, probe),
    ):
        assert await neighbour.ask(GET) == (200, "/page:")
        assert (await probe.ask(HEALTH))[0] == 200


async def test_a_connection_that_makes_room_is_told_why() -> None:
    async with (
        listening(Echo(), Settings(max_connections=1)) as port,
        clients(port, 1, HALF_A_HEAD) as (first,),
    ):
        await asyncio.sleep(0.1)
        async with clients(port) as (second,):
            assert (await second.ask(GET))[0] == 200
        assert (await first.answer())[0] == 503
        assert "retry-after: 1" in first.head
        assert await first.rest() == b""


async def test_no_request_is_given_up_for_another() -> None:
    app = Echo()
    app.held.clear()
    async with (
        listening(app, Settings(max_connections=2)) as port,
        clients(port, 2, GET) as running,
    ):
        await app.serving.wait()
        await asyncio.sleep(0.1)
        async with clients(port, 2) as (more, probe):
            status, text = await more.ask(GET)
            assert status == 503
            assert "retry-after: 1" in more.head
            assert '"UNAVAILABLE"' in text
            assert await more.rest() == b""
            assert (await probe.ask(HEALTH))[0] == 200
        async with clients(port, 100) as many:
            await closed(many, 100 - connections._SURPLUS)
        app.held.set()
        assert [(await client.answer())[0] for client in running] == [200, 200]


async def closed(opened: list[Client], count: int) -> None:
    """Wait until the server has closed so many connections, unasked."""
    waiting = {asyncio.create_task(client.rest()) for client in opened}
    try:
        async with asyncio.timeout(60):
            while len(opened) - len(waiting) < count:
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_what_does_not_arrive_in_time_is_ended() -> None:
    settings = Settings(request_timeout=1, keep_alive=1)
    async with listening(Echo(), settings) as port, clients(port, 4) as opened:
        silent, head, body, idle = opened
        begun = time.monotonic()
        head.writer.write(HALF_A_HEAD)
        body.writer.write(HALF_A_BODY)
        assert (await idle.ask(GET))[0] == 200
        assert [await silent.rest(), await idle.rest()] == [b"", b""]
        for client in (head, body):
            status, text = await client.answer()
            assert status == 408
            assert "connection: close" in client.head
            assert '"BAD_REQUEST"' in text
            assert await client.rest() == b""
        assert time.monotonic() - begun > 0.9


async def test_a_slow_request_that_arrives_in_time_is_served() -> None:
    async with listening(Echo()) as port, clients(port) as (client,):
        for byte in HALF_A_BODY:
            client.writer.write(bytes([byte]))
            await asyncio.sleep(0)
        assert await client.ask(b"67890") == (200, "/page:1234567890")


async def test_requests_on_one_connection_are_answered_in_turn() -> None:
    whole = b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
    async with listening(Echo()) as port, clients(port) as (client,):
        client.writer.write(b"".join(whole % i for i in range(5)) + whole[:-1] % 5)
        for i in range(5):
            assert await client.answer() == (200, f"/{i}:ab")
        assert await client.ask(b"b") == (200, "/5:ab")


async def test_a_client_that_asks_whether_to_send_is_told_to() -> None:
    head, _, body = HALF_A_BODY.partition(b"\r\n\r\n")
    async with listening(Echo()) as port, clients(port) as (client,):
        client.writer.write(head + b"\r\nExpect: 100-continue\r\n\r\n")
        async with asyncio.timeout(60):
            told = await client.reader.readuntil(b"\r\n\r\n")
        assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert await client.ask(body + b"67890") == (200, "/page:1234567890")


@pytest.mark.parametrize(
    ("start", "more", "status"),
    [
        (b"GET / HTTP/1.1\r\n", b"X-Header: " + b"a" * 10_000 + b"\r\n", 431),
        (CHUNKED, b"1\r\na\r\n" * 1_000, 413),
        (CHUNKED + b"0\r\n", b"X-Trailer: " + b"a" * 10_000 + b"\r\n", 413),
    ],
)
async def test_what_is_too_large_is_read_no_further(
    start: bytes, more: bytes, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_MAX_RECEIVED", 200_000)
    async with listening(Echo()) as port, clients(port, 1, start) as (client,):
        answer = asyncio.create_task(client.answer())
        with suppress(ConnectionError):
            for _ in range(300):
                client.writer.write(more)
                await client.writer.drain()
        assert (await answer)[0] == status


async def test_no_answer_overtakes_an_earlier_one() -> None:
    """The second request of a pipeline is refused while the first runs: all there is left to do is
    to close.
    """
    app = Echo()
    app.held.clear()
    async with listening(app) as port, clients(port, 1, GET) as (client,):
        await app.serving.wait()
        client.writer.write(b"GET / HTTP/1.1\r\nX-Header: " + b"a" * 100_000)
        assert await client.rest() == b""
        app.held.set()


async def test_bodies_that_arrive_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_MAX_BODIES", 1_000)
    async with listening(Echo()) as port, clients(port, 3) as (first, second, third):
        first.writer.write(HALF_A_BODY.replace(b"10", b"900") + b"a" * 890)
        await asyncio.sleep(0.05)
        second.writer.write(HALF_A_BODY.replace(b"10", b"900") + b"a" * 890)
        assert (await second.answer())[0] == 503
        assert await third.ask(HALF_A_BODY + b"67890") == (200, "/page:1234567890")
        status, text = await first.ask(b"a" * 5)
        assert (status, len(text)) == (200, 106)


async def test_bodies_that_wait_for_their_turn_are_bounded_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "_MAX_BODIES", 1_000)
    monkeypatch.setattr(admission, "MOST_WAITING", 1)
    app = Echo()
    app.held.clear()
    post = HALF_A_BODY.replace(b"10", b"900") + b"a" * 895
    async with (
        listening(app, Settings(max_concurrency=1)) as port,
        clients(port, 1, GET) as (busy,),
        clients(port, 3) as (first, second, probe),
    ):
        await app.serving.wait()
        first.writer.write(post)
        await asyncio.sleep(0.05)
        assert (await second.ask(post))[0] == 503
        assert (await probe.ask(HEALTH))[0] == 200
        app.held.set()
        assert (await busy.answer())[0] == 200
        assert (await first.answer())[0] == 200
        assert (await second.ask(post))[0] == 200


async def test_nothing_is_read_after_an_answer_that_came_early() -> None:
    head = b"POST /page HTTP/1.1\r\nHost: x\r\nContent-Length: 400000000\r\n\r\n"
    sent = 0
    async with listening(Echo()) as port, clients(port, 1, head) as (client,):
        answer = asyncio.create_task(client.answer())
        with suppress(ConnectionError):
            for _ in range(1_000):
                client.writer.write(b" " * 100_000)
                await client.writer.drain()
                sent += 100_000
        assert (await answer)[0] == 200
    assert 1_000_000 < sent < 30_000_000


async def test_the_end_waits_for_no_request_that_has_not_arrived() -> None:
    async with AsyncExitStack() as stack:
        async with listening(Echo()) as port:
            (slow,) = await stack.enter_async_context(clients(port, 1, HALF_A_BODY))
            (idle,) = await stack.enter_async_context(clients(port))
            assert (await idle.ask(GET))[0] == 200
            begun = time.monotonic()
        assert time.monotonic() - begun < 5  # where requests that run have ten
        assert await slow.rest() == b""


async def test_a_client_may_offer_to_speak_another_protocol() -> None:
    """Java's client offers HTTP/2 with the first request of a connection."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    request = b"POST /page HTTP/1.1\r\nHost: x\r\n%bContent-Length: 3\r\n\r\nabc"
    async with listening(Echo()) as port, clients(port) as (client,):
        assert await client.ask(request % offer) == (200, "/page:abc")
        assert await client.ask(request % b"") == (200, "/page:abc")


def test_descriptors_are_raised_as_far_as_is_allowed_and_of_use() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
        assert raise_descriptor_limit() == min(hard, 65_536)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(hard, 65_536), hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(("descriptors", "most"), [(65_536, 65_280), (1_024, 768), (256, 128)])
def test_some_descriptors_are_left_for_the_store(descriptors: int, most: int) -> None:
    assert max_connections(descriptors) == most


async def test_clients_wait_while_the_system_has_no_descriptor() -> None:
    loop = asyncio.get_running_loop()
    async with listening(Echo()) as port, clients(port) as (client,):
        assert (await client.ask(GET))[0] == 200
        gc.collect()  # what others left open would leave a descriptor free when it is closed
        with socket.socket() as late:
            late.setblocking(False)
            limits = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (late.fileno() + 1, limits[1]))
            try:
                await loop.sock_connect(late, ("127.0.0.1", port))
                await loop.sock_sendall(late, GET)
                assert (await client.ask(GET))[0] == 200
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(loop.sock_recv(late, 100), 0.2)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            answer = await asyncio.wait_for(loop.sock_recv(late, 100), 30)
            assert answer.startswith(b"HTTP/1.1 200 ")


def test_many_connections_neither_block_the_server_nor_fill_its_log(tmp_path: Path) -> None:
    """A shell's soft limit is often 1,024, a service's 256; and one day the hard one is reached."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    with ExitStack() as stack:
        try:
            server = stack.enter_context(served(tmp_path))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        crowd(stack, server.url, 300)
        assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200
        process = psutil.Process(server.process.pid)
        process.rlimit(resource.RLIMIT_NOFILE, (process.num_fds() + 10, hard))
        refused = stack.enter_context(ExitStack())
        crowd(refused, server.url, 100)
        time.sleep(0.3)
        refused.close()
        assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200
        assert server.end() == (0, "")


def crowd(stack: ExitStack, url: str, count: int) -> None:
    """Open connections that send half a request."""
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None
    for _ in range(count):
        connection = socket.create_connection((address.hostname, address.port), timeout=60)
        stack.enter_context(connection).sendall(HALF_A_HEAD)
