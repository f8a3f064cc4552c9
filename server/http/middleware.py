"""ASGI middleware: request ids, hosts, CORS, failures, deadlines, compression, entity tags."""

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from asgi_correlation_id import correlation_id
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette_compress import CompressMiddleware, add_compress_type, remove_compress_type

from dal.deadline import Deadline, deadline
from dal.limits import MAX_HOST, MAX_REQUEST_ID
from server.http.admission import is_health
from server.http.errors import failure
from server.http.request import EVENT_STREAM, GRAPHQL, header
from server.logs import FirstValues
from server.settings import Settings

Headers = list[tuple[bytes, bytes]]
Address = IPv4Address | IPv6Address

LEFT = "marginalia.left"
"""ASGI extension: receives a function, or None, that is called when the client disconnects. A
second call of ``receive`` would also wait for this, but needs a task for every request."""

SMALLEST = 1_000
"""Minimum bytes of a response that is compressed. A smaller response fits in a single packet
anyway."""

_API_PATH = "/graphql"
_LOCAL_ORIGIN = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_PREFLIGHT_SECONDS = 24 * 3600
"""Seconds for which a browser may cache the response to a preflight. Browsers may have a lower
limit."""

_CACHED_HOSTS = 1_000

_REQUEST_ID = b"x-request-id"
_SAFE_ID = re.compile(rb"[\w.:=-]{1,%d}" % MAX_REQUEST_ID)
"""Matches request ids that can be written to a log unchanged."""

_TAG = re.compile(r'"([0-9a-f]{32})(?:-[a-z]+)?"')
"""An entity tag of this server, with or without the response's content coding."""

logger = logging.getLogger(__name__)

add_compress_type(GRAPHQL)
# do not compress events, because each subscriber would need an encoder in memory
remove_compress_type(EVENT_STREAM)


class RequestIdMiddleware:
    """Gives each request an id: the id from the client or proxy, or a new id.

    The response, the log and errors contain the id. A response for shared caches has no id, because
    a cache would send it to other clients too. asgi-correlation-id's own middleware takes ten times
    as long.
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
                if not dict(headers).get(b"cache-control", b"").startswith(b"public"):
                    message["headers"] = [*headers, (_REQUEST_ID, request_id)]
            return send(message)

        return self._app(scope, receive, send_with_id)


def request_id_of(headers: Headers) -> bytes:
    """Return the id in a request's headers if it can be logged unchanged, otherwise a new id."""
    given = next((value for name, value in headers if name == _REQUEST_ID), b"")
    return given if _SAFE_ID.fullmatch(given) else os.urandom(16).hex().encode()


class AllowedHosts:
    """The hosts that a request's Host header may name (RFC 9110, 7.2).

    Pages build absolute links from this header, so a client must not choose it freely. An attacker
    can also make a host name resolve to this machine (DNS rebinding), and a browser then treats
    this server as part of the attacker's site. By default, a server that other machines can reach
    accepts the name that it listens on, and the address of the connection, because attackers cannot
    use these. ``--public-url`` and ``--allowed-host`` replace them.
    """

    def __init__(self, settings: Settings) -> None:
        public = urlsplit(settings.public_url).hostname if settings.public_url else None
        named = [*settings.allowed_hosts, *([public] if public else [])]
        self.by_address = not named and not is_loopback(settings.host)
        """Whether a request may name the address of its connection."""
        patterns = [one.lower().strip("[]") for one in (named or [settings.host])]
        self._names = {one for one in patterns if not one.startswith("*")}
        self._endings = tuple(one[1:] for one in patterns if one.startswith("*."))
        self._any = "*" in patterns
        self._is_named = lru_cache(_CACHED_HOSTS)(self._is_named_uncached)

    def allow(self, host: str, local: str | None) -> bool:
        """Return whether a request may name ``host``.

        ``local`` is the address of its connection.
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
        return is_loopback(name) or name in self._names or name.endswith(self._endings)


def is_loopback(name: str) -> bool:
    """Return whether a host name or address is this machine's loopback."""
    address = _address(name)
    if address is not None:
        return address.is_loopback
    return name == "localhost" or name.endswith(".localhost")


def _name(host: str) -> str:
    """Return the name in a Host header: lower case, without port and brackets. Empty if invalid."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    return parts.hostname or "" if parts.netloc == host and parts.username is None else ""


def _address(name: str) -> Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


class HostMiddleware:
    """Refuses requests for other hosts with 421 (RFC 9110, 15.5.20), except health checks.

    Load balancers send health checks to a server's address. Starlette's TrustedHostMiddleware also
    refuses these, does not accept the address of the connection, and does not explain its refusals.
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
                message = f"This server does not answer for the host {shown!r}."
                return failure(421, message)(scope, receive, send)
        return self._app(scope, receive, send)


def is_allowed(origin: str, origins: Sequence[str], *, local: bool) -> bool:
    """Return whether pages of another origin may call the API."""
    return "*" in origins or origin in origins or (local and bool(_LOCAL_ORIGIN.fullmatch(origin)))


def is_own(origin: str, host: str | None) -> bool:
    """Return whether an origin is this server's own.

    The opaque origin ``null`` is never its own.
    """
    return origin.partition("://")[2] == host


class CrossOriginMiddleware:
    """Adds CORS headers, so that pages of ``origins`` (``*``: of any origin) can call the API.

    With ``local``, pages of this machine can call it too. This middleware must be outside all
    middleware that refuses requests, so that a front end can read the reason. It does not allow
    cookies, because the API reads only the Authorization header. It allows any other header,
    because tracing and client libraries add some. The HTML pages have no CORS headers.
    """

    def __init__(self, app: ASGIApp, *, origins: Sequence[str], local: bool) -> None:
        self._app = self._api = app
        if origins or local:
            self._api = CORSMiddleware(
                app,
                allow_origins=origins,
                allow_origin_regex=_LOCAL_ORIGIN.pattern if local else None,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=["X-Request-ID", "Retry-After"],
                max_age=_PREFLIGHT_SECONDS,
            )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on, or respond to a browser's preflight."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        return (self._api if path == _API_PATH else self._app)(scope, receive, send)


class FailureMiddleware:
    """Responds with 500 to an uncaught exception, and logs it once with the request's id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on. A client that has disconnected gets no response."""
        started = False

        def noting_send(message: Message) -> Awaitable[None]:
            nonlocal started
            started = True
            return send(message)

        try:
            await self._app(scope, receive, noting_send)
        except ClientDisconnect:
            return
        except Exception:
            if scope["type"] != "http" or started:
                raise
            request_id = correlation_id.get()
            logger.exception("%s %r failed, request %s", scope["method"], scope["path"], request_id)
            message = f"The server failed. If you report this, name the request {request_id}."
            await failure(500, message)(scope, receive, send)


class DeadlineMiddleware:
    """Runs each request within a deadline, and cancels it if its client disconnects."""

    def __init__(self, app: ASGIApp, *, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on. If the client disconnects, end it without a response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        end = Deadline()
        end.restart(self._seconds)

        async def restarting_receive() -> Message:
            """Receive a part of the body, and restart the deadline.

            So a slow client does not use up the time of its request.
            """
            message = await receive()
            end.restart(self._seconds)
            return message

        # This timeout has no time at first. If the client disconnects, it is set to expire at once,
        # which cancels the request.
        presence = asyncio.timeout(None)
        set_on_leaving = scope.get("extensions", {}).get(LEFT, lambda _: None)
        try:
            with deadline(end):
                async with presence:
                    set_on_leaving(lambda: presence.reschedule(0))
                    try:
                        await self._app(scope, restarting_receive, send)
                    finally:
                        set_on_leaving(None)
        except TimeoutError:
            if not presence.expired():
                raise


def entity_tag(body: bytes) -> str:
    """Return the strong entity tag of an uncompressed response: 128 bits of a hash of its bytes."""
    return f'"{blake2b(body, digest_size=16).hexdigest()}"'


def encoded(headers: Headers) -> None:
    """Add the content coding to a strong entity tag in ``headers``.

    A strong tag identifies exact bytes, and each coding has different bytes (RFC 9110, 8.8.3.3).
    """
    found = dict(headers)
    coding, tag = found.get(b"content-encoding"), found.get(b"etag")
    if coding is not None and tag is not None and tag.startswith(b'"'):
        headers[headers.index((b"etag", tag))] = (b"etag", b'%b-%b"' % (tag[:-1], coding))


def matching(if_none_match: str | None, tag: str) -> str | None:
    """Return the tag in ``If-None-Match`` that equals ``tag``, with any coding; or None.

    A cache that compresses responses makes their tags weak. For a GET, weak tags may match too (RFC
    9110, 13.1.2).
    """
    for found in _TAG.finditer(if_none_match or ""):
        if f'"{found[1]}"' == tag:
            return found[0]
    return None


class CompressionMiddleware:
    """Compresses responses by brotli or gzip, at the levels that need the least CPU time.

    Static files are not compressed here, because browsers keep them. Responses to requests with a
    cookie are not compressed either, because the length of a compressed response shows whether
    parts of it are equal. A page for a signed-in visitor contains a secret, ``form_key``, and parts
    of its address, which an attacker's site can choose (BREACH, https://breachattack.com).
    GraphQL's responses contain no such secret. zstd is off: it saves 6 % of brotli's bytes, but it
    is slower, and its import takes 24 ms of the start.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        # Both branches send `Vary: Accept-Encoding`, which caches need in every response.
        self._uncompressed = CompressMiddleware(
            app, minimum_size=SMALLEST, zstd=False, brotli=False, gzip=False
        )
        self._compressed = CompressMiddleware(
            app, minimum_size=SMALLEST, zstd=False, brotli_quality=1, gzip_level=1
        )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on, and compress the response."""
        if scope["type"] != "http" or "/static/" in scope["path"]:
            return self._app(scope, receive, send)
        if b"cookie" in dict(scope["headers"]):
            return self._uncompressed(scope, receive, send)

        def tagging_send(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                encoded(message["headers"])
            return send(message)

        return self._compressed(scope, receive, tagging_send)
