"""A client that asks one server and notes what it was answered, and how quickly."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median, quantiles
from urllib.parse import urlsplit

from tests.trials.neighbour.attacks import body, head

SLICES = 3
SECONDS = 2.0
"""A figure is the median of so many times: a machine that others use stalls now and then."""

PAUSE = 0.01
_PAGE = (
    '{ product(productId: "1") { comments(rating: [4, 5], language: "en") {'
    " nodes { id rating title } pageInfo { endCursor hasNextPage } } } }"
)


@dataclass
class Seen:
    """Seconds of each answer by slices, and how many of each status; INTERNAL counts as one."""

    slices: list[list[float]] = field(default_factory=lambda: [[]])
    statuses: Counter[str] = field(default_factory=Counter)

    def note(self, answer: bytes, seconds: float) -> None:
        """Count one answer."""
        self.slices[-1].append(seconds)
        parts = answer.split(b" ", 2)
        self.statuses[parts[1].decode() if len(parts) > 1 else "none"] += 1
        if b'"INTERNAL"' in answer:
            self.statuses["INTERNAL"] += 1

    @property
    def p99(self) -> float:
        """The 99th percentile in milliseconds."""
        return median(quantiles(one, n=100, method="inclusive")[98] for one in self.slices) * 1000

    @property
    def faults(self) -> int:
        """Answers that blame the server."""
        return sum(
            n for status, n in self.statuses.items() if status[0] == "5" or status == "INTERNAL"
        )


class Client:
    """Sends requests to one server, each on a connection of its own."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        assert address.hostname is not None
        assert address.port is not None
        self._address = address.hostname, address.port

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a connection until the block ends."""
        reader, writer = await asyncio.open_connection(*self._address)
        try:
            yield reader, writer
        finally:
            writer.close()

    async def ask(self, body: bytes, seen: Seen) -> None:
        """Send one operation and read all of its answer."""
        began = time.monotonic()
        answer = bytearray()
        try:
            async with self.connected() as (reader, writer):
                writer.write(head(len(body)) + body)
                while part := await reader.read(65_536):
                    answer += part
        except ConnectionError:
            pass  # an answer that came before the end of the body is one all the same
        seen.note(bytes(answer), time.monotonic() - began)


async def pages(client: Client) -> Seen:
    """Ask for a page now and then, for ``SLICES`` times ``SECONDS``."""
    seen = Seen([])
    for _ in range(SLICES):
        seen.slices.append([])
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            await client.ask(body(_PAGE), seen)
            await asyncio.sleep(PAUSE)
    return seen


def neighbour(client: Client) -> Seen:
    """Ask for pages in an event loop that nobody else's work goes through."""
    return asyncio.run(pages(client))
