"""The load generator: HTTP/1.1 clients that send a request, wait for its response, and repeat.

A client is an asyncio protocol: the callback that receives a response also sends the next request.
No asyncio task or stream is involved in this. This saves so much CPU time that one Python process
can keep several server processes busy.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from ssl import SSLContext
from typing import Protocol, cast
from urllib.parse import urlsplit

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"
_CLOSE = b"\r\nconnection: close"
_STATUS = slice(9, 12)
_LOOK_EVERY = 0.25
"""Seconds between two checks for requests without a response."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to one request."""

    status: bytes
    """The three digits of the status. Empty if the connection broke or the client gave up."""
    head: bytes
    """The head of the response in lower case."""
    body: bytes
    asked: float
    """The time when the request was sent, from ``time.perf_counter``. ``ended`` is the time when
    the response was complete."""
    ended: float

    @property
    def seconds(self) -> float:
        """Seconds between request and response."""
        return self.ended - self.asked


class Asking(Protocol):
    """Supplies requests, and receives their responses."""

    def next(self) -> tuple[int, bytes] | None:
        """Return the next request and its number. After the last request, always return None."""

    def note(self, number: int, answer: Answer) -> None:
        """Receive the response to a request."""


def request(url: str, path: str, body: bytes | None = None, headers: tuple[str, ...] = ()) -> bytes:
    """Return the bytes of a request: a POST of JSON, or a GET without a body."""
    lines = [f"Host: {urlsplit(url).netloc}", *headers]
    if body is None:
        lines = [f"GET {path} HTTP/1.1", *lines]
    else:
        lines = [f"POST {path} HTTP/1.1", *lines, "Content-Type: application/json"]
        lines += ["Accept: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


async def ask(
    url: str,
    asking: Asking,
    clients: int,
    *,
    patience: float = 60.0,
    pause: float = 0.0,
    tls: SSLContext | None = None,
    source: str | None = None,
) -> None:
    """Send all requests of ``asking`` by several clients, and wait for every response.

    A client closes its connection after ``patience`` seconds without a response and opens another.
    Between a response and its next request, a client waits for ``pause`` seconds. With ``tls``, the
    connections are encrypted. With ``source``, this is the address of the clients.
    """
    host, _, port = urlsplit(url).netloc.partition(":")
    present: set[_Client] = set()

    async def keep_on() -> None:
        loop = asyncio.get_running_loop()
        following = asking.next()
        while following is not None:
            client = _Client(asking, following, pause)
            try:
                await loop.create_connection(
                    lambda: client,  # noqa: B023 - called in this iteration
                    host,
                    int(port),
                    ssl=tls,
                    # Only with ``source``: then ``bind`` chooses the port, and skips the ports of
                    # connections that closed in the last minute (TIME_WAIT). After about 10,000
                    # connections, this search takes more CPU time than a page. ``connect``
                    # reuses such ports after a second.
                    local_addr=(source, 0) if source else None,
                )
            except OSError:
                client.broke()
            present.add(client)
            await client.gone
            present.discard(client)
            await asyncio.sleep(pause)
            following = asking.next()

    watch = asyncio.create_task(_watch(present, patience))
    try:
        await asyncio.gather(*(keep_on() for _ in range(clients)))
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


async def fetch(url: str, path: str, body: bytes | None = None) -> Answer:
    """Send one request."""
    answers: list[Answer] = []
    await ask(url, Once([request(url, path, body)], lambda _, answer: answers.append(answer)), 1)
    return answers[0]


class Once:
    """Sends each request once, and passes each response to ``keep``."""

    def __init__(self, requests: Iterable[bytes], keep: Callable[[int, Answer], None]) -> None:
        self._left = enumerate(requests)
        self._keep = keep

    def next(self) -> tuple[int, bytes] | None:
        """Return the next request and its number."""
        return next(self._left, None)

    def note(self, number: int, answer: Answer) -> None:
        """Receive the response to a request."""
        self._keep(number, answer)


async def _watch(present: set["_Client"], patience: float) -> None:
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        late = time.perf_counter() - patience
        for client in [client for client in present if client.asked < late]:
            client.leave()


class _Client(asyncio.Protocol):
    """One connection. ``gone`` is done after the last response, or when the connection breaks."""

    def __init__(self, asking: Asking, first: tuple[int, bytes], pause: float) -> None:
        self.asked = time.perf_counter()
        """The time when the request was sent. For the first request, the time when the client
        began to connect."""
        self.gone: asyncio.Future[None] = asyncio.Future()
        self._asking = asking
        self._number, self._request = first
        self._pause = pause
        self._waiting = True
        self._transport: asyncio.Transport | None = None
        self._parts = bytearray()
        self._body_at = self._end_at = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not inherit from asyncio.Transport.
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._parts += data
        if not self._end_at:
            self._read_head()
        if self._end_at and len(self._parts) >= self._end_at:
            self._take()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self.broke()

    def broke(self) -> None:
        """End the client. If its request has no response yet, record an empty response."""
        if self._waiting:
            self._note(b"", b"", b"")
        if not self.gone.done():
            self.gone.set_result(None)

    def leave(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()

    def _send(self) -> None:
        assert self._transport is not None  # noqa: S101 - connection_made has set it
        self._parts.clear()
        self._end_at = 0
        self._transport.write(self._request)

    def _read_head(self) -> None:
        end = self._parts.find(_HEAD_END)
        if end < 0:
            return
        head = self._parts[:end].lower()
        at = head.find(_LENGTH)
        if at < 0:  # an invalid response: all compared servers send the header
            self.leave()
            return
        length = int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0])
        self._body_at = end + len(_HEAD_END)
        self._end_at = self._body_at + length

    def _take(self) -> None:
        head = bytes(self._parts[: self._body_at]).lower()
        self._note(head[_STATUS], head, bytes(self._parts[self._body_at : self._end_at]))
        if _CLOSE in head:
            self.leave()
        elif self._pause:
            asyncio.get_running_loop().call_later(self._pause, self._go_on)
        else:
            self._go_on()

    def _note(self, status: bytes, head: bytes, body: bytes) -> None:
        self._waiting = False
        answer = Answer(status, head, body, self.asked, time.perf_counter())
        self._asking.note(self._number, answer)

    def _go_on(self) -> None:
        following = self._asking.next() if not self.gone.done() else None
        if following is None:
            self.leave()
        else:
            self._number, self._request = following
            self._waiting, self.asked = True, time.perf_counter()
            self._send()
