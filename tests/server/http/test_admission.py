"""More requests than may run at once wait a short time, or get 503. Health checks always work."""

import asyncio
import json
import logging
from itertools import pairwise
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from server.http import admission
from server.http.admission import Admission
from server.settings import Settings
from tests.server.http.listening import GET, HEALTH, Client, Echo, clients, listening, taken

POST = b"POST /page HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
ONE = Settings(max_concurrency=1)
ANOTHER = POST.replace(b"Host", b"X-Forwarded-For: 203.0.113.9\r\nHost").replace(b"abc", b"xyz")
"""A request of another client, which a trusted proxy forwards."""


@pytest.fixture(autouse=True)
def busy_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Admit no further requests while requests wait for the store, and let none queue."""
    monkeypatch.setattr(admission, "MOST_WAITING", 1)
    monkeypatch.setattr(admission, "BURST", 0)
    monkeypatch.setattr(admission, "WAIT", 0)


async def running(app: Echo, client: Client) -> None:
    """Send a request that runs until ``app.held`` is set."""
    app.held.clear()
    client.writer.write(GET)
    await app.serving.wait()


async def test_requests_beyond_the_queue_are_refused_with_retry_after() -> None:
    app = Echo()
    async with listening(app, ONE) as port, clients(port, 3) as (busy, client, probe):
        await running(app, busy)
        status, text = await client.ask(POST)
        assert status == 503  # the other request still runs
        (error,) = json.loads(text)["errors"]
        assert error["extensions"] == {"code": "UNAVAILABLE"}
        assert "retry-after: 1" in client.head
        assert "access-control-allow-origin: *" in client.head
        assert (await probe.ask(HEALTH))[0] == 200
        app.held.set()
        assert (await busy.answer())[0] == 200
        # The connection is still open after the refusal.
        assert await client.ask(POST) == (200, "/page:abc")
        assert app.served == 2


@pytest.mark.parametrize(("language", "sentence"), [("fr", "Réessayez"), ("xx", "try again")])
async def test_a_browser_gets_a_page_in_its_language(language: str, sentence: str) -> None:
    app = Echo()
    headers = f"Accept: text/html\r\nAccept-Language: {language}\r\nHost".encode()
    async with listening(app, ONE) as port, clients(port, 2) as (busy, client):
        await running(app, busy)
        status, text = await client.ask(GET.replace(b"Host", headers))
        assert status == 503
        assert "text/html" in client.head
        assert "retry-after: 5" in client.head
        assert sentence in text
        app.held.set()
        assert (await busy.answer())[0] == 200
        assert (await client.ask(POST))[0] == 200


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
async def test_the_refusal_of_a_head_request_has_no_body(accept: str) -> None:
    app = Echo()
    head = b"HEAD /page HTTP/1.1\r\nAccept: %s\r\nHost: x\r\n\r\n" % accept.encode()
    async with listening(app, ONE) as port, clients(port, 2) as (busy, client):
        await running(app, busy)
        client.writer.write(head)
        answered = await client.reader.readuntil(b"\r\n\r\n")
        assert answered.startswith(b"HTTP/1.1 503 ")
        assert (await client.ask(HEALTH))[0] == 200  # what follows is the next response, not a body
        app.held.set()


async def test_refusals_are_delayed_so_that_they_take_little_time_from_served_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "REFUSALS", 20)
    due: list[float] = []
    submit = Admission.submit

    def submit_and_note(self: Admission, *request: Any) -> None:
        submit(self, *request)
        due.append(self._refusal_due)

    monkeypatch.setattr(Admission, "submit", submit_and_note)
    app = Echo()
    async with listening(app, ONE) as port, clients(port, 6) as (busy, *others):
        await running(app, busy)
        answers = await asyncio.gather(*[client.ask(POST) for client in others])
        assert {status for status, _ in answers} == {503}
        _, *refusals = due
        assert all(later - earlier >= 1 / 20 - 1e-6 for earlier, later in pairwise(refusals))
        app.held.set()


async def test_a_client_without_keep_alive_receives_the_refusal() -> None:
    app = Echo()
    async with listening(app, ONE) as port, clients(port, 2) as (busy, client):
        await running(app, busy)
        last = POST.replace(b"Host", b"Connection: close\r\nHost")
        assert (await client.ask(last))[0] == 503
        assert "connection: close" in client.head
        assert await client.rest() == b""
        app.held.set()


async def test_a_burst_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "BURST", 60)
    app = Echo()
    async with listening(app, ONE) as port, clients(port, 11) as (busy, *burst):
        await running(app, busy)
        for client in burst:
            client.writer.write(POST)
        await taken(port)
        assert app.served == 1
        app.held.set()
        answers = [await client.answer() for client in burst]
        assert answers == [(200, "/page:abc")] * 10


async def test_more_requests_may_wait_if_requests_end_quickly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "WAIT", 3)
    monkeypatch.setattr(admission, "PACE", 1)
    app = Echo()

    async def refused(port: int) -> int:
        async with clients(port, 21) as (busy, *others):
            await running(app, busy)
            for client in others:
                client.writer.write(POST)
            await taken(port)
            app.held.set()
            return [(await client.answer())[0] for client in others].count(503)

    async with listening(app, ONE) as port, clients(port) as (client,):
        assert await refused(port) == 17
        for _ in range(300):  # no request waits meanwhile, so these do not change the measured pace
            assert (await client.ask(POST))[0] == 200
        assert await refused(port) == 16  # a little faster, after three requests that waited
        with monkeypatch.context() as patched:
            patched.setattr(admission, "BURST", 60)
            for _ in range(15):
                assert await refused(port) == 0
        assert await refused(port) == 0


async def test_a_request_that_waited_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "BURST", 60)
    monkeypatch.setattr(admission, "LONGEST", 0.05)
    app = Echo()
    async with listening(app, ONE) as port, clients(port, 2) as (busy, client):
        await running(app, busy)
        assert (await client.ask(POST))[0] == 503  # refused even if no request ends
        app.held.set()
        assert (await busy.answer())[0] == 200
        assert await client.ask(POST) == (200, "/page:abc")


class Bodies(Echo):
    """Records the bodies of requests in the order in which they run."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def keeping() -> object:
            message = await receive()
            self.bodies += filter(None, [message.get("body")])
            return message

        await super().__call__(scope, keeping, send)  # type: ignore[arg-type]


async def test_many_requests_of_one_client_delay_another_client_by_one_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "BURST", 60)
    app = Bodies()
    async with (
        listening(app, ONE) as port,
        clients(port, 31) as (busy, *many),
        clients(port, 2) as (first, second),
    ):
        await running(app, busy)
        for client in many:
            client.writer.write(POST)
        await taken(port)
        for client in (first, second):
            client.writer.write(ANOTHER)
        await taken(port)
        app.held.set()
        answers = [await client.answer() for client in (first, second, *many)]
        assert [status for status, _ in answers] == [200] * 32
    turns = [b"abc", b"xyz", b"abc", b"xyz"]
    assert app.bodies == [*turns, *[b"abc"] * 28]


async def test_a_client_cannot_fill_the_queue_for_other_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "WAIT", 3)
    monkeypatch.setattr(admission, "PACE", 1)
    app = Echo()
    async with listening(app, ONE) as port, clients(port, 8) as (busy, other, *many):
        await running(app, busy)
        for client in many:
            client.writer.write(POST)
        refused = [await client.answer() for client in many[3:]]
        assert [status for status, _ in refused] == [503] * 3
        other.writer.write(ANOTHER)
        await taken(port)
        app.held.set()
        assert await other.answer() == (200, "/page:xyz")
        assert [(await client.answer())[0] for client in many[:3]] == [200] * 3


async def test_more_requests_run_while_the_store_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "BURST", 60)
    monkeypatch.setattr(admission, "MOST_WAITING", 4)
    monkeypatch.setattr(admission, "ON_TIME", 5)  # so that even a busy machine is on time
    app = Echo()
    async with listening(app, ONE) as port, clients(port, 6) as (busy, *others):
        await running(app, busy)
        for client in others:
            client.writer.write(POST)
        async with asyncio.timeout(60):
            while app.served < 4:  # noqa: ASYNC110 - as often as the queue is looked at
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert app.served == 4
        app.held.set()
        assert [(await client.answer())[0] for client in others] == [200] * 5


async def test_a_process_with_a_busy_event_loop_admits_no_further_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "BURST", 60)
    monkeypatch.setattr(admission, "MOST_WAITING", 4)
    monkeypatch.setattr(admission, "ON_TIME", 0)
    app = Echo()
    async with listening(app, ONE) as port, clients(port, 2) as (busy, client):
        await running(app, busy)
        client.writer.write(POST)
        await asyncio.sleep(0.2)
        assert app.served == 1
        app.held.set()
        assert (await client.answer())[0] == 200


async def test_a_disconnected_client_has_no_place_in_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = Echo()
    async with listening(app, ONE) as port, clients(port, 2) as (busy, client):
        await running(app, busy)
        async with clients(port, 2, POST):
            await taken(port)
        await taken(port)
        monkeypatch.setattr(admission, "BURST", 60)
        async with clients(port, 2, POST):
            await taken(port)
        await taken(port)
        app.held.set()
        assert (await busy.answer())[0] == 200
        assert await client.ask(POST) == (200, "/page:abc")
        assert app.served == 2


async def test_a_failed_request_releases_its_place() -> None:
    class Fails(Echo):
        async def __call__(self, scope: object, receive: object, send: object) -> None:
            raise RuntimeError

    async with listening(Fails(), ONE) as port:
        for _ in range(2):
            async with clients(port) as (client,):
                assert (await client.ask(GET))[0] == 500


async def test_requests_with_incomplete_bodies_do_not_count_as_running() -> None:
    app = Echo()
    async with (
        listening(app, ONE) as port,
        clients(port, 10, POST[:-1]) as slow,
        clients(port) as (client,),
    ):
        assert await client.ask(POST) == (200, "/page:abc")
        assert await slow[0].ask(b"c") == (200, "/page:abc")


async def test_refusals_are_logged_as_a_sum(caplog: pytest.LogCaptureFixture) -> None:
    app = Echo()
    with caplog.at_level(logging.WARNING, logger="server.http.admission"):
        async with listening(app, ONE) as port, clients(port, 5) as (busy, *others):
            await running(app, busy)
            for _ in range(2):
                for client in others:
                    assert (await client.ask(GET))[0] == 503
            app.held.set()
    assert len(caplog.messages) == 1
    assert caplog.messages[0].endswith("requests got status 503.")
