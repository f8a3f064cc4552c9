"""Connections to DynamoDB that are kept: HTTP/1.1, one request at a time on each.

httptools reads the answers, as it reads the server's requests. A connection is used again only when
its answer has come whole and the other side keeps it open: a late answer would be taken for the
next request's.
"""

import asyncio
import ssl
from collections.abc import Awaitable
from dataclasses import dataclass
from http import HTTPStatus
from socket import SOCK_STREAM
from typing import NamedTuple, cast

from aiohappyeyeballs import start_connection
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

CONNECT_SECONDS = 1.5
"""The limit of opening a connection, TLS included."""

NEXT_ADDRESS_SECONDS = 0.25
"""Seconds without a connection until the next address of the host is tried, too (RFC 8305)."""

IDLE_SECONDS = 12.0
"""Seconds after which an idle connection is not reused: the other end may have closed it."""

_KEPT = (b"x-amz-crc32", b"content-type")


class Answer(NamedTuple):
    """An unchecked answer; ``checksum`` and ``content_type`` are empty without their headers."""

    status: int
    checksum: bytes
    content_type: bytes
    body: bytes


class UnansweredError(ConnectionError):
    """A connection ended before its answer was whole; ``untouched`` before any byte of it."""

    def __init__(self, *, untouched: bool) -> None:
        super().__init__("The connection was closed.")
        self.untouched = untouched


class Connection(asyncio.Protocol):
    """One connection; all but ``ask`` and ``close`` is for asyncio and httptools to call."""

    def __init__(self) -> None:
        self.usable = True
        self.idle_since = 0.0
        self._parser = HttpResponseParser(self)
        self._asked: asyncio.Future[Answer] | None = None
        self._begun = False

    def ask(self, request: bytes) -> Awaitable[Answer]:
        """Send a request; UnansweredError when the connection ends before the answer does."""
        self._asked = asyncio.get_running_loop().create_future()
        self._begun = False
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._transport.write(request)
        return self._asked

    def close(self) -> None:
        """End the connection at once; it is not used again."""
        self.usable = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what to write to."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Read on; what comes without or after an answer that was asked for ends the connection."""
        if self._asked is None:
            self.close()
            return
        self._begun = True
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.close()

    def connection_lost(self, _error: Exception | None) -> None:
        """Tell who waits."""
        self.usable = False
        if self._asked is not None and not self._asked.done():
            self._asked.set_exception(UnansweredError(untouched=not self._begun))

    def on_message_begin(self) -> None:
        """Refuse a second answer to one request."""
        if self._asked is None:
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers by which the answer is checked."""
        name = name.lower()
        if name in _KEPT:
            self._headers[name] = value

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Hand the answer over; one that only says to wait is none."""
        if self._parser.get_status_code() < HTTPStatus.OK:
            return
        asked, self._asked = self._asked, None
        if not self._parser.should_keep_alive():
            self.close()
        if asked is not None and not asked.done():
            parts, self._body = self._body, []
            body = parts[0] if len(parts) == 1 else b"".join(parts)
            checksum, kind = [self._headers.get(name, b"") for name in _KEPT]
            asked.set_result(Answer(self._parser.get_status_code(), checksum, kind, body))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where connections go; ``tls`` is None for plain HTTP."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None


class Connections:
    """The connections to one origin: as many as requests at once, the latest used first."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._idle: list[Connection] = []
        self._clock = asyncio.get_running_loop().time

    async def ask(self, request: bytes, *, again: bool) -> Answer:
        """Return the answer to a request; OSError when there is none.

        A connection that was kept may be closed on the other side while the request is on its way.
        Where no byte of an answer came and the request may be sent ``again``, a new one is opened.
        """
        connection = self._kept()
        if connection is not None:
            try:
                return await self._answered(connection, request)
            except UnansweredError as error:
                if not (again and error.untouched):
                    raise
        return await self._answered(await self._opened(), request)

    def close(self) -> None:
        """End the connections that wait for a request."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _answered(self, connection: Connection, request: bytes) -> Answer:
        try:
            answer = await connection.ask(request)
        except BaseException:
            connection.close()
            raise
        if connection.usable:
            connection.idle_since = self._clock()
            self._idle.append(connection)
        return answer

    def _kept(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and self._clock() - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _opened(self) -> Connection:
        origin, loop = self._origin, asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_SECONDS):
            addresses = await loop.getaddrinfo(origin.host, origin.port, type=SOCK_STREAM)
            # Not by create_connection, which knows happy_eyeballs_delay in asyncio, not in uvloop.
            sock = await start_connection(addresses, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS)
            name = None if origin.tls is None else origin.host
            _, connection = await loop.create_connection(
                Connection, sock=sock, ssl=origin.tls, server_hostname=name
            )
        return connection
