"""ASGI middleware: request ids, allowed hosts, CORS, failures, deadlines, and compression.

The module also has functions for entity tags (the header ``ETag``).
"""

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from asgi_correlation_id import correlation_id
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette_compress import CompressMiddleware, add_compress_type

from dal.dynamodb.deadline import deadline_in
from server.http.admission import is_health
from server.http.errors import EXPOSED, failure
from server.http.request import GRAPHQL, header, is_shared
from server.logs import FirstValues
from server.settings import Settings

MAX_HOST = 300
"""Maximum characters of a Host header: a host name has at most 253 characters, and a port has at
most five."""

MAX_REQUEST_ID = 128
"""Maximum characters of a request id, which the server writes to its log."""

Headers = list[tuple[bytes, bytes]]
Address = IPv4Address | IPv6Address

LEFT = "marginalia.left"
"""The key of an ASGI extension: a function that sets a callback. The server calls the callback when
the client disconnects. A task that waits in ``receive`` would also notice the disconnection, but
every request would need such a task."""

SMALLEST = 1_000
"""Minimum bytes of a response that is compressed. Smaller responses fit in one packet without
compression."""

PIECE = 256 * 1024
"""Maximum bytes that are compressed in one turn of the event loop, which takes a few milliseconds.
Compressing a response of 9 MB at once would delay other requests by 0.1 s."""

_API_PATH = "/graphql"
_LOCAL_ORIGIN = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_PREFLIGHT_SECONDS = 24 * 3600
"""Seconds for which a browser may store the response to a preflight request. Some browsers have a
lower limit."""

_CACHED_HOSTS = 1_000

_REQUEST_ID = b"x-request-id"
_SAFE_ID = re.compile(rb"[\w.:=-]{1,%d}" % MAX_REQUEST_ID)
"""Matches request ids that are safe to write to a log without changes."""

_TAG = re.compile(r'"([0-9a-f]{32})(?:-[a-z]+)?"')
"""Matches entity tags of this server. A content coding such as ``-br`` may be at the end."""

logger = logging.getLogger(__name__)

add_compress_type(GRAPHQL)


class RequestIdMiddleware:
    """Gives each request an id. If the client or a proxy has sent a safe id, the request keeps it.

    The response, the log and error messages contain the id. Only responses for shared caches have
    no id, because a cache would send the same id to several clients. This class replaces the
    middleware of asgi-correlation-id, which needs ten times as much time.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on, and add its id to the response."""
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        request_id = request_id_of(scope["headers"])
        correlation_id.set(request_id.decode())

        def send_with_id(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                if not is_shared(headers):
                    message["headers"] = [*headers, (_REQUEST_ID, request_id)]
            return send(message)

        return self._app(scope, receive, send_with_id)


def request_id_of(headers: Headers) -> bytes:
    """Return the id from a request's headers if it is safe to log, or else a new id."""
    for name, value in headers:  # a generator would take twice the time
        if name == _REQUEST_ID:
            if _SAFE_ID.fullmatch(value):
                return value
            break
    return os.urandom(16).hex().encode()


class AllowedHosts:
    """The host names that a request's Host header may contain (RFC 9110, 7.2).

    Any other name is dangerous for two reasons. The HTML pages use the header to build absolute
    links. An attacker can also make a host name resolve to this machine (DNS rebinding), so that a
    browser treats this server as a part of the attacker's site.

    By default, the server accepts the name or address of ``--host``. If other machines can reach
    the server, it also accepts its own IP address, to which the client has connected. These
    defaults are safe, because DNS rebinding needs a host name that the attacker owns.
    ``--public-url`` and ``--allowed-host`` replace the defaults. The names of this machine, such as
    ``localhost``, are always allowed.
    """

    def __init__(self, settings: Settings) -> None:
        public = urlsplit(settings.public_url).hostname if settings.public_url else None
        named = [*settings.allowed_hosts, *([public] if public else [])]
        self.by_address = not named and not is_loopback(settings.host)
        """Whether the Host header may contain the server's own IP address in the connection."""
        patterns = [one.lower().strip("[]") for one in (named or [settings.host])]
        self._names = {_spelled(one) for one in patterns if not one.startswith("*")}
        self._endings = tuple(one[1:] for one in patterns if one.startswith("*."))
        self._any = "*" in patterns
        self._is_named = lru_cache(_CACHED_HOSTS)(self._is_named_uncached)

    def allow(self, host: str, local: str | None) -> bool:
        """Return whether the Host header of a request may contain ``host``.

        ``local`` is the server's own IP address in the request's connection.
        """
        if self._any:
            return True
        if len(host) > MAX_HOST:
            return False
        if self._is_named(host):
            return True
        address = _address(_name(host)) if self.by_address else None
        return address is not None and address == _address(local or "")

    def _is_named_uncached(self, host: str) -> bool:
        name = _name(host)
        return is_loopback(name) or _spelled(name) in self._names or name.endswith(self._endings)


def is_loopback(name: str) -> bool:
    """Return whether a host name or address means this machine, such as ``localhost``."""
    address = _address(name)
    if address is not None:
        return address.is_loopback
    return name == "localhost" or name.endswith(".localhost")


def _name(host: str) -> str:
    """Return the name in a Host header in lower case, without port and brackets.

    Return an empty text if the header is invalid.
    """
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    return parts.hostname or "" if parts.netloc == host and parts.username is None else ""


def _spelled(name: str) -> str:
    """Return a host name, or an address in its standard form: an address has several forms."""
    return str(_address(name) or name)


def _address(name: str) -> Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


class HostMiddleware:
    """Refuses requests for hosts that are not allowed, with status 421 (RFC 9110, 15.5.20).

    Health checks are always allowed, because load balancers send them to the server's IP address.
    Starlette's TrustedHostMiddleware would refuse such health checks. It also cannot accept the
    server's own IP address, and its response does not contain the refused host.
    """

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        self._app = app
        self._hosts = hosts
        self._logged = FirstValues()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on, or refuse it."""
        if scope["type"] != "lifespan" and not is_health(scope["path"]):
            host = header(scope, b"host") or ""
            local, _ = scope.get("server") or (None, None)
            if not self._hosts.allow(host, local):
                shown = host[:MAX_HOST]
                if self._logged.adds(shown):
                    logger.warning(
                        "Requests for the host %r are refused: allow it with --public-url or "
                        "--allowed-host.",
                        shown,
                    )
                message = f"This server does not serve the host {shown!r}."
                return failure(421, message)(scope, receive, send)
        return self._app(scope, receive, send)


def is_allowed(origin: str, origins: Sequence[str], *, local: bool) -> bool:
    """Return whether scripts of pages from ``origin`` may call the API.

    With ``local``, pages from this machine may call the API, too.
    """
    return "*" in origins or origin in origins or (local and bool(_LOCAL_ORIGIN.fullmatch(origin)))


def is_own(origin: str, host: str | None) -> bool:
    """Return whether ``origin`` is the origin of this server. The scheme is not compared.

    Browsers send the origin ``null`` for a local file, for example. The server never has this
    origin.
    """
    return origin.partition("://")[2] == host


class CrossOriginMiddleware:
    """Adds CORS headers to the API's responses, so that pages of ``origins`` can call the API.

    The origin ``*`` means all origins. With ``local``, pages from this machine can call the API,
    too. The middleware whose responses are errors must be inside this middleware. Otherwise the
    scripts of a page could not read these responses. Cookies are not allowed, because the
    API reads only the Authorization header. All other headers are allowed, because client libraries
    and tracing add headers. Only responses of the path ``/graphql`` get CORS headers here.
    """

    def __init__(self, app: ASGIApp, *, origins: Sequence[str], local: bool) -> None:
        self._app = app
        self._api: ASGIApp | None = None
        if origins or local:
            self._api = CORSMiddleware(
                app,
                allow_origins=origins,
                allow_origin_regex=_LOCAL_ORIGIN.pattern if local else None,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=EXPOSED,
                max_age=_PREFLIGHT_SECONDS,
            )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on, or respond to a browser's preflight request."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        if self._api is None or path != _API_PATH:
            return self._app(scope, receive, send)
        if scope["type"] != "http" or header(scope, b"origin") is not None:
            return self._api(scope, receive, send)

        # Starlette would need four coroutines for this header.
        def varied_send(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message["headers"] = varied(message["headers"], b"Origin")
            return send(message)

        return self._app(scope, receive, varied_send)


class DeadlineMiddleware:
    """Runs each request within a deadline, and cancels it if its client disconnects.

    The time in which a slow client sends its request does not count, because the server's
    connections call the application only after the last byte of a request has arrived.

    After an uncaught exception, it sends a response with status 500, and logs the exception.
    """

    def __init__(self, app: ASGIApp, *, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on. Send no response if the client has disconnected.

        If the response has already begun, raise the exception again.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        def noting_send(message: Message) -> Awaitable[None]:
            nonlocal started
            started = True
            return send(message)

        task: Any = asyncio.current_task()
        left = False

        def leave() -> None:
            """Cancel the request, because the client has disconnected."""
            nonlocal left
            left = True
            task.cancel()

        set_on_leaving = scope.get("extensions", {}).get(LEFT, lambda _: None)
        try:
            with deadline_in(self._seconds):
                set_on_leaving(leave)
                try:
                    await self._app(scope, receive, noting_send)
                finally:
                    set_on_leaving(None)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:
            if not left:
                raise
        except Exception:
            if started:
                raise
            request_id = correlation_id.get()
            logger.exception("%s %r failed, request %s", scope["method"], scope["path"], request_id)
            message = f"The server failed. If you report this, include the request id {request_id}."
            await failure(500, message)(scope, receive, send)


def entity_tag(body: bytes) -> str:
    """Return a strong entity tag for an uncompressed response: a hash of 128 bits."""
    return f'"{blake2b(body, digest_size=16).hexdigest()}"'


def encoded(headers: Headers) -> None:
    """Add the content coding, for example ``-br``, to a strong entity tag in ``headers``.

    A strong tag identifies the exact bytes of a response, and they differ between codings (RFC
    9110, 8.8.3.3).
    """
    found = dict(headers)
    coding, tag = found.get(b"content-encoding"), found.get(b"etag")
    if coding is not None and tag is not None and tag.startswith(b'"'):
        headers[headers.index((b"etag", tag))] = (b"etag", b'%b-%b"' % (tag[:-1], coding))


def varied(headers: Headers, by: bytes) -> Headers:
    """Return ``headers`` with one header ``Vary``, which also contains the name ``by``."""
    given, others = list[bytes](), Headers()
    for name, value in headers:
        if name == b"vary":
            given.append(value)
        else:
            others.append((name, value))
    return [*others, (b"vary", b", ".join([*given, by]))]


def matching(if_none_match: str | None, tag: str) -> str | None:
    """Return the tag in ``If-None-Match`` that equals ``tag``, or None.

    The returned tag may contain any content coding. Weak tags match, too (RFC 9110, 13.1.2),
    because a cache that compresses a response makes its tag weak.
    """
    for found in _TAG.finditer(if_none_match or ""):
        if f'"{found[1]}"' == tag:
            return found[0]
    return None


def _in_pieces(app: ASGIApp) -> ASGIApp:
    """Return an application that sends a long body in several turns of the event loop."""

    def divided(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        async def send_pieces(message: Message) -> None:
            body = message["body"]
            ends = range(PIECE, len(body), PIECE)
            for end in ends:
                await send({**message, "body": body[end - PIECE : end], "more_body": True})
                await asyncio.sleep(0)
            await send({**message, "body": body[len(ends) * PIECE :]})

        def sending(message: Message) -> Awaitable[None]:
            return (send_pieces if len(message.get("body", b"")) > PIECE else send)(message)

        return app(scope, receive, sending)

    return divided


_STATIC = re.compile(r"/static/|/widget\.js$")
"""Matches the paths of static files, also below the path at which a proxy serves the site."""


class CompressionMiddleware:
    """Compresses responses with brotli or gzip at level 1, which needs little CPU time.

    Static files are not compressed here. The pages compress them once, and add their own headers.

    Responses to requests with a cookie are not compressed, because of an attack (BREACH,
    https://breachattack.com). A page for a signed-in visitor contains a secret, ``form_key``. It
    also contains parts of its address, which an attacker's site can choose. If the site puts a
    correct guess of a part of the secret into the address, the compressed page becomes shorter,
    because it contains this part twice. GraphQL's responses contain no such secret.

    zstd is not used. Its responses are 6 % smaller than brotli's, but it is slower, and its import
    takes 24 ms when the server starts.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressed = CompressMiddleware(
            _in_pieces(app), minimum_size=SMALLEST, zstd=False, brotli_quality=1, gzip_level=1
        )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on, and compress the response."""
        if scope["type"] != "http" or _STATIC.search(scope["path"]):
            return self._app(scope, receive, send)
        given = dict(scope["headers"])
        compresses = b"accept-encoding" in given and b"cookie" not in given

        def tagging_send(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                size = dict(headers).get(b"content-length")
                if compresses:
                    encoded(headers)
                elif size is None or int(size) >= SMALLEST:
                    # Other clients get the body compressed. Caches need this value in every
                    # response of the same address.
                    message["headers"] = varied(headers, b"Accept-Encoding")
            return send(message)

        return (self._compressed if compresses else self._app)(scope, receive, tagging_send)
