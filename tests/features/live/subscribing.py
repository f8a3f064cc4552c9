"""Clients of subscriptions, by WebSocket and by server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

PROTOCOL = Subprotocol("graphql-transport-ws")

EVENTS = """
subscription ($product: ID!, $rating: [Int!], $after: String) {
  commentEvents(productId: $product, rating: $rating, after: $after) {
    kind cursor deletedId edgeCursor commentEdge { cursor node { id rating text } }
  }
}"""

Event = dict[str, Any]


@asynccontextmanager
async def socket(url: str, init: Any = None, **options: Any) -> AsyncIterator[ClientConnection]:
    """Connect by WebSocket and send ``connection_init``."""
    address = url.replace("http", "ws", 1) + "/graphql"
    # With a limited queue, the client could miss the server's close frame behind many events.
    options = {"max_queue": None, "close_timeout": 0.2} | options
    async with connect(address, subprotocols=[PROTOCOL], **options) as connection:
        await say(connection, type="connection_init", payload=init)
        assert await heard(connection) == {"type": "connection_ack"}
        yield connection


async def say(connection: ClientConnection, **message: Any) -> None:
    await connection.send(orjson.dumps(message).decode())


async def heard(connection: ClientConnection) -> Any:
    async with asyncio.timeout(60):
        return orjson.loads(await connection.recv())


async def subscribe(connection: ClientConnection, name: str = "1", **variables: Any) -> None:
    payload = {"query": EVENTS, "variables": {"product": "42"} | variables}
    await say(connection, type="subscribe", id=name, payload=payload)


async def event(connection: ClientConnection) -> Event:
    """Return the next event of a subscription."""
    message = await heard(connection)
    assert message["type"] == "next", message
    told: Event = message["payload"]["data"]["commentEvents"]
    return told


@asynccontextmanager
async def by_socket(url: str, **variables: Any) -> AsyncIterator[AsyncIterator[Event]]:
    """Yield the events of a subscription by WebSocket."""
    async with socket(url) as connection:
        await subscribe(connection, **variables)

        async def events() -> AsyncIterator[Event]:
            while True:
                yield await event(connection)

        yield events()


@asynccontextmanager
async def by_stream(
    url: str, headers: dict[str, str] | None = None, **variables: Any
) -> AsyncIterator[AsyncIterator[Event]]:
    """Yield the events of a subscription as server-sent events."""
    body = {"query": EVENTS, "variables": {"product": "42"} | variables}
    accept = {"Accept": "text/event-stream"} | (headers or {})
    async with (
        httpx.AsyncClient(timeout=60) as client,
        client.stream("POST", f"{url}/graphql", json=body, headers=accept) as answer,
    ):
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")

        async def events() -> AsyncIterator[Event]:
            async for data in said(answer):
                yield data["data"]["commentEvents"]

        yield events()


async def said(answer: httpx.Response) -> AsyncIterator[Any]:
    """Yield the data of each ``next`` event until the stream ends."""
    name = ""
    async for line in answer.aiter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        if field == "data" and name == "next":
            yield orjson.loads(value)
