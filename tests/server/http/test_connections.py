"""Connections that send nothing, too slowly or too much, and other connections meanwhile."""

import asyncio
import errno
import gc
import logging
import resource
import socket
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
import uvloop
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server import serving
from server.http import admission, connections
from server.http.connections import (
    MAX_HEADERS,
    MAX_PIPELINED,
    Connection,
    ResponseTransport,
    max_connections,
    raise_descriptor_limit,
)
from server.settings import Settings
from tests.server.http.listening import (
    GET,
    HANDSHAKE,
    HEALTH,
    Client,
    Echo,
    clients,
    listening,
    taken,
)
from tests.server.serving import served

HALF_A_HEAD = b"POST /page HTTP/1.1\r\nHost: x\r\nContent-Le"
HALF_A_BODY = b"POST /page HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345"
WITHOUT_LENGTH = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
WITH_LENGTH = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n"
CHUNKED = b"POST /page HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", HALF_A_HEAD, HALF_A_BODY])
async def test_connections_with_incomplete_requests_are_closed_for_new_ones(sent: bytes) -> None:
    async with (
        listening(Echo(), Settings(max_connections=20)) as port,
        clients(port, 300, sent),
        clients(port, 2) as (neighbour, probe),
    ):
        assert await neighbour.ask(GET) == (200, "/page:")
        assert (await probe.ask(HEALTH))[0] == 200


async def test_a_connection_that_is_closed_for_a_new_one_receives_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, receive = asyncio.Event(), Connection.data_received

    def noting(self: Connection, data: bytes) -> None:
        receive(self, data)
        read.set()

    monkeypatch.setattr(Connection, "data_received", noting)
    async with (
        listening(Echo(), Settings(max_connections=1)) as port,
        clients(port, 1, HALF_A_HEAD) as (first,),
    ):
        await read.wait()
        async with clients(port) as (second,):
            assert (await second.ask(GET))[0] == 200
        assert (await first.answer())[0] == 503
        assert "retry-after: 1" in first.head
        assert await first.rest() == b""


async def test_no_connection_with_a_running_request_is_closed_for_a_new_one() -> None:
    app = Echo()
    app.held.clear()
    async with (
        listening(app, Settings(max_connections=2)) as port,
        clients(port, 2, GET) as running,
    ):
        async with asyncio.timeout(60):
            while app.served < 2:  # noqa: ASYNC110 - polled
                await asyncio.sleep(0.001)
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
    """Wait until the server has closed ``count`` of these connections."""
    waiting = {asyncio.create_task(client.rest()) for client in opened}
    try:
        async with asyncio.timeout(60):
            while len(opened) - len(waiting) < count:
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_request_that_does_not_arrive_in_time_is_refused() -> None:
    settings = Settings(request_timeout=1, keep_alive=1)
    async with listening(Echo(), settings) as port, clients(port, 4) as opened:
        silent, head, body, idle = opened
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


async def test_a_connection_is_idle_from_its_last_response_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timers: list[Callable[[], None]] = []
    monkeypatch.setattr(
        Connection, "_watch_idleness", lambda self, _: timers.append(self._end_idleness)
    )
    async with listening(Echo(), Settings(keep_alive=60)) as port, clients(port) as (client,):
        for _ in range(3):  # the timer of the first response ends after the second one
            assert (await client.ask(GET))[0] == 200
            timers.pop(0)()
        assert timers


async def test_a_slow_request_that_is_complete_in_time_is_served() -> None:
    async with listening(Echo()) as port, clients(port) as (client,):
        for byte in HALF_A_BODY:
            client.writer.write(bytes([byte]))
            await asyncio.sleep(0)
        assert await client.ask(b"67890") == (200, "/page:1234567890")


@pytest.mark.parametrize(
    ("writes", "sent"),
    [
        ([WITH_LENGTH, b"one", b"two"], [WITH_LENGTH + b"one", b"two"]),
        ([WITHOUT_LENGTH, WITH_LENGTH], [WITHOUT_LENGTH, WITH_LENGTH]),  # the second is the body
        ([WITH_LENGTH], [WITH_LENGTH]),  # the application fails after the head
    ],
)
def test_a_head_is_sent_with_its_body_unless_the_body_may_begin_much_later(
    writes: list[bytes], sent: list[bytes]
) -> None:
    transport = mock.create_autospec(asyncio.Transport)
    response = ResponseTransport(transport)
    for data in writes:
        response.write(data)
    response.close()
    assert [call.args[0] for call in transport.write.call_args_list if call.args[0]] == sent
    assert transport.mock_calls[-1] == mock.call.close()


async def test_requests_on_one_connection_are_answered_in_order() -> None:
    whole = b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
    async with listening(Echo()) as port, clients(port) as (client,):
        client.writer.write(b"".join(whole % i for i in range(5)) + whole[:-1] % 5)
        for i in range(5):
            assert await client.answer() == (200, f"/{i}:ab")
        assert await client.ask(b"b") == (200, "/5:ab")


@pytest.mark.parametrize("behind", [b"", GET, GET[:20]], ids=["alone", "a request", "a part"])
async def test_a_running_request_notices_that_its_client_has_left(behind: bytes) -> None:
    noticed = asyncio.get_running_loop().create_future()

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        await receive()
        client.writer.close()
        noticed.set_result(await receive())

    async with listening(app) as port, clients(port) as (client,):
        client.writer.write(GET + behind)
        async with asyncio.timeout(60):
            assert await noticed == {"type": "http.disconnect"}


@pytest.mark.parametrize("earlier", [b"", GET], ids=["first", "behind another request"])
async def test_a_client_that_expects_100_is_told_to_send_its_body(earlier: bytes) -> None:
    head, _, body = HALF_A_BODY.partition(b"\r\n\r\n")
    async with listening(Echo()) as port, clients(port) as (client,):
        client.writer.write(earlier + head + b"\r\nExpect: 100-continue\r\n\r\n")
        if earlier:
            assert await client.answer() == (200, "/page:")
        async with asyncio.timeout(60):
            told = await client.reader.readuntil(b"\r\n\r\n")
        assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert await client.ask(body + b"67890") == (200, "/page:1234567890")


@pytest.mark.parametrize(
    ("start", "more", "status"),
    [
        (b"GET / HTTP/1.1\r\n", b"X-Header: " + b"a" * 10_000 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\n", b"a:\r\n" * 1_000, 431),
        (CHUNKED, b"1\r\na\r\n" * 1_000, 413),
        (CHUNKED, b"1;" + b"a" * 10_000 + b"\r\na\r\n", 413),
        (CHUNKED + b"0\r\n", b"X-Trailer: " + b"a" * 10_000 + b"\r\n", 413),
        (CHUNKED + b"0\r\nX-Trailer:", b"a" * 10_000, 413),
        (CHUNKED + b"0\r\n", b"a:\r\n" * 1_000, 431),
    ],
)
async def test_the_rest_of_a_too_large_request_is_not_read(
    start: bytes, more: bytes, status: int
) -> None:
    async with listening(Echo()) as port, clients(port, 1, start) as (client,):
        answer = asyncio.create_task(client.answer())
        with suppress(ConnectionError):
            for _ in range(150):
                client.writer.write(more)
                await client.writer.drain()
        assert (await answer)[0] == status


@pytest.mark.parametrize("piece", [1_000, 100_000])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"X: " + b"a" * 60_000 + b"\r\n", 200),
        (b"X: " + b"a" * 70_000 + b"\r\n", 431),
        (b"X:" + b" " * 70_000 + b"a\r\n", 431),
        (b"X: a\r\n" * (MAX_HEADERS - 1), 200),
        (b"X: a\r\n" * MAX_HEADERS, 431),
    ],
)
async def test_the_limit_of_a_head_applies_to_one_read_and_to_many(
    headers: bytes, status: int, piece: int
) -> None:
    request = b"GET /page HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n"
    async with listening(Echo()) as port, clients(port) as (client,):
        answer = asyncio.create_task(client.answer())
        with suppress(ConnectionError):
            for start in range(0, len(request), piece):
                client.writer.write(request[start : start + piece])
                await client.writer.drain()
                await asyncio.sleep(0)
        assert (await answer)[0] == status


async def test_trailers_are_dropped() -> None:
    app = Echo()
    trailers = b"Authorization: Bearer x\r\nX-Forwarded-For: 192.0.2.1\r\n"
    async with listening(app) as port, clients(port) as (client,):
        body = b"3\r\nabc\r\n0\r\n" + trailers + b"\r\n"
        assert await client.ask(CHUNKED + body) == (200, "/page:abc")
        assert app.headers == [(b"host", b"x"), (b"transfer-encoding", b"chunked")]
        assert await client.ask(GET) == (200, "/page:")


BODY = b"1\r\na\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 200),
        (b"GET / HTTP/0.9\r\n\r\n", 505),
        (b"GET /\r\n\r\n", 505),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        (CHUNKED.replace(b"1.1", b"1.0") + BODY, 400),
        (CHUNKED.replace(b"Host", b"Content-Length: 3\r\nHost") + BODY, 400),
        (CHUNKED.replace(b"chunked", b"chunked\r\nContent-Length: 3") + BODY, 400),
        (CHUNKED.replace(b"chunked", b"chunked\r\nTransfer-Encoding: chunked") + BODY, 400),
        (CHUNKED.replace(b"chunked", b"gzip") + BODY, 400),
        (HALF_A_BODY.replace(b"Host", b"Content-Length: 2\r\nHost"), 400),
        (b"GET / HTTP/1.1\nHost: x\n\n", 400),
        (b"\x16\x03\x01", 400),
    ],
)
async def test_an_ambiguous_head_is_refused(sent: bytes, status: int) -> None:
    async with listening(Echo()) as port, clients(port) as (client,):
        answered, text = await client.ask(sent)
        assert (answered, '"BAD_REQUEST"' in text) == (status, status != 200)
        assert await client.rest() == b""


async def test_the_body_of_an_upgrade_request_in_two_reads_is_not_parsed_as_a_request() -> None:
    """httptools stops parsing after the head of a request that asks for another protocol."""
    app = Echo()
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n"
    async with listening(app) as port, clients(port, 1, head) as (client,):
        async with clients(port) as (other,):
            assert (await other.ask(HEALTH))[0] == 200  # then the server has read the first part
        client.writer.write(b"Content-Length: %d\r\n\r\n" % len(GET))
        assert (await client.answer())[0] == 400
        assert await client.rest() == b""
    assert app.served == 0


@pytest.mark.parametrize("sent", [b"no HTTP", b"GET / HTTP/1.1\r\nX-Header: " + b"a" * 100_000])
async def test_no_refusal_is_sent_before_an_earlier_response(sent: bytes) -> None:
    """The first request still runs, so the server can only close the connection."""
    app = Echo()
    app.held.clear()
    async with listening(app) as port, clients(port, 1, GET) as (client,):
        await app.serving.wait()
        client.writer.write(sent)
        assert await client.rest() == b""
        app.held.set()


async def test_the_number_of_waiting_requests_of_a_connection_is_limited() -> None:
    app = Echo()
    app.held.clear()
    async with listening(app) as port, clients(port, 2, GET) as (some, many):
        await app.serving.wait()
        some.writer.write(GET * MAX_PIPELINED)
        many.writer.write(GET * (MAX_PIPELINED + 1))
        assert await many.rest() == b""
        app.held.set()
        for _ in range(MAX_PIPELINED + 1):
            assert (await some.answer())[0] == 200


async def test_the_body_of_a_waiting_request_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = Echo()
    app.held.clear()
    received: list[int] = []
    receive = Connection.data_received

    def counting(self: Connection, data: bytes) -> None:
        received.append(len(data))
        receive(self, data)

    monkeypatch.setattr(Connection, "data_received", counting)
    post = HALF_A_BODY.replace(b"10", b"900000") + b"a" * 899_995
    async with (
        listening(app) as port,
        clients(port, 1, GET) as (client,),
        clients(port) as (probe,),
    ):
        await app.serving.wait()
        client.writer.write(post)
        for _ in range(20):
            assert (await probe.ask(HEALTH))[0] == 200
        assert sum(received) < 600_000
        app.held.set()
        assert await client.answer() == (200, "/page:")
        assert (await client.answer())[0] == 200


async def test_a_client_that_does_not_read_its_response_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "SEND_TIMEOUT", 0.2)
    lost = asyncio.Event()
    lose = Connection.connection_lost

    def losing(self: Connection, exc: Exception | None) -> None:
        lose(self, exc)
        lost.set()

    monkeypatch.setattr(Connection, "connection_lost", losing)
    async with listening(_large_answer) as port, clients(port, 1, GET) as (client,):
        transport = client.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        async with asyncio.timeout(30):
            await lost.wait()
    assert lost.is_set()


async def _large_answer(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await Response(b"a" * 50_000_000)(scope, receive, send)


async def test_bodies_that_arrive_have_a_common_maximum_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "MAX_BODIES", 1_000)
    async with listening(Echo()) as port, clients(port, 3) as (first, second, third):
        first.writer.write(HALF_A_BODY.replace(b"10", b"900") + b"a" * 890)
        await taken(port)
        second.writer.write(HALF_A_BODY.replace(b"10", b"900") + b"a" * 890)
        assert (await second.answer())[0] == 503
        assert await third.ask(HALF_A_BODY + b"67890") == (200, "/page:1234567890")
        status, text = await first.ask(b"a" * 5)
        assert (status, len(text)) == (200, 106)


async def test_bodies_of_waiting_requests_count_for_the_common_maximum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "MAX_BODIES", 1_000)
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
        await taken(port)
        assert (await second.ask(post))[0] == 503
        assert (await probe.ask(HEALTH))[0] == 200
        app.held.set()
        assert (await busy.answer())[0] == 200
        assert (await first.answer())[0] == 200
        assert (await second.ask(post))[0] == 200


async def test_nothing_is_read_after_a_response_that_was_sent_before_the_body() -> None:
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


async def test_a_stop_does_not_wait_for_incomplete_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "GRACE", 3600)  # the seconds that a running request would have
    async with AsyncExitStack() as stack:
        async with listening(Echo()) as port:
            (slow,) = await stack.enter_async_context(clients(port, 1, HALF_A_BODY))
            (idle,) = await stack.enter_async_context(clients(port))
            assert (await idle.ask(GET))[0] == 200
        assert await slow.rest() == b""


async def test_a_request_that_begins_while_the_server_stops_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request of which the first bytes have arrived is answered too."""
    monkeypatch.setattr(connections, "_LAST_CALL", 0.3)
    ended, last_call = asyncio.Event(), asyncio.Event()
    end, close_soon = Connection.shutdown, Connection._close_soon

    def ending_seen(self: Connection) -> None:
        end(self)
        ended.set()

    def last_call_seen(self: Connection) -> None:
        close_soon(self)
        last_call.set()

    monkeypatch.setattr(Connection, "shutdown", ending_seen)
    monkeypatch.setattr(Connection, "_close_soon", last_call_seen)
    async with AsyncExitStack() as serving, AsyncExitStack() as stack:
        port = await serving.enter_async_context(listening(Echo()))
        one, other = await stack.enter_async_context(clients(port, 2))
        for client in (one, other):
            assert (await client.ask(GET))[0] == 200
        ending = asyncio.create_task(serving.aclose())
        await ended.wait()
        # More time for the rest of the other request.
        monkeypatch.setattr(connections, "_LAST_CALL", 30)
        other.writer.write(GET[:-2])
        assert (await one.ask(GET))[0] == 200
        assert "connection: close" in one.head
        assert await one.rest() == b""
        await last_call.wait()
        assert (await other.ask(GET[-2:]))[0] == 200
        assert "connection: close" in other.head
        await ending


def test_a_request_that_arrived_while_the_processor_was_busy_is_answered_before_the_server_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """uvloop runs its timers before it reads from sockets."""
    monkeypatch.setattr(connections, "_LAST_CALL", 0.1)
    end, receive = Connection.shutdown, Connection.data_received

    async def ask_late() -> bytes:
        loop, ended, sent = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

        def ending_seen(connection: Connection) -> None:
            end(connection)
            ended.set()

        monkeypatch.setattr(Connection, "shutdown", ending_seen)
        with socket.socket() as client, socket.socket() as other:

            def busy(connection: Connection, data: bytes) -> None:
                receive(connection, data)
                if ended.is_set() and not sent.is_set():
                    sent.set()
                    client.send(GET)
                    time.sleep(0.3)

            monkeypatch.setattr(Connection, "data_received", busy)
            async with AsyncExitStack() as stack:
                port = await stack.enter_async_context(listening(Echo()))
                for one in (client, other):
                    one.setblocking(False)
                    await loop.sock_connect(one, ("127.0.0.1", port))
                    await loop.sock_sendall(one, GET)
                    assert (await loop.sock_recv(one, 1_000)).endswith(b"/page:")
                ending = asyncio.create_task(stack.aclose())
                await ended.wait()
                other.send(GET)
                answer = await loop.sock_recv(client, 1_000)
                await ending
        assert sent.is_set()
        return answer

    assert uvloop.run(ask_late()).endswith(b"/page:")


async def test_an_upgrade_to_another_protocol_is_ignored() -> None:
    """Java's HTTP client offers HTTP/2 in the first request of each connection."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    request = b"POST /page HTTP/1.1\r\nHost: x\r\n%bContent-Length: 3\r\n\r\nabc"
    async with listening(Echo()) as port, clients(port) as (client,):
        assert await client.ask(request % offer) == (200, "/page:abc")
        assert await client.ask(request % b"") == (200, "/page:abc")


async def test_without_subscriptions_the_offer_of_a_websocket_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = {"http": connections.Connection, "ws": "none"}
    monkeypatch.setattr(serving, "PROTOCOLS", core)
    async with listening(Echo()) as port, clients(port) as (client,):
        assert await client.ask(HANDSHAKE) == (200, "/socket:")
        assert await client.ask(GET) == (200, "/page:")


def test_the_limit_of_descriptors_is_raised_to_what_the_server_needs() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
        assert raise_descriptor_limit() == min(hard, 65_536)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(hard, 65_536), hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("limits", "allowed", "refusal", "raised"),
    [
        ((256, resource.RLIM_INFINITY), 24_576, ValueError(), 16_384),  # a Mac
        ((256, resource.RLIM_INFINITY), 61_440, OSError(errno.EINVAL, "Invalid argument"), 32_768),
        ((1_024, 524_288), 0, PermissionError(errno.EPERM, "Not permitted"), 1_024),
        ((1_024, 4_096), 4_096, ValueError(), 4_096),
        ((1_024, 1_024), 0, ValueError(), 1_024),
        ((1_000_000, 1_000_000), 0, ValueError(), 65_536),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 0, ValueError(), 65_536),
    ],
)
def test_a_system_may_refuse_a_higher_limit_of_descriptors(
    monkeypatch: pytest.MonkeyPatch,
    limits: tuple[int, int],
    allowed: int,
    refusal: Exception,
    raised: int,
) -> None:
    def setrlimit(_: int, wanted: tuple[int, int]) -> None:
        assert wanted[1] == limits[1]
        if wanted[0] > allowed:
            raise refusal

    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    assert raise_descriptor_limit() == raised


@pytest.mark.parametrize(("descriptors", "most"), [(65_536, 65_280), (1_024, 768), (256, 128)])
def test_some_descriptors_are_left_for_the_store(descriptors: int, most: int) -> None:
    assert max_connections(descriptors) == most


async def test_clients_wait_while_the_system_has_no_free_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # By default, asyncio tries 2,048 times and logs each failure.
    monkeypatch.setattr(serving, "LISTENERS", 1)
    monkeypatch.setattr(logging.getLogger("asyncio"), "disabled", True)
    loop = asyncio.get_running_loop()
    async with listening(Echo()) as port, clients(port) as (client,):
        assert (await client.ask(GET))[0] == 200
        gc.collect()  # otherwise the collection could close a descriptor of an earlier test later
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
    """The soft limit of descriptors is often 1,024 in a shell and 256 in a service."""
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
    """Open ``count`` connections, each with half a request."""
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None
    for _ in range(count):
        connection = socket.create_connection((address.hostname, address.port), timeout=60)
        stack.enter_context(connection).sendall(HALF_A_HEAD)
