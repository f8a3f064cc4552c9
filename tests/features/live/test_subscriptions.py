"""Subscriptions on a real server: both transports, their limits, and how they end."""

import asyncio
import html
import random
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from dal.dynamodb.table import Table
from features.live import log, subscriptions, websocket
from features.live.changes import change_of
from features.live.log import Log
from features.live.write_rule import Broker
from server.app import create_app
from server.auth import authenticator
from server.auth.authenticator import Authenticator, make_token
from server.http import connections
from server.services import Services, services_of
from server.settings import Settings
from tests.calls import calls_of
from tests.conftest import Clients, fresh_table
from tests.features.live.listening import comment
from tests.features.live.subscribing import (
    EVENTS,
    PROTOCOL,
    Event,
    by_socket,
    by_stream,
    event,
    heard,
    said,
    say,
    socket,
    subscribe,
)
from tests.server.applications import app_of
from tests.server.http.listening import GET, HANDSHAKE, clients, listening
from tests.server.serving import SECRET

TRANSPORTS = pytest.mark.parametrize("transport", [by_socket, by_stream])


@pytest.fixture(scope="module")
async def table(clients: Clients, dynoxide_url: str) -> Table:
    """One table for all tests, because events come from the broker and not from the table."""
    return await fresh_table(clients, dynoxide_url)


@pytest.fixture
def settings() -> Settings:
    return Settings(cors_origins=["https://shop.example"])


@pytest.fixture
def services(table: Table, settings: Settings) -> Services:
    return services_of(settings, table, Authenticator(secret=lambda: SECRET))


@pytest.fixture
def broker(services: Services) -> Broker:
    return services.broker


@pytest.fixture
async def url(services: Services, settings: Settings) -> AsyncIterator[str]:
    async with listening(create_app(settings, services), settings) as port:
        yield f"http://127.0.0.1:{port}"


async def closed(connection: Any) -> tuple[int, str]:
    """Wait until the server closes the connection. Return the close code and the reason."""
    try:
        async with asyncio.timeout(60):
            while True:
                await connection.recv()
    except ConnectionClosed as end:
        return (end.rcvd.code, end.rcvd.reason) if end.rcvd else (0, "")


@TRANSPORTS
async def test_events_are_sent_and_a_subscription_can_continue_after_them(
    url: str, broker: Broker, transport: Any
) -> None:
    async with transport(url, rating=[5]) as events:
        assert (await anext(events))["kind"] == "READY"
        for number, rating in enumerate((5, 4, 5)):
            broker.publish(change_of(None, comment(number, rating)))
        first = await anext(events)
        assert (first["kind"], first["commentEdge"]["node"]["rating"]) == ("ADDED", 5)
    async with transport(url, rating=[5], after=first["cursor"]) as events:
        assert (await anext(events))["kind"] == "ADDED"


@TRANSPORTS
async def test_random_reconnects_receive_newer_and_newer_texts(
    url: str, broker: Broker, transport: Any
) -> None:
    dice = random.Random(1)
    texts = [f"edit {number}" for number in range(120)]

    async def write() -> None:
        for number in range(len(texts)):
            old = comment(1, edits=number - 1) if number else None
            broker.publish(change_of(old, comment(1, edits=number)))
            await asyncio.sleep(0.002 * dice.random())

    seen: list[str] = []
    after = broker.log.last.cursor
    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        while texts[-1] not in seen:
            async with transport(url, after=after) as events:
                for _ in range(dice.randrange(1, 30)):
                    event = await anext(events)
                    seen.append(event["commentEdge"]["node"]["text"])
                    after = event["cursor"]
                    if seen[-1] == texts[-1]:
                        break
    # A client that reads later than the comment changes receives only the newest text.
    assert seen == [text for text in texts if text in seen]
    assert len(seen) > 1


async def test_a_browser_that_reconnects_continues_after_its_last_event(
    url: str, broker: Broker
) -> None:
    start = broker.log.last.cursor
    broker.publish(change_of(None, comment(1)))
    async with by_stream(url, {"Last-Event-ID": start}) as events:
        assert (await anext(events))["kind"] == "ADDED"


async def test_events_contain_the_public_address_of_pages(table: Table) -> None:
    settings = Settings(public_url="https://shop.example")
    services = services_of(settings, table, Authenticator(secret=lambda: SECRET))
    query = 'subscription { commentEvents(productId: "42") { commentEdge { node { jsonLd } } } }'
    async with (
        listening(create_app(settings, services), settings) as port,
        socket(f"http://127.0.0.1:{port}") as connection,
    ):
        await say(connection, type="subscribe", id="1", payload={"query": query})
        await event(connection)  # READY
        services.broker.publish(change_of(None, comment(1)))
        shown = (await event(connection))["commentEdge"]["node"]["jsonLd"]
    assert "https://shop.example/" in shown


async def test_a_subscription_continues_after_the_page_of_a_query(
    table: Table, settings: Settings
) -> None:
    """A write before the script of the page subscribes is an event. There is no READY before it."""
    noted = Table(table.service, table.name)
    calls = calls_of(noted)
    services = services_of(settings, noted, Authenticator(secret=lambda: SECRET))
    app = create_app(settings, services)
    async with listening(app, settings) as port, httpx.AsyncClient(timeout=60) as client:
        client.base_url = httpx.URL(f"http://127.0.0.1:{port}")
        page = (await client.get("/products/42", headers={"Accept": "text/html"})).text
        (address,) = re.findall(r'data-live="([^"]+)"', page)
        services.broker.publish(change_of(None, comment(1)))
        accept = {"Accept": "text/event-stream"}
        async with client.stream("GET", html.unescape(address), headers=accept) as answer:
            event = (await anext(said(answer)))["data"]["commentEvents"]
    assert event["kind"] == "ADDED"
    indexes = [query["IndexName"] for query in calls.queries if "IndexName" in query]
    assert sorted(indexes) == ["all", "byHelpful"]  # the page's list, and its most helpful comments


@TRANSPORTS
async def test_a_subscription_after_a_dropped_event_receives_reload(
    url: str, transport: Any
) -> None:
    async with transport(url, after=Log().last.cursor) as events:
        assert (await anext(events))["kind"] == "RELOAD"


@TRANSPORTS
async def test_a_stopping_server_sends_the_reason(table: Table, transport: Any) -> None:
    app = app_of(table)
    async with asyncio.timeout(60):
        async with listening(app) as port:
            url = f"http://127.0.0.1:{port}"
            begun, connected = asyncio.Event(), asyncio.Event()
            stream = asyncio.create_task(_until_the_end(url, begun=begun))

            async def close() -> tuple[int, str]:
                async with socket(url) as connection:
                    await subscribe(connection)
                    await event(connection)
                    connected.set()
                    return await closed(connection)

            closing = asyncio.create_task(close())
            await connected.wait()
            await begun.wait()
        assert (await closing)[0] == 1001
        last = (await stream)[-1]
        assert last["errors"][0]["extensions"]["code"] == "UNAVAILABLE"


class LateSubscriptions:
    """An application whose subscriptions begin after the server has begun to stop."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.limits: connections.Connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.limits = scope["state"][connections.STATE]
        socket = scope["type"] == "websocket"
        if socket:
            await receive()
            await send({"type": "websocket.accept"})
        elif scope["path"] != "/page":
            self.reached.set()
            await self.stopping()
        if socket or scope["path"] != "/page":
            ended = asyncio.Event()
            scope["extensions"][connections.ENDING](ended.set)
            await ended.wait()
        if socket:
            await send({"type": "websocket.close", "code": 1001})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ended"})

    async def stopping(self) -> None:
        while not self.limits.ending:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", ["request", "next request", "handshake"])
async def test_a_subscription_that_begins_while_the_server_stops_ends(kind: str) -> None:
    """Otherwise the server would wait until it cancels all requests."""
    app = LateSubscriptions()
    late = HANDSHAKE if kind == "handshake" else GET.replace(b"/page", b"/events")
    async with AsyncExitStack() as stack:
        async with listening(app) as port:
            (client,) = await stack.enter_async_context(clients(port))
            if kind == "request":
                client.writer.write(late)
                await app.reached.wait()
            else:
                client.writer.write(GET)
                assert await client.reader.readuntil(b"0\r\n\r\n")

            async def send_late() -> None:
                await app.stopping()
                client.writer.write(late)
                if kind == "handshake":
                    await client.reader.readuntil(b"\x88\x02\x03\xe9")
                    client.writer.close()  # otherwise the server waits for the client's answer

            sending = asyncio.create_task(send_late() if kind != "request" else app.stopping())
        await sending
        if kind != "handshake":
            assert b"ended" in await client.rest()


async def _until_the_end(
    url: str, headers: dict[str, str] | None = None, begun: asyncio.Event | None = None
) -> list[Any]:
    body = {"query": 'subscription { commentEvents(productId: "42") { kind } }'}
    accept = {"Accept": "text/event-stream"} | (headers or {})
    async with (
        httpx.AsyncClient(timeout=60) as client,
        client.stream("POST", f"{url}/graphql", json=body, headers=accept) as answer,
    ):
        assert answer.status_code == 200
        told = []
        async for data in said(answer):
            told.append(data)
            if begun is not None:
                begun.set()
        return told


def short_lived(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(authenticator, "LEEWAY", timedelta(0))
    encoded = make_token(SECRET, user="ann", roles=[], lifetime=timedelta(seconds=3))
    return f"Bearer {encoded}"


async def test_an_expired_jwt_ends_its_subscriptions(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorization = short_lived(monkeypatch)
    streamed = asyncio.create_task(_until_the_end(url, {"Authorization": authorization}))
    async with socket(url, {"Authorization": authorization}) as connection:
        code, reason = await closed(connection)
    assert (code, reason) == (4403, subscriptions.EXPIRED)
    assert (await streamed)[-1]["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


@TRANSPORTS
async def test_a_disconnected_client_leaves_no_timer(
    url: str, monkeypatch: pytest.MonkeyPatch, transport: Any
) -> None:
    ends: list[subscriptions.End] = []
    closed = asyncio.Event()
    begin, close = subscriptions.End.with_jwt, subscriptions.End.close

    def beginning(self: subscriptions.End, viewer: Any) -> None:
        begin(self, viewer)
        ends.append(self)

    def closing(self: subscriptions.End) -> None:
        close(self)
        closed.set()

    monkeypatch.setattr(subscriptions.End, "with_jwt", beginning)
    monkeypatch.setattr(subscriptions.End, "close", closing)
    encoded = make_token(SECRET, user="ann", roles=[], lifetime=timedelta(hours=1))
    bearer = {"Authorization": f"Bearer {encoded}"}
    if transport is by_socket:
        async with socket(url, bearer) as connection:
            await say(connection, type="ping")
            await heard(connection)
    else:
        async with by_stream(url, bearer) as events:
            await anext(events)
    async with asyncio.timeout(60):
        await closed.wait()
    (end,) = ends
    assert end._timer is not None
    assert end._timer.cancelled()


@TRANSPORTS
async def test_a_slow_client_is_disconnected_with_a_reason(
    url: str, broker: Broker, monkeypatch: pytest.MonkeyPatch, transport: Any
) -> None:
    monkeypatch.setattr(log, "MAX_WAITING_EVENTS", 3)
    if transport is by_socket:
        async with socket(url) as connection:
            await subscribe(connection)
            await event(connection)
            for number in range(10):
                broker.publish(change_of(None, comment(number)))
            code, reason = await closed(connection)
        assert code == 1013
        assert "cursor" in reason
        return
    begun = asyncio.Event()
    streamed = asyncio.create_task(_until_the_end(url, begun=begun))
    await begun.wait()
    for number in range(10):
        broker.publish(change_of(None, comment(number)))
    assert (await streamed)[-1]["errors"][0]["extensions"]["code"] == "TOO_SLOW"


@asynccontextmanager
async def by_idle_socket(url: str) -> AsyncIterator[AsyncIterator[Event]]:
    """Subscribe with a client that reads no more events than the test takes."""
    async with socket(url, max_queue=1) as connection:
        await subscribe(connection)

        async def events() -> AsyncIterator[Event]:
            yield await event(connection)

        yield events()


@pytest.mark.parametrize("transport", [by_idle_socket, by_stream])
async def test_a_client_that_reads_nothing_is_disconnected(
    url: str, broker: Broker, monkeypatch: pytest.MonkeyPatch, transport: Any
) -> None:
    monkeypatch.setattr(connections, "SEND_TIMEOUT", 0.2)
    async with transport(url) as events:
        await anext(events)
        large = comment(1)._replace(text="x" * 200_000)
        async with asyncio.timeout(60):
            while broker.log._listeners:
                broker.publish(change_of(None, large))
                await asyncio.sleep(0.01)


NESTED = "[" * 1_000 + "]" * 1_000


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        (["no JSON"], 4400),
        (['{"type": 1}'], 4400),
        (['{"type": "connection_init", "payload": []}'], 4400),
        (['{"type": "subscribe", "id": "1", "payload": {"query": "{ a }"}}'], 4401),
        (['{"type": "connection_init", "payload": {"Authorization": "Bearer x"}}'], 4403),
        ([f'{{"type": "connection_init", "payload": {{"Authorization": {NESTED}}}}}'], 4403),
        (['{"type": "connection_init"}', '{"type": "connection_init"}'], 4429),
        (['{"type": "connection_init"}', '{"type": "subscribe", "id": "1"}'], 4400),
        (['{"type": "connection_init"}', '{"type": "dance"}'], 4400),
        (["x" * 200_000], 1009),
        ([], 4408),
    ],
)
async def test_a_violation_of_the_protocol_closes_the_connection(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    messages: list[str],
    code: int,
) -> None:
    if not messages:
        monkeypatch.setattr(websocket, "INIT_TIMEOUT", 0.2)
    address = url.replace("http", "ws") + "/graphql"
    async with connect(address, subprotocols=[PROTOCOL]) as connection:
        with suppress(ConnectionClosed):
            for message in messages:
                await connection.send(message)
        assert (await closed(connection))[0] == code
    assert "Exception in ASGI application" not in caplog.text


async def test_other_subprotocols_are_refused(url: str) -> None:
    async with connect(url.replace("http", "ws") + "/graphql") as connection:
        assert (await closed(connection))[0] == 4406


async def test_subscriptions_have_ids_and_a_maximum_number(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "MAX_SUBSCRIPTIONS", 2)
    async with socket(url) as connection:
        for name in ("1", "2", "3"):
            await subscribe(connection, name)
        told = [await heard(connection) for _ in range(3)]
        (refused,) = [one for one in told if one["type"] == "error"]
        assert refused["id"] == "3"
        assert refused["payload"][0]["extensions"]["code"] == "THROTTLED"
        await say(connection, type="complete", id="1")
        await subscribe(connection, "3")
        assert (await heard(connection))["type"] == "next"
        await say(connection, type="ping")
        assert await heard(connection) == {"type": "pong"}
        await subscribe(connection, "3")
        assert (await closed(connection))[0] == 4409


async def test_fragments_in_a_cycle_are_refused_by_every_transport(url: str) -> None:
    names = [f"f{number}" for number in range(11)]
    spread = " ".join(f"...{name}" for name in names)
    circle = " ".join(f"fragment {name} on Query{{{spread}}}" for name in names)
    query = {"query": f"{{...f0}} {circle}"}
    async with httpx.AsyncClient(timeout=60) as client, socket(url) as connection:
        address, events = f"{url}/graphql", {"Accept": "text/event-stream"}
        answers = [
            await client.post(address, json=query),
            await client.get(address, params=query, headers={"Accept": "application/json"}),
            await client.post(address, json=query, headers=events),
        ]
        told = [answer.json()["errors"] for answer in answers]
        await say(connection, type="subscribe", id="1", payload=query)
        told.append((await heard(connection))["payload"])
    for errors in told:
        (error,) = errors
        assert "'f0'" in error["message"]


async def test_an_unknown_operation_name_is_an_error(url: str) -> None:
    async with socket(url) as connection:
        payload = {"query": EVENTS, "operationName": "x" * 9_000}
        await say(connection, type="subscribe", id="1", payload=payload)
        (error,) = (await heard(connection))["payload"]
    assert error["extensions"]["code"] == "BAD_REQUEST"
    assert "'xx" in error["message"]
    assert len(error["message"]) < 400


async def test_an_invalid_subscription_receives_an_error(url: str) -> None:
    async with socket(url) as connection:
        await subscribe(connection, rating=[7])
        message = await heard(connection)
        assert (message["type"], message["id"]) == ("error", "1")
        assert message["payload"][0]["extensions"]["code"] == "BAD_ARGUMENT"
    async with httpx.AsyncClient(timeout=60) as client:
        body = {"query": "subscription { nothing }"}
        headers = {"Accept": "text/event-stream"}
        answer = await client.post(f"{url}/graphql", json=body, headers=headers)
        assert answer.status_code == 400
        answer = await client.post(
            f"{url}/graphql", json=body, headers=headers | {"Authorization": "Bearer x"}
        )
        assert answer.status_code == 401


@pytest.mark.parametrize(
    ("origin", "welcome"),
    [
        ("https://shop.example", True),
        ("own", True),
        ("https://evil.example", False),
        ("http://[", False),
    ],
)
async def test_pages_of_other_origins_connect_only_by_setting(
    url: str, origin: str, welcome: bool, caplog: pytest.LogCaptureFixture
) -> None:
    opened = socket(url, origin=url if origin == "own" else origin)
    if welcome:
        async with opened:
            return
    with pytest.raises(InvalidStatus) as refused:
        await opened.__aenter__()
    assert refused.value.response.status_code == 403
    assert origin.encode() in refused.value.response.body
    assert "--cors-origin" in caplog.text


async def test_connections_of_one_client_are_limited(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "MAX_SUBSCRIBERS", 2)
    async with by_stream(url) as events, socket(url):
        await anext(events)
        with pytest.raises(InvalidStatus) as refused:
            await socket(url).__aenter__()
        assert refused.value.response.status_code == 503
    async with asyncio.timeout(60):
        while True:  # until the server has noticed that the others have disconnected
            with suppress(InvalidStatus):
                async with socket(url):
                    return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("settings", [Settings(max_concurrency=1)])
@TRANSPORTS
async def test_subscribers_do_not_count_as_running_requests(
    url: str, transport: Any, settings: Settings
) -> None:
    async with transport(url) as events, transport(url) as others:
        await anext(events)
        await anext(others)
        async with httpx.AsyncClient(timeout=60) as client:
            answer = await client.post(f"{url}/graphql", json={"query": "{ __typename }"})
            assert answer.status_code == 200


@pytest.mark.parametrize("settings", [Settings(rate_limit="5/min", trusted_proxies=["10.0.0.1"])])
async def test_messages_count_as_requests(url: str, settings: Settings) -> None:
    async with socket(url) as connection:
        for number in range(6):
            await subscribe(connection, str(number))
        assert (await closed(connection))[0] == 4429
