"""Each HTTP request has one deadline, even if the store is slow, silent or unreachable."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from dal.dynamodb import gate, retries
from dal.dynamodb.table import Table
from tests.conftest import Clients, fresh_table
from tests.proxy import (
    Fault,
    Proxy,
    always,
    hang,
    held,
    in_turn,
    lose,
    nothing,
    reset_before,
    slow,
    through_proxy,
)
from tests.server.applications import app_of
from tests.server.http.listening import listening
from tests.server.serving import ADD, PAGE, add_comment, all_comments, bearer

DEADLINE = 1.2

Work = Callable[[httpx.AsyncClient], Awaitable[Any]]


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the request's deadline, the retries of a call would not end within the test."""
    monkeypatch.setattr(retries, "DEADLINE", 3600.0)
    monkeypatch.setattr(gate, "ATTEMPT_SECONDS", 0.4)
    monkeypatch.setattr(gate, "OUTAGE_SECONDS", 0.5)
    monkeypatch.setattr(gate, "PROBE_SECONDS", 0.3)


@pytest.fixture(scope="module")
async def beyond(clients: Clients, dynoxide_url: str) -> AsyncIterator[tuple[Table, Proxy]]:
    """A table whose client sends its requests through a proxy, and the proxy."""
    async with through_proxy(await fresh_table(clients, dynoxide_url)) as both:
        yield both


@pytest.fixture
def proxy(beyond: tuple[Table, Proxy]) -> Proxy:
    _, proxy = beyond
    proxy.pass_all()
    return proxy


@pytest.fixture
async def client(beyond: tuple[Table, Proxy], proxy: Proxy) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(beyond, DEADLINE) as client:
        yield client


@pytest.fixture
async def patient(beyond: tuple[Table, Proxy], proxy: Proxy) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server whose deadline is long enough for a busy machine."""
    async with serving(beyond, 30) as client:
        yield client


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow attempts more time, so that a busy machine causes no retries."""
    monkeypatch.setattr(gate, "ATTEMPT_SECONDS", 30.0)


@asynccontextmanager
async def serving(beyond: tuple[Table, Proxy], deadline: float) -> AsyncIterator[httpx.AsyncClient]:
    opened, _ = beyond
    app = app_of(Table(opened.service, opened.name), deadline=deadline)
    async with (
        listening(app) as port,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers=bearer("ana"), timeout=60
        ) as client,
    ):
        yield client


async def page(client: httpx.AsyncClient) -> httpx.Response:
    return await client.post("/graphql", json={"query": PAGE})


async def add(client: httpx.AsyncClient) -> httpx.Response:
    comment = {"productId": "42", "rating": 5, "language": "en", "text": "in time"}
    return await client.post("/graphql", json={"query": ADD, "variables": {"input": comment}})


async def statistics(client: httpx.AsyncClient) -> httpx.Response:
    query = '{ product(productId: "42") { statistics { total } } }'
    return await client.post("/graphql", json={"query": query})


@pytest.mark.parametrize("work", [page, add, statistics])
@pytest.mark.parametrize("fault", [hang, slow(0.3)], ids=["hangs", "is slow"])
async def test_a_request_ends_with_its_deadline_however_many_calls_it_makes(
    client: httpx.AsyncClient, proxy: Proxy, fault: Fault, work: Work
) -> None:
    proxy.choose = always(fault)
    answer = await work(client)
    errors = answer.json().get("errors", [])
    assert {error["extensions"]["code"] for error in errors} <= {"UNAVAILABLE"}
    assert errors or fault is not hang


async def leave(client: httpx.AsyncClient, work: Work, proxy: Proxy, operation: str) -> None:
    """Begin a request, and disconnect when the server has sent an operation to the store."""
    task = asyncio.ensure_future(work(client))
    await proxy.arrival(operation)
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(
    ("work", "operation"), [(page, "Query"), (statistics, "Query"), (add, "GetItem")]
)
async def test_no_request_to_dynamodb_is_sent_for_a_disconnected_client(
    patient: httpx.AsyncClient, proxy: Proxy, work: Work, operation: str
) -> None:
    answered = asyncio.Event()
    proxy.choose = lambda asked, _: held(answered) if asked == operation else None
    await leave(patient, work, proxy, operation)
    await asyncio.sleep(0.3)  # until requests that were sent before have arrived
    asked = len(proxy.seen)
    answered.set()
    await asyncio.sleep(0.3)
    assert len(proxy.seen) == asked


@pytest.mark.usefixtures("unhurried")
async def test_a_write_that_was_sent_is_completed_for_a_disconnected_client(
    patient: httpx.AsyncClient, proxy: Proxy
) -> None:
    before = len(await all_comments(patient))
    proxy.choose = in_turn("TransactWriteItems", [slow(0.3)])
    await leave(patient, add, proxy, "TransactWriteItems")
    async with asyncio.timeout(60):
        while len(await all_comments(patient)) == before:  # noqa: ASYNC110 - what is stored
            await asyncio.sleep(0.05)
    assert len(proxy.asked("TransactWriteItems")) == 1
    assert len(await all_comments(patient)) == before + 1


async def test_no_second_attempt_is_made_for_a_disconnected_client(
    patient: httpx.AsyncClient, proxy: Proxy
) -> None:
    """The first attempt is lost. This is tested for reads and for writes."""
    for work, operation in ((page, "Query"), (add, "GetItem"), (add, "TransactWriteItems")):
        proxy.choose = in_turn(operation, [lose] * 9)
        await leave(patient, work, proxy, operation)
    await asyncio.sleep(0.3)
    asked = len(proxy.seen)
    await asyncio.sleep(0.8)
    assert len(proxy.seen) == asked


async def test_a_slow_upload_does_not_use_up_the_deadline(client: httpx.AsyncClient) -> None:
    """The server calls the application, which starts the deadline, after the last byte."""

    async def body() -> AsyncIterator[bytes]:
        yield b'{"query": "{ product(productId: '
        await asyncio.sleep(DEADLINE + 0.2)
        yield b'\\"42\\") { statistics { total } } }"}'

    answer = await client.post(
        "/graphql", content=body(), headers={"Content-Type": "application/json"}
    )
    assert "errors" not in answer.json()


async def test_during_an_outage_requests_fail_fast_and_then_work_again(
    client: httpx.AsyncClient, proxy: Proxy
) -> None:
    await add_comment(client, "before the outage")
    proxy.choose = always(reset_before)
    await asyncio.gather(page(client), page(client))
    proxy.seen.clear()
    answers = [await page(client) for _ in range(20)]
    codes = {error["extensions"]["code"] for one in answers for error in one.json()["errors"]}
    assert codes == {"UNAVAILABLE"}
    assert len(proxy.seen) < 40  # retries would send at least six more for each request
    proxy.choose = nothing
    async with asyncio.timeout(60):
        while "errors" in (await page(client)).json():  # noqa: ASYNC110 - asked, not told
            await asyncio.sleep(0.05)


async def test_pipelined_requests_are_answered_in_order(client: httpx.AsyncClient) -> None:
    """A second request on the connection does not mean that the client has disconnected."""
    address = urlsplit(str(client.base_url))
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    body = b'{"query": "{ __typename }"}'
    request = (
        b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    writer.write(request * 2)
    told = b""
    async with asyncio.timeout(60):
        while told.count(b'"__typename"') < 2:
            told += await reader.read(1000)
    writer.close()
