"""Limits the number of connections, and the time and the bytes of each incomplete request.

The application receives a request only after its last byte has arrived. Until then, the request
uses a connection and memory, but it does not count as a running request.
"""

import re
import resource
from asyncio import AbstractEventLoop, Protocol, TimerHandle, Transport
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeAlias, cast

from starlette.responses import Response
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from server.http.admission import Admission, is_health
from server.http.errors import failure, refusal
from server.http.middleware import LEFT
from server.http.request import MAX_BODY
from server.http.uvicorn_door import ASGI3Application, HttpProtocol

MAX_HEAD = 65_536
"""Maximum bytes of a request without its body: request line, headers, chunk sizes and trailers.
Browsers and CDNs send less than 16,000 bytes. Many tiny headers or chunks cost the server much CPU
time, and much more memory than their size."""

MAX_HEADERS = 100
"""Maximum headers and trailers of a request. A browser's request through a CDN has about 40
headers. Each header needs about 110 bytes of memory."""

MAX_PIPELINED = 100
"""Maximum requests that wait on a connection because the client sent them before it received
earlier responses (HTTP pipelining). Each waiting request needs 2 kB of memory. Browsers do not
pipeline requests."""

MAX_BODIES = 64_000_000
"""Maximum bytes of request bodies that wait for processing, over all connections of a process."""

SEND_TIMEOUT = 30.0
"""Seconds in which a client must receive ``MIN_TAKEN`` bytes of a response."""

MIN_TAKEN = 16_384
"""Bytes that a client must receive in each ``SEND_TIMEOUT`` while its connection's write buffer is
full. If a client receives fewer bytes, the server closes the connection. Without this minimum,
responses to slow clients would occupy memory for hours."""

RequestHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]

_DESCRIPTORS = 65_536
"""Maximum number of file descriptors that the server requests from the system. Some systems allow
1,000,000,000, far more than a process needs."""

_RESERVE = 256
"""Number of file descriptors that are not for clients' connections. The server uses them for files,
for connections to the store, and for connections that it refuses with 503."""

_SURPLUS = 64
"""Number of connections above the maximum that the server accepts for health checks."""

_PIECE = 4_096
"""Number of bytes that are parsed at a time. Limits are checked after each such piece, so a request
can exceed a limit by at most this number of bytes."""

_UPGRADE = re.compile(rb"\r\nupgrade(?=[ \t]*:)", re.IGNORECASE)

_LINGER = 1.0
"""Seconds between the last response and the end of its connection. If the server closed the
connection immediately, the client could lose the response."""

_LAST_CALL = 1.0
"""Seconds for which a stopping server continues to accept requests on idle connections. A client
may send a request because it does not know yet that the server will close the connection."""

_NEXT_READ = 0.01
"""Seconds from the end of ``_LAST_CALL`` until an idle connection closes. Meanwhile the event loop
reads the data that has already arrived."""

ENDING = "marginalia.ending"
"""The key of an ASGI extension: a function that sets a callback. The server calls the callback when
it begins to stop, or immediately if it is stopping."""

STATE = "connections"
"""The key of the ``Connections`` object in the lifespan state of ASGI."""


def raise_descriptor_limit() -> int:
    """Raise the process's limit of file descriptors to ``_DESCRIPTORS``, or as far as possible.

    Return the new limit, or ``_DESCRIPTORS`` if the limit is higher.
    """
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, most = (_DESCRIPTORS if one == resource.RLIM_INFINITY else one for one in limits)
    most = min(most, _DESCRIPTORS)
    # The system may refuse a value below the hard limit. On macOS the hard limit is infinite, but
    # the system refuses more than kern.maxfilesperproc. So try smaller values.
    while most > soft:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
            return most
        most //= 2
    return min(soft, _DESCRIPTORS)


def max_connections(descriptors: int) -> int:
    """Return the maximum number of clients' connections for this number of file descriptors.

    At least half of the descriptors are for clients, even if the rest is less than ``_RESERVE``.
    """
    return max(descriptors - _RESERVE, descriptors // 2)


def _wire(response: Response, connection: bytes = b"close") -> bytes:
    """Return the bytes of an HTTP response with a ``Connection`` header."""
    headers = [(b"connection", connection), *response.raw_headers]
    lines = [name + b": " + value for name, value in headers]
    return STATUS_LINE[response.status_code] + b"\r\n".join([*lines, b"", bytes(response.body)])


_TOO_SLOW = _wire(failure(408, "The request did not arrive in time."))
_HEAD_TOO_LARGE = _wire(
    failure(431, f"The request line and the headers exceed {MAX_HEAD:,} bytes.")
)
_CHUNKS_TOO_SMALL = _wire(
    failure(
        413,
        f"The chunk-size lines and the trailers exceed {MAX_HEAD:,} bytes: send fewer, larger "
        "chunks.",
    )
)
_MALFORMED = _wire(failure(400, "The request is not valid HTTP/1.1."))
_BUSY = refusal(503, "The server is busy: try again in a second.", 1)
BUSY = _wire(_BUSY)
"""The last response on a connection of a busy server."""

_BUSY_KEPT = _wire(_BUSY, b"keep-alive")
_FULL = _wire(
    refusal(503, "The server has too many connections or requests: try again in a second.", 1)
)


class SendTimeout(Protocol):
    """Closes a connection if the write buffer is full and the client reads almost nothing.

    Also tells long responses that the server stops: see ``ENDING``.
    """

    loop: AbstractEventLoop
    transport: Transport
    _send_timer: TimerHandle | None = None
    _shared: "Connections"
    _on_ending: Callable[[], None] | None = None
    """Ends a long response when the server stops."""

    def _set_on_ending(self, act: Callable[[], None]) -> None:
        self._on_ending = act
        # A long response may begin after the server has called ``shutdown``.
        if self._shared.ending:
            act()

    def pause_writing(self) -> None:
        """Start a timer for ``SEND_TIMEOUT``, because the write buffer is full.

        If the client has read fewer than ``MIN_TAKEN`` bytes when the timer expires, close the
        connection. Otherwise start the timer again.
        """
        super().pause_writing()
        self._compare_after(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop the timer, because the client has read most of the write buffer."""
        super().resume_writing()
        self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _compare_after(self, unread: int) -> None:
        def compare() -> None:
            left = self.transport.get_write_buffer_size()
            if unread - left < MIN_TAKEN:
                self.transport.abort()
            else:
                self._compare_after(left)

        self._send_timer = self.loop.call_later(SEND_TIMEOUT, compare)

    def _stop_timer(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()


class ResponseTransport:
    """A connection's transport for one response: joins the head with the first bytes of the body.

    uvicorn writes the head and the body, and uvloop sends each write at once. A joined write saves
    a system call and a packet. The head of a response without a length is not held back, because
    the first bytes of such a body, for example a subscription's event, may come much later.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing
        self._head: bytes | None = None
        """The head until it is sent; None before the first write."""

    def write(self, data: bytes) -> None:
        """Send ``data``, unless it is the head of a response whose length is known."""
        if self._head is None and b"\r\ncontent-length: " in data:
            self._head = data
        else:
            self._transport.write(self._head + data if self._head else data)
            self._head = b""

    def close(self) -> None:
        """Send the head if it was held back, and close the connection."""
        self.write(b"")
        self._transport.close()


@dataclass
class Connections:
    """The limits that all connections share, and the connections without a complete request."""

    admission: Admission
    most: int
    request_timeout: float
    busy_page: Callable[[RequestHeaders], Response | None] = lambda _: None
    """Returns the page that a busy server shows to a browser, or None for other clients."""
    expectant: dict["Connection", None] = field(default_factory=dict)
    """The connections without a complete request. The connection that has waited longest is
    first."""
    bodies: int = 0
    """The number of bytes of all request bodies that the application has not received yet."""
    ending: bool = False
    """Whether the server is stopping. If so, each connection closes after its next response."""


class Connection(SendTimeout, HttpProtocol):
    """One client's connection.

    If there are too many connections, the server closes a connection without a complete request:
    the connection that has waited longest. If all connections have complete requests, a new
    connection allows only health checks. The server accepts ``_SURPLUS`` such connections, and
    closes further connections immediately.
    """

    upgrade: ClassVar = _UPGRADE
    """Matches a header that offers a protocol that the server does not support."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._shared: Connections = app_state[STATE]
        self.surplus = False
        """Whether this connection is above the maximum number. It then allows only health
        checks."""
        self._timer: TimerHandle | None = None
        self._partial = False
        """Whether a request has begun but is not complete."""
        self._in_head = False
        self._allowance = 0
        """The number of bytes that may still arrive for this request outside its body."""
        self._headers = 0
        """The number of headers and trailers in this request."""
        self._fault = _MALFORMED
        """The response that the client gets if the parser or one of its callbacks fails."""
        self._body = 0
        """The number of bytes of this request's body that the application has not received yet."""
        self._left = False
        """Whether the client has disconnected."""
        self._ended = False
        """Whether the server has stopped parsing. The client may still read its last response."""
        self._idle_since = 0.0
        """The time of the last response."""
        self._idle_timer: TimerHandle | None = None
        self._on_leaving: Callable[[], None] | None = None
        """Cancels the running request when the client disconnects."""
        self._submitted: RequestResponseCycle | None = None
        """The latest request that was submitted."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a request. If there are too many connections, close one of them."""
        super().connection_made(transport)
        surplus = len(self.connections) - self._shared.most
        # A connection has no address if its client has already disconnected.
        if surplus > _SURPLUS or self.client is None:
            transport.abort()
            return
        if surplus > 0:
            # Close the connection that has waited longest for a complete request, if there is one.
            oldest = next((each for each in self._shared.expectant if not each.surplus), None)
            self.surplus = oldest is None
            if oldest is not None:
                oldest.end(_FULL, linger=0)
        self._shared.expectant[self] = None
        self._set_timer()
        # A server that begins to stop calls ``shutdown`` for all connections that are open then.
        # This connection was opened later, so call it here.
        if self._shared.ending:
            self.shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the running request, and remove the connection and its body from the counts."""
        self._left = True
        if self._on_leaving is not None:
            self._on_leaving()
        if self.cycle is not None:
            # Free the memory now, because the request may stay in the queue for some seconds.
            self.cycle.body = bytearray()
        if self._submitted is not None:
            # In a pipeline, uvicorn marks only the latest request.
            self._submitted.disconnected = True
            self._submitted.message_event.set()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._arrived()
        self._release()
        self._shared.expectant.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes. Close the connection if the request exceeds a limit."""
        if b"pgrade" in data and not self._partial:
            # A client may offer another protocol in the header ``Upgrade``. Java's client, for
            # example, offers HTTP/2 with the first request of each connection. The parser would
            # then stop parsing HTTP, even if the server does not support the protocol. So the
            # header is renamed. If the head is incomplete, ``find`` returns -1. ``end`` is then 1,
            # and nothing is renamed.
            end = data.find(b"\r\n\r\n") + 2
            data = self.upgrade.sub(b"\r\nx-offer", data[:end]) + data[end:]
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            super().data_received(piece)
            if self._ended or self.transport.get_protocol() is not self:
                return
            if not self._partial:
                continue
            self._allowance -= len(piece)
            if self._allowance < 0:
                self.end(_HEAD_TOO_LARGE if self._in_head else _CHUNKS_TOO_SMALL)
            elif self._shared.bodies > MAX_BODIES:
                self.end(_FULL)
            elif self._timer is None:
                self._set_timer()

    def on_message_begin(self) -> None:
        """Start to count the bytes of a new request."""
        super().on_message_begin()
        self._partial = self._in_head = True
        self._allowance = MAX_HEAD
        self._headers = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header. Ignore a trailer (a header after the body): it could replace a header."""
        self._headers += 1
        if self._headers > MAX_HEADERS:
            raise self._fault_of(431, f"The request has more than {MAX_HEADERS} headers.")
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Reject a request that a proxy could interpret in another way than this server.

        Also reject a request with an unknown version of HTTP, or a request after ``MAX_PIPELINED``
        requests of this connection that still wait.
        """
        version = self.parser.get_http_version()
        names = [name for name, _ in self.headers]
        hosts, coded = names.count(b"host"), b"transfer-encoding" in names
        if version not in ("1.0", "1.1"):
            raise self._fault_of(505, "The server supports HTTP/1.1 and HTTP/1.0.")
        # A request must have exactly one Host header (RFC 9112, 3.2).
        if hosts > 1 or (hosts == 0 and version == "1.1"):
            raise self._fault_of(400, "The request must have one Host header.")
        if coded and version == "1.0":  # RFC 9112, 6.1, allows a server to reject such a request.
            raise self._fault_of(400, "HTTP/1.0 has no Transfer-Encoding: send HTTP/1.1.")
        if self.parser.should_upgrade() and (coded or b"content-length" in names):
            # Otherwise the parser would read the body as the next request.
            raise self._fault_of(400, "A request for another protocol must have no body.")
        if len(self.pipeline) == MAX_PIPELINED:
            raise self._fault_of(503, "Too many requests wait on this connection.")
        self._in_head = False
        super().on_headers_complete()
        if self._shared.ending and self.cycle is not None:
            self.cycle.keep_alive = False

    def _fault_of(self, status: int, sentence: str) -> ValueError:
        """Return an error that stops the parser. uvicorn then calls ``send_400_response``."""
        self._fault = _wire(failure(status, sentence))
        return ValueError(sentence)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's text
        """Send the response ``_fault``. uvicorn's name says 400, but the status may differ."""
        self.end(self._fault)

    def on_body(self, body: bytes) -> None:
        """Store a part of the body, and continue to read.

        If the body is too large, submit the request without the rest of its body. The application
        then refuses the request.
        """
        super().on_body(body)
        self._allowance += len(body)
        if self.pipeline or self not in self._shared.expectant:
            return
        self._body += len(body)
        self._shared.bodies += len(body)
        if self._body > MAX_BODY:
            self.start_task(self.cycle, self.app)
        else:
            self.flow.resume_reading()

    def on_message_complete(self) -> None:
        """Submit the complete request, unless an earlier request has no response yet."""
        super().on_message_complete()
        if self.parser.should_upgrade() and self.upgrades():
            return
        self._arrived()
        if not self.pipeline:
            self.start_task(self.cycle, self.app)

    def start_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Submit a request if it is complete or too large. Otherwise wait for the rest of its body.

        uvicorn calls this method before the body arrives, and also when the server has sent a
        response and the next request is already waiting (a pipeline).
        """
        whole = not cycle.more_body or self._body > MAX_BODY
        if not whole and cycle.waiting_for_100_continue:
            cycle.waiting_for_100_continue = False
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not whole or self not in self._shared.expectant:
            return
        path = cycle.scope["path"]
        if self.surplus and not is_health(path):
            self._partial = True
            self.end(_FULL)
            return
        del self._shared.expectant[self]
        if self._shared.bodies > MAX_BODIES and not is_health(path):
            self._refuse(cycle)
            return
        self._submitted = cycle
        serve, refuse = partial(self._serve, cycle, app), partial(self._refuse, cycle)
        self._shared.admission.submit(cycle.scope, serve, refuse)

    def _serve(self, cycle: RequestResponseCycle, app: ASGI3Application) -> bool:
        if cycle.disconnected:
            return False
        self._release()
        extensions: Any = {LEFT: self._set_on_leaving, ENDING: self._set_on_ending}
        cycle.scope["extensions"] = extensions
        if cycle.scope["method"] != "HEAD":  # only this response has a length and no body
            cycle.transport = cast("Transport", ResponseTransport(self.transport))
        self.run_task(cycle, app)
        return True

    def _set_on_leaving(self, act: Callable[[], None] | None) -> None:
        self._on_leaving = act
        # The client may have disconnected before the application started.
        if self._left and act is not None:
            act()

    def _refuse(self, cycle: RequestResponseCycle) -> None:
        """Send a 503 response. Do not call the application.

        This method must be fast, because a busy server may refuse ten requests for each request
        that it serves.
        """
        if cycle.disconnected:
            return
        self._release()
        cycle.response_started = cycle.response_complete = True
        page = self._shared.busy_page(cycle.scope["headers"])
        if page is not None:
            answer = _wire(page, b"keep-alive" if cycle.keep_alive else b"close")
        else:
            answer = _BUSY_KEPT if cycle.keep_alive else BUSY
        if cycle.scope["method"] == "HEAD":  # The response has no body (RFC 9110, 9.3.2).
            answer = b"".join(answer.partition(b"\r\n\r\n")[:2])
        self.transport.write(answer)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request. If this request's body is incomplete, close the connection.

        This method replaces uvicorn's, which would start a timer now and cancel it at the next
        request. Each end of a timer lets uvloop poll once more.
        """
        self._on_ending = None
        self._shared.expectant[self] = None
        self.server_state.total_requests += 1
        if self.cycle.response_complete and self.cycle.more_body:
            self.end(b"")
        elif not self.transport.is_closing():
            self.flow.resume_reading()
            if self.pipeline:
                self.start_task(*self.pipeline.pop())
                return
            self._idle_since = self.loop.time()
            if self._idle_timer is None:
                self._watch_idleness(self.timeout_keep_alive)

    def _watch_idleness(self, seconds: float) -> None:
        self._idle_timer = self.loop.call_later(seconds, self._end_idleness)

    def _end_idleness(self) -> None:
        """Close the connection if it was idle for ``timeout_keep_alive`` seconds."""
        self._idle_timer = None
        if self in self._shared.expectant and not self._partial:
            left = self._idle_since + self.timeout_keep_alive - self.loop.time()
            if left > 0:
                self._watch_idleness(left)
            else:
                self.transport.close()

    def shutdown(self) -> None:
        """Close the connection after its running request, or in a second if it has no request."""
        self._shared.ending = True
        if self in self._shared.expectant:
            self.loop.call_later(_LAST_CALL, self._close_soon)
        else:
            super().shutdown()
            if self._on_ending is not None:
                self._on_ending()

    def _close_soon(self) -> None:
        """Close an idle connection soon. If a request has begun, wait for one more second.

        If the CPU was busy, the server may not have read data that has already arrived. The event
        loop reads this data before the new timer expires.
        """
        self.loop.call_later(_LAST_CALL if self._partial else _NEXT_READ, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self in self._shared.expectant:
            self.transport.close()

    def end(self, answer: bytes, linger: float = _LINGER) -> None:
        """Send ``answer`` if a request has begun. Close the connection after ``linger`` seconds."""
        self._ended = True
        # If an earlier request of the pipeline has no response yet, send nothing, because the
        # client would take ``answer`` for the response to that earlier request.
        if self not in self._shared.expectant:
            self.transport.abort()
            return
        del self._shared.expectant[self]
        self.transport.write(answer if self._partial else b"")
        self._arrived()
        self._release()
        if linger and not self.transport.is_closing():
            self.flow.pause_reading()
            self.transport.write_eof()
            self.loop.call_later(linger, self.transport.close)
        else:
            self.transport.close()

    def _set_timer(self) -> None:
        self._timer = self.loop.call_later(self._shared.request_timeout, self.end, _TOO_SLOW)

    def _arrived(self) -> None:
        """Note that this connection has no incomplete request now, and stop the request's timer."""
        self._partial = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _release(self) -> None:
        """Subtract the bytes of this request's body from the sum over all connections."""
        self._shared.bodies -= self._body
        self._body = 0
