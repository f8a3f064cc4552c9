"""A load generator: clients that ask again as soon as they are answered."""

import asyncio
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import uvloop

GIVE_UP = 5.0
"""Seconds after which a client takes its request for lost."""


@dataclass
class Phase:
    """What a number of clients saw for some seconds."""

    clients: int
    seconds: float
    served: list[tuple[float, float]] = field(default_factory=list)
    """When each page came, in seconds since the start, and after how long."""
    shed: list[float] = field(default_factory=list)
    """After how long each 503 came."""
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def goodput(self) -> float:
        """Pages a second."""
        return len(self.served) / self.seconds


def run(url: str, body: bytes, phases: list[Phase], fresh: bool) -> list[Phase]:
    """Run the phases without a pause; with ``fresh`` each request has a connection of its own."""
    uvloop.run(_run(url, body, phases, fresh=fresh))
    return phases


async def _run(url: str, body: bytes, phases: list[Phase], *, fresh: bool) -> None:
    for phase in phases:
        client = Client(url, body, phase, fresh=fresh)
        await asyncio.gather(*[client.ask_on() for _ in range(phase.clients)])


class Client:
    """Asks for one page, over and over, with ``pause`` seconds between an answer and the next."""

    def __init__(
        self, url: str, body: bytes, phase: Phase, *, fresh: bool, pause: float = 0.0
    ) -> None:
        address = urlsplit(url)
        self._place = address.hostname, address.port
        head = [
            "POST /graphql HTTP/1.1",
            f"Host: {address.netloc}",
            "Content-Type: application/json",
            "Accept: application/json",
            f"Content-Length: {len(body)}",
            f"Connection: {'close' if fresh else 'keep-alive'}",
        ]
        self._request = "\r\n".join([*head, "", ""]).encode() + body
        self._phase = phase
        self._pause = pause
        self._start = time.perf_counter()

    async def ask_on(self) -> None:
        """Ask until the phase ends."""
        end = self._start + self._phase.seconds
        connection = None
        while (asked := time.perf_counter()) < end:
            try:
                async with asyncio.timeout(GIVE_UP):
                    connection = connection or await asyncio.open_connection(*self._place)
                    head, body = await self._answer(*connection)
            except (OSError, EOFError, TimeoutError) as error:
                self._phase.failed[type(error).__name__] += 1
                head = b"connection: close"
            else:
                self._note(head, body, asked)
            if b"connection: close" in head and connection is not None:
                connection[1].close()
                connection = None
            if self._pause:
                await asyncio.sleep(self._pause)
        if connection is not None:
            connection[1].close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[bytes, bytes]:
        writer.write(self._request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        return head, await reader.readexactly(int(length[1]))

    def _note(self, head: bytes, body: bytes, asked: float) -> None:
        now = time.perf_counter()
        status = head[9:12]
        if status == b"200" and b'"errors"' not in body:
            self._phase.served.append((now - self._start, now - asked))
        elif status == b"503" and b"retry-after" in head:
            self._phase.shed.append(now - asked)
        else:
            self._phase.failed[status.decode()] += 1
