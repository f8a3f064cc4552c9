"""Clients that listen to one product: steady, reconnecting and slow ones."""

import asyncio
import math
import random
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from tests.features.live.subscribing import PROTOCOL, said

EVENTS = """subscription ($after: String) { commentEvents(productId: "42", after: $after) {
  kind cursor deletedId commentEdge { node { id rating title %s } } } }"""


@dataclass
class Listener:
    """A client that connects again after each end of its connection, and continues after
    its cursor.
    """

    number: int
    kind: str
    shown: dict[str, str] = field(default_factory=dict)
    """The titles of the comments by id, which result from the events."""
    events: int = 0
    reloads: int = 0
    returned: int = 0
    """How many events have shown an older state of a comment than an earlier event."""
    delays: list[float] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    """How many connections have ended for each reason."""
    cursor: str | None = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    _dice: random.Random = field(default_factory=random.Random)
    _latest: dict[str, float] = field(default_factory=dict)
    """The number of the latest write of each comment that an event has shown."""

    async def run(
        self,
        urls: Sequence[str],
        acknowledged: Mapping[str, float],
        listed: Callable[[], dict[str, str]],
    ) -> None:
        """Listen until cancelled. After each end of a connection, continue at the next server.

        ``listed`` returns the titles that the list has now.
        """
        self._dice.seed(self.number)
        opened = _sockets if self.number % 2 else _streams
        for url in islice(cycle(urls), self.number // 2 % len(urls), None):
            left = self._dice.randrange(5, 60) if self.kind == "reconnecting" else None
            try:
                async with opened(url, self.cursor, slow=self.kind == "slow") as answers:
                    await self._take(answers, left, acknowledged, listed)
                self.ends["left"] += 1
            except ConnectionClosed as end:
                self.ends[f"{end.rcvd.code if end.rcvd else 'cut off'}"] += 1
            # Includes a refusal by a busy server.
            except (httpx.HTTPError, OSError, WebSocketException) as error:
                self.ends[type(error).__name__] += 1
            await asyncio.sleep(0.1)

    async def _take(
        self,
        answers: AsyncIterator[Any],
        left: int | None,
        acknowledged: Mapping[str, float],
        listed: Callable[[], dict[str, str]],
    ) -> None:
        async for answer in answers:
            if "errors" in answer:
                self.ends[answer["errors"][0]["extensions"]["code"]] += 1
                return
            event = answer["data"]["commentEvents"]
            self.cursor = event["cursor"]
            if event["kind"] == "READY":
                self.ready.set()
                continue
            self.events += 1
            if event["kind"] == "RELOAD":
                self.reloads += 1
                self.shown = listed()
                continue
            if event["kind"] == "DELETED":
                self._note(event["deletedId"], math.inf)
                self.shown.pop(event["deletedId"], None)
            else:
                node, title = (
                    event["commentEdge"]["node"]["id"],
                    event["commentEdge"]["node"]["title"],
                )
                self._note(node, int(title.partition(".")[2]))
                self.shown[node] = title
                if title in acknowledged:
                    self.delays.append(time.perf_counter() - acknowledged[title])
            left = None if left is None else left - 1
            if left == 0:
                return
            if self.kind == "slow" and not self.events % 10:
                await asyncio.sleep(8)

    def _note(self, node: str, write: float) -> None:
        self.returned += write < self._latest.get(node, 0)
        self._latest[node] = write


@asynccontextmanager
async def _sockets(url: str, after: str | None, *, slow: bool) -> AsyncIterator[AsyncIterator[Any]]:
    address = url.replace("http", "ws", 1) + "/graphql"
    options: dict[str, Any] = {"max_queue": 1, "sock": _small(url)} if slow else {}
    async with connect(
        address, subprotocols=[PROTOCOL], close_timeout=0.2, open_timeout=60, **options
    ) as connection:
        payload = {"query": EVENTS % ("text" if slow else ""), "variables": {"after": after}}
        for message in (
            {"type": "connection_init"},
            {"type": "subscribe", "id": "1", "payload": payload},
        ):
            await connection.send(orjson.dumps(message).decode())

        async def answers() -> AsyncIterator[Any]:
            async for text in connection:
                message = orjson.loads(text)
                if message["type"] == "next":
                    yield message["payload"]

        yield answers()


@asynccontextmanager
async def _streams(url: str, after: str | None, *, slow: bool) -> AsyncIterator[AsyncIterator[Any]]:
    body = {"query": EVENTS % ("text" if slow else ""), "variables": {"after": after}}
    headers = {"Accept": "text/event-stream"}
    options = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)] if slow else None
    transport = httpx.AsyncHTTPTransport(socket_options=options)
    async with (
        httpx.AsyncClient(timeout=60, transport=transport) as client,
        client.stream("POST", f"{url}/graphql", json=body, headers=headers) as answer,
    ):
        answer.raise_for_status()
        yield said(answer)


def _small(url: str) -> socket.socket:
    """Return a connected socket with a small receive buffer."""
    parts = urlsplit(url)
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect((parts.hostname, parts.port))
    made.setblocking(False)
    return made
