"""Customers of a server: a steady load of requests, and what its answers were."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
from websockets.exceptions import WebSocketException

from tests.features.live.subscribing import by_socket
from tests.server.serving import add_comment, bearer

CUSTOMERS = 8
"""Each customer has connections that no other uses, and sends a request every second."""

PATIENCE = 12.0
"""Seconds after which a customer gives up. A server answers within 10."""

SLOW = 1.0
EVENT_SECONDS = 5.0
"""Seconds within which a subscriber must receive the event of a write."""

_PAGE = """query Page { product(productId: "42") {
  statistics { total } comments(first: 20) { nodes { commentId text } } } }"""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a request, or of waiting for an event."""

    at: float
    kind: str
    good: bool
    seconds: float


@dataclass
class Customers:
    """Customers who read by the API and by pages, and add comments."""

    clients: list[httpx.AsyncClient]
    answers: list[Answer] = field(default_factory=list)
    heard: dict[str, asyncio.Event] = field(default_factory=dict)
    subscribed: bool = False

    async def work(self) -> None:
        """Send requests at a steady rate until cancelled, however late their answers are."""
        acts = itertools.cycle((self._read, self._add, self._read, self._view, self._read))
        async with asyncio.TaskGroup() as sent:
            for number, client in enumerate(itertools.cycle(self.clients)):
                sent.create_task(next(acts)(client, f"comment {number}"))
                await asyncio.sleep(1 / CUSTOMERS)

    def saw(self, since: float, until: float) -> dict[str, float]:
        """Return the shares of bad answers to requests of this time, by what was bad."""
        asked = [one for one in self.answers if since <= one.at < until]
        requests = [one for one in asked if one.kind != "event"]
        events = [one for one in asked if one.kind == "event"]
        return {
            "failed": _share(not one.good for one in requests),
            "slow": _share(one.good and one.seconds > SLOW for one in requests),
            "without event": _share(not one.good for one in events),
        }

    async def subscribe(self, url: str) -> None:
        """Listen to the product's events until cancelled. After each end, continue at the cursor.

        RELOAD replaces the events that the subscriber has missed.
        """
        self.subscribed, after = True, None
        while True:
            try:
                async with by_socket(url, after=after) as events:
                    async for event in events:
                        after = event["cursor"]
                        if event["kind"] == "ADDED":
                            text = event["commentEdge"]["node"]["text"]
                            self.heard.setdefault(text, asyncio.Event()).set()
                        elif event["kind"] == "RELOAD":
                            for waiting in self.heard.values():
                                waiting.set()
            except (OSError, AssertionError, TimeoutError, WebSocketException):
                await asyncio.sleep(1)

    async def _read(self, client: httpx.AsyncClient, _: str) -> None:
        async def read() -> bool:
            answer = await client.post("/graphql", json={"query": _PAGE})
            return answer.is_success and "errors" not in answer.json()

        await self._note("request", read())

    async def _view(self, client: httpx.AsyncClient, _: str) -> None:
        async def view() -> bool:
            return (await client.get("/products/42")).is_success

        await self._note("request", view())

    async def _add(self, client: httpx.AsyncClient, text: str) -> None:
        async def add() -> bool:
            return await add_comment(client, text) is not None

        async def hear() -> bool:
            event = self.heard.setdefault(text, asyncio.Event())
            await asyncio.wait_for(event.wait(), EVENT_SECONDS)
            return True

        if await self._note("request", add()) and self.subscribed:
            await self._note("event", hear())

    async def _note(self, kind: str, act: Coroutine[Any, Any, bool]) -> bool:
        """Wait for an answer, and note it. Return whether it was good."""
        at, good = time.monotonic(), False
        with suppress(httpx.HTTPError, TimeoutError, ValueError):
            good = await act
        self.answers.append(Answer(at, kind, good, time.monotonic() - at))
        return good


def _share(bad: Iterable[bool]) -> float:
    found = list(bad)
    return sum(found) / len(found) if found else 0.0


@asynccontextmanager
async def customers(url: str, *, subscribed: bool) -> AsyncIterator[Customers]:
    """Let customers use a server until the block ends."""
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=url, headers=bearer(f"user{number}"), timeout=PATIENCE)
            )
            for number in range(CUSTOMERS)
        ]
        working = Customers(clients)
        tasks = [asyncio.create_task(working.work())]
        if subscribed:
            tasks.append(asyncio.create_task(working.subscribe(url)))
        try:
            yield working
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
