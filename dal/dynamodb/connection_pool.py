"""The pool of HTTP/1.1 connections to DynamoDB. A connection carries one request at a time.

httptools parses the responses. A connection is used again only after a complete response, and only
if the endpoint keeps the connection open. Otherwise a request could receive the late response to an
earlier request.
"""

import asyncio
import ssl
from collections.abc import Awaitable
from http import HTTPStatus
from socket import SOCK_STREAM
from typing import NamedTuple, cast

from aiohappyeyeballs import start_connection
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

CONNECT_SECONDS = 1.5
"""Maximum seconds to open a connection, including the lookup of the host and TLS."""

NEXT_ADDRESS_SECONDS = 0.25
"""Seconds after which the pool also tries the host's next address, if the connection is not open
yet (RFC 8305)."""

IDLE_SECONDS = 12.0
"""A connection that was idle for this many seconds is not used again, because the endpoint may
close it at any moment. A request that finds such a connection in the pool closes it."""


class HttpResponse(NamedTuple):
    """A response as received, without checks. A missing header is an empty string."""

    status: int
    checksum: bytes
    content_type: bytes
    body: bytes


class HttpConnection(asyncio.Protocol):
    """One connection of the pool. The pool calls ``send`` and ``close``.

    asyncio and httptools call the other methods.
    """

    def __init__(self) -> None:
        self.usable = True
        self.idle_since = 0.0
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        # The parser calls these for each header and each part of the body. A response has seven
        # headers, and a function in Python would be slower.
        self.on_header = self._headers.__setitem__
        self.on_body = self._body.append
        self._parser = HttpResponseParser(self)
        self._response: asyncio.Future[HttpResponse] | None = None

    def send(self, request: bytes) -> Awaitable[HttpResponse]:
        """Send a request, and return an awaitable of the response.

        The awaitable raises ConnectionError if the connection ends before the response is complete.
        """
        self._response = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._response

    def close(self) -> None:
        """Close the connection, and drop all data that was not sent yet."""
        self.usable = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes.

        Close the connection if the bytes are not HTTP, or if no request waits for a response.
        """
        if self._response is None:
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.close()

    def connection_lost(self, _error: Exception | None) -> None:
        """Fail the request in progress."""
        self.usable = False
        if self._response is not None and not self._response.done():
            self._response.set_exception(ConnectionError("The connection was closed."))

    def on_message_begin(self) -> None:
        """Close the connection if the endpoint sends a second response to a request."""
        if self._response is None:
            self.close()

    def on_message_complete(self) -> None:
        """Return the response to the caller of ``send``. Ignore interim responses (status 1xx)."""
        status = self._parser.get_status_code()
        if status < HTTPStatus.OK:
            return
        waiting, self._response = self._response, None
        if not self._parser.should_keep_alive():
            self.close()
        if waiting is not None and not waiting.done():
            headers = {name.lower(): value for name, value in self._headers.items()}
            checksum = headers.get(b"x-amz-crc32", b"")
            content_type = headers.get(b"content-type", b"")
            waiting.set_result(HttpResponse(status, checksum, content_type, b"".join(self._body)))
        self._headers.clear()
        self._body.clear()


class ConnectionPool:
    """The connections to one host and port. The most recently used connection is used first.

    ``tls`` is None for plain HTTP. The pool does not limit the number of connections; ``Gate``
    does.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._host = host
        self._port = port
        self._tls = tls
        self._idle: list[HttpConnection] = []
        self._clock = asyncio.get_running_loop().time

    async def send(self, request: bytes) -> HttpResponse:
        """Send a request and return its response. Raise OSError if no response arrives."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and self._clock() - connection.idle_since < IDLE_SECONDS:
                break
            connection.close()
        else:
            connection = await self._open()
        try:
            response = await connection.send(request)
        except BaseException:
            connection.close()
            raise
        if connection.usable:
            connection.idle_since = self._clock()
            self._idle.append(connection)
        return response

    def close(self) -> None:
        """Close the idle connections."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _open(self) -> HttpConnection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_SECONDS):
            addresses = await loop.getaddrinfo(self._host, self._port, type=SOCK_STREAM)
            # start_connection implements RFC 8305. uvloop's create_connection does not, because it
            # lacks the option happy_eyeballs_delay.
            sock = await start_connection(addresses, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS)
            name = None if self._tls is None else self._host
            _, connection = await loop.create_connection(
                HttpConnection, sock=sock, ssl=self._tls, server_hostname=name
            )
        return connection
