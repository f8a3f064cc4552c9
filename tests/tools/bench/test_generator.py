"""The load generator against a server with known responses."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tools.bench.speed import measurement
from tools.bench.speed.generator import Answer, ask, fetch, request
from tools.bench.speed.loads import Load, PageAsked
from tools.bench.speed.measurement import Script, Subject, measure

PAGE = b'{"data":{"product":null}}'


@asynccontextmanager
async def answering(answer: Callable[[int], bytes]) -> AsyncIterator[str]:
    """Run a server that responds to its n-th request with ``answer(n)``. Yield its URL."""
    count = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                count += 1
                writer.write(answer(count))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def of(body: bytes, *, status: int = 200, more: str = "") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


class Asking:
    def __init__(self, url: str, count: int) -> None:
        self.left, self.request = iter(range(count)), request(url, "/")
        self.answers: dict[int, Answer] = {}

    def next(self) -> tuple[int, bytes] | None:
        return next(((number, self.request) for number in self.left), None)

    def note(self, number: int, answer: Answer) -> None:
        self.answers[number] = answer


def script(url: str) -> Script:
    load = Load("first", "First page", [PageAsked("p1")])
    return Script(url, load, [request(url, "/")], [hash(PAGE)])


async def test_each_request_receives_its_response_although_connections_close() -> None:
    def answer(number: int) -> bytes:
        return of(b"%d" % number, more="" if number % 3 else "Connection: close\r\n")

    async with answering(answer) as url:
        asking = Asking(url, 20)
        await ask(url, asking, 4)
    assert sorted(asking.answers) == list(range(20))
    assert {one.status for one in asking.answers.values()} == {b"200"}
    assert sorted(int(one.body) for one in asking.answers.values()) == list(range(1, 21))


async def test_large_responses_in_pieces_are_read() -> None:
    large = bytes(3_000_000)
    async with answering(lambda _: of(large)) as url:
        assert (await fetch(url, "/")).body == large


async def test_a_client_without_a_response_reconnects_and_continues() -> None:
    async with answering(lambda number: b"HTTP/1.1 200" if number == 1 else of(PAGE)) as url:
        asking = Asking(url, 3)
        await ask(url, asking, 1, patience=1)
    assert [asking.answers[number].status for number in range(3)] == [b"", b"200", b"200"]


async def test_a_refused_connection_counts_as_a_missing_response() -> None:
    async with answering(lambda _: of(PAGE)) as url:
        pass
    assert (await fetch(url, "/")).status == b""


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the clock by one that advances a tenth of a second at each reading."""

    class Clock:
        process_time = time.process_time
        perf_counter = itertools.count(0, 0.1).__next__

    monkeypatch.setattr(measurement, "time", Clock)


@pytest.mark.usefixtures("ticks")
async def test_only_a_wrong_body_is_counted() -> None:
    wrong = of(PAGE.replace(b"null", b"nill"))
    async with answering(lambda number: wrong if number == 2 else of(PAGE)) as url:
        sample = await measure(Subject("s", "S", 0, 0), script(url), 1, 0.5, part=0)
    assert sample.wrong == 1
    assert sample.pages > 1
    assert sample.statuses == {"wrong": 1, "right": sample.pages - 1}


@pytest.mark.usefixtures("ticks")
async def test_a_503_is_counted_as_refused_by_its_code() -> None:
    refusal = of(b'{"errors":[{"extensions":{"code":"UNAVAILABLE"}}]}', status=503)
    async with answering(lambda number: refusal if number == 2 else of(PAGE)) as url:
        sample = await measure(Subject("s", "S", 0, 0), script(url), 1, 0.5, part=0)
    assert (sample.wrong, sample.refused) == (0, 1)
    assert sample.statuses["503 UNAVAILABLE"] == 1
