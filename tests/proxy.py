"""A proxy in front of an engine, which can disturb requests and responses."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson
from aiohttp import ClientSession, web

from dal.dynamodb.table import Table, TableAddress, connect

Spoil = Callable[[bytes], bytes]
Forward = Callable[[], Awaitable[web.Response]]
"""Sends the request to the engine, and returns the engine's response."""

Fault = Callable[[web.Request, Forward], Awaitable[web.StreamResponse]]
Choose = Callable[[str, bytes], Fault | None]
"""Returns the fault for a request with this operation and body, or None."""


_READS = {"Query", "GetItem", "BatchGetItem", "DescribeTable"}
JSON = "application/x-amz-json-1.0"


def nothing(_operation: str, _body: bytes) -> None:
    """Disturb no request."""


@dataclass
class Proxy:
    """Sends requests to ``engine``.

    ``choose`` chooses the fault of each, ``spoils`` change responses.
    """

    engine: str
    session: ClientSession
    url: str = ""
    spoils: dict[str, list[Spoil]] = field(default_factory=dict)
    choose: Choose = nothing
    seen: list[tuple[str, bytes]] = field(default_factory=list)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        operation = request.headers["X-Amz-Target"].rpartition(".")[2]
        self.seen.append((operation, body))
        async with self.arrived:
            self.arrived.notify_all()
        fault = self.choose(operation, body)

        async def forward() -> web.Response:
            return await self._forward(operation, request, body)

        return await (forward() if fault is None else fault(request, forward))

    async def _forward(self, operation: str, request: web.Request, body: bytes) -> web.Response:
        dropped = {"Host", "Content-Length", "Connection"}
        headers = {name: one for name, one in request.headers.items() if name not in dropped}
        async with self.session.post(self.engine, data=body, headers=headers) as answer:
            told, status = await answer.read(), answer.status
        checksum = {"x-amz-crc32": str(zlib.crc32(told))}
        spoil = self.spoils.get(operation, [])
        if status == 200 and spoil:
            told = spoil.pop(0)(told)
        return web.Response(body=told, status=status, headers=checksum, content_type=JSON)

    def pass_all(self) -> None:
        """Stop disturbing requests, and forget the recorded requests."""
        self.choose = nothing
        self.seen.clear()

    async def arrival(self, operation: str) -> None:
        """Wait until a request for an operation has arrived."""
        async with asyncio.timeout(60), self.arrived:
            await self.arrived.wait_for(lambda: self.asked(operation))

    def asked(self, operation: str) -> list[bytes]:
        """Return the bodies of the requests for an operation so far."""
        return [body for name, body in self.seen if name == operation]


@asynccontextmanager
async def proxy_of(engine: str) -> AsyncIterator[Proxy]:
    """Run a proxy on a free port of this machine."""
    app = web.Application(client_max_size=0)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    async with ClientSession(auto_decompress=False) as session:
        proxy = Proxy(engine, session)
        app.router.add_post("/", proxy.pass_on)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield proxy
        finally:
            await runner.cleanup()


@asynccontextmanager
async def through_proxy(table: Table) -> AsyncIterator[tuple[Table, Proxy]]:
    """Open a table whose client sends its requests through a proxy."""
    async with (
        proxy_of(table.service.endpoint_url) as proxy,
        connect(TableAddress(table.name, proxy.url, embedded=True)) as beyond,
    ):
        yield beyond, proxy


class LateNetwork:
    """Loses the first attempt at each write, and delivers it later."""

    def __init__(self) -> None:
        self.retried: Fault | None = None
        """The fault of all retries."""
        self._late: list[Forward] = []
        self._seen: set[bytes] = set()

    def choose(self, operation: str, body: bytes) -> Fault | None:
        if operation in _READS:
            return None
        if body in self._seen:
            return self.retried
        self._seen.add(body)
        return self._lose

    async def _lose(self, request: web.Request, forward: Forward) -> web.StreamResponse:
        self._late.append(forward)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def deliver(self) -> int:
        """Deliver the lost requests. Return their number."""
        for forward in self._late:
            await forward()
        return len(self._late)


def always(fault: Fault) -> Choose:
    """Return a function that returns ``fault`` for every request."""
    return lambda _operation, _body: fault


def in_turn(operation: str, faults: Iterable[Fault]) -> Choose:
    """Return a function that returns ``faults`` in turn for requests of an operation."""
    left = iter(faults)
    return lambda asked, _: next(left, None) if asked == operation else None


# --- faults ---


def refuse(status: int, code: str, **more: object) -> Fault:
    """Return a fault that responds with an error of DynamoDB. The engine gets no request."""
    return answer(status, error_body(code, **more))


def error_body(code: str, **more: object) -> bytes:
    """Return the body of an error of DynamoDB."""
    told = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": f"{code}.", **more}
    return orjson.dumps(told)


def answer(status: int, body: bytes, content_type: str = JSON, **headers: str) -> Fault:
    """Return a fault that responds with ``body``. The engine gets no request."""

    async def fault(request: web.Request, forward: Forward) -> web.StreamResponse:
        return web.Response(body=body, status=status, content_type=content_type, headers=headers)

    return fault


async def reset_before(request: web.Request, forward: Forward) -> web.StreamResponse:
    """Close the connection. The engine gets no request."""
    return _reset(request)


async def reset_after(request: web.Request, forward: Forward) -> web.StreamResponse:
    """Close the connection after the engine has executed the operation."""
    await forward()
    return _reset(request)


async def half(request: web.Request, forward: Forward) -> web.StreamResponse:
    """Close the connection in the middle of the response."""
    whole = await forward()
    told = whole.body
    assert isinstance(told, bytes)
    begun = web.StreamResponse(status=whole.status, headers={"Content-Length": str(len(told))})
    await begun.prepare(request)
    await begun.write(told[: len(told) // 2])
    return _reset(request)


async def hang(request: web.Request, forward: Forward) -> web.StreamResponse:
    """Never respond. The engine gets no request."""
    await asyncio.Event().wait()
    raise AssertionError


async def lose(request: web.Request, forward: Forward) -> web.StreamResponse:
    """Never respond, although the engine executes the operation."""
    await forward()
    return await hang(request, forward)


def slow(seconds: float) -> Fault:
    """Return a fault that sends the request to the engine after a delay."""

    async def fault(request: web.Request, forward: Forward) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await forward()

    return fault


def held(until: asyncio.Event) -> Fault:
    """Return a fault that executes the operation, and responds once ``until`` is set."""

    async def fault(request: web.Request, forward: Forward) -> web.StreamResponse:
        done = await forward()
        await until.wait()
        return done

    return fault


def late(seconds: float) -> Fault:
    """Return a fault that executes the operation, and responds after a delay."""

    async def fault(request: web.Request, forward: Forward) -> web.StreamResponse:
        done = await forward()
        await asyncio.sleep(seconds)
        return done

    return fault


def spoilt(body: bytes) -> Fault:
    """Return a fault that executes the operation, and responds with status 200 and ``body``."""

    async def fault(request: web.Request, forward: Forward) -> web.StreamResponse:
        await forward()
        return web.Response(body=body)

    return fault


def _reset(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
