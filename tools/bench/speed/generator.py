"""The load generator: clients over HTTP/1.1 that ask again as soon as they are answered.

A client is a protocol of the event loop: no task and no stream stands between an answer and the
next request, so that one process of Python keeps several servers busy.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, cast
from urllib.parse import urlsplit

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"
_CLOSE = b"\r\nconnection: close"
_STATUS = slice(9, 12)
_LOOK_EVERY = 0.25
"""Seconds between two looks for clients that have waited for too long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one request."""

    status: bytes
    """Three digits; empty where none came: the connection broke, or the client gave up."""
    head: bytes
    """In lower case."""
    body: bytes
    asked: float
    """By ``time.perf_counter``, as ``ended`` is."""
    ended: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.asked


class Asking(Protocol):
    """What clients ask, and what becomes of the answers."""

    def next(self) -> tuple[int, bytes] | None:
        """Return the next request, under a number; None when there is no more to ask."""

    def note(self, number: int, answer: Answer) -> None:
        """Take the answer of the request of that number."""


def request(url: str, path: str, body: bytes | None = None, headers: tuple[str, ...] = ()) -> bytes:
    """Return a request as it goes over the wire: a POST of JSON, or a GET without a body."""
    lines = [f"Host: {urlsplit(url).netloc}", *headers]
    if body is None:
        lines = [f"GET {path} HTTP/1.1", *lines]
    else:
        lines = [f"POST {path} HTTP/1.1", *lines, "Content-Type: application/json"]
        lines += ["Accept: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


async def ask(
    url: str, asking: Asking, clients: int, *, patience: float = 60.0, pause: float = 0.0
) -> None:
    """Let clients ask until there is no more to ask and every answer is there.

    Once ``asking`` has no more to ask it must not have any later.

    A client gives up its connection after ``patience`` seconds without an answer and takes another;
    between an answer and its next question it waits for ``pause`` seconds.
    """
    host, _, port = urlsplit(url).netloc.partition(":")
    present: set[_Client] = set()

    async def keep_on() -> None:
        loop = asyncio.get_running_loop()
        following = asking.next()
        while following is not None:
            client = _Client(asking, following, pause)
            try:
                await loop.create_connection(lambda: client, host, int(port))  # noqa: B023 - called at once
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
    """Ask once."""
    once = _Once(request(url, path, body))
    await ask(url, once, 1)
    assert once.answer is not None  # noqa: S101 - clients note each answer, and each that fails
    return once.answer


class _Once:
    def __init__(self, sent: bytes) -> None:
        self._sent: bytes | None = sent
        self.answer: Answer | None = None

    def next(self) -> tuple[int, bytes] | None:
        sent, self._sent = self._sent, None
        return None if sent is None else (0, sent)

    def note(self, number: int, answer: Answer) -> None:  # noqa: ARG002 - there is one
        self.answer = answer


async def _watch(present: set["_Client"], patience: float) -> None:
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        late = time.perf_counter() - patience
        for client in [client for client in present if client.asked < late]:
            client.leave()


class _Client(asyncio.Protocol):
    """One connection, until it ends or there is no more to ask; ``gone`` is done then."""

    def __init__(self, asking: Asking, first: tuple[int, bytes], pause: float) -> None:
        self.asked = time.perf_counter()
        """When the request was asked; that of the first includes the time to connect."""
        self.gone: asyncio.Future[None] = asyncio.Future()
        self._asking = asking
        self._number, self._request = first
        self._pause = pause
        self._waiting = True
        self._transport: asyncio.Transport | None = None
        self._parts = bytearray()
        self._body_at = self._end_at = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no asyncio.Transport by class.
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._parts += data
        if not self._end_at:
            self._read_head()
        if self._end_at and len(self._parts) >= self._end_at:
            self._take()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - its signature
        self.broke()

    def broke(self) -> None:
        """Note that no answer comes any more, if one is waited for."""
        if self._waiting:
            self._note(b"", b"", b"")
        if not self.gone.done():
            self.gone.set_result(None)

    def leave(self) -> None:
        """Give up, whether or not an answer is on its way."""
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
        if at < 0:  # every server here sends one
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
