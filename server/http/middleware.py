"""ASGI middleware: request ids, hosts, CORS, failures, deadlines, compression; and entity tags."""

import asyncio
import logging
import os
import re
from collections.abc import Callable, Sequence
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

_NAME = b"x-request-id"
_PLAIN = re.compile(rb"[\w.:=-]{1,%d}" % MAX_REQUEST_ID)
"""An id that can stand in logs as it is."""


class RequestIdMiddleware:
    """Gives each request its id. The package's own middleware takes ten times as long for it.

    What caches keep for everybody has none: it would be the id of whoever asked first.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and its id back with the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = request_id_of(scope["headers"])
        correlation_id.set(request_id.decode())

        async def naming_send(message: Message) -> None:
            if message["type"] == "http.response.start" and not _shared(message["headers"]):
                message["headers"] = [*message["headers"], (_NAME, request_id)]
            await send(message)

        await self._app(scope, receive, naming_send)


def _shared(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"cache-control" and value.startswith(b"public") for name, value in headers)


def request_id_of(headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the id that came with a request, or a new one."""
    return _given(headers) or os.urandom(16).hex().encode()


def _given(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the id that came with a request, unless it does not do."""
    given = next((value for name, value in headers if name == _NAME), b"")
    return given if _PLAIN.fullmatch(given) else None


logger = logging.getLogger(__name__)

ANY = "*"

_AT_ONCE = 1_000
"""Hosts with a cached verdict."""

Address = IPv4Address | IPv6Address


class AllowedHosts:
    """The hosts of one server, by its settings.

    Without ``--public-url`` and ``--allowed-host``, a server that listens beyond loopback answers
    for the name it listens on and for the address that each connection arrived at: no other name
    can be pointed at it.
    """

    def __init__(self, settings: Settings) -> None:
        public = urlsplit(settings.public_url).hostname if settings.public_url else None
        named = [*settings.allowed_hosts, *([public] if public else [])]
        self.by_address = not named and not is_loopback(settings.host)
        """Whether the address of the connection is a host, too."""
        patterns = [one.lower().strip("[]") for one in (named or [settings.host])]
        self._names = {one for one in patterns if not one.startswith(ANY)}
        self._endings = tuple(one[1:] for one in patterns if one.startswith("*."))
        self._any = ANY in patterns
        self._named = lru_cache(_AT_ONCE)(self._is_named)

    def allow(self, host: str, local: str | None) -> bool:
        """Return whether requests may name ``host`` on a connection to the address ``local``."""
        if self._any:
            return True
        if len(host) > MAX_HOST:
            return False
        if self._named(host):
            return True
        address = _address(_name(host)) if self.by_address else None
        return address is not None and address == _address(local or "")

    def _is_named(self, host: str) -> bool:
        name = _name(host)
        return is_loopback(name) or name in self._names or name.endswith(self._endings)


def is_loopback(name: str) -> bool:
    """Return whether a host is this machine's loopback, by name or address."""
    address = _address(name)
    if address is not None:
        return address.is_loopback
    return name == "localhost" or name.endswith(".localhost")


def _name(host: str) -> str:
    """Return the host of a Host header in lower case, without port and brackets; empty for none."""
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
    """Answers 421 to requests for other hosts; health checks are answered for any.

    A load balancer probes servers by their addresses, and answers to probes do not name a host.
    """

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        self._app = app
        self._hosts = hosts
        self._logged = FirstValues()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
                sentence = f"This server does not answer for the host {shown!r}."
                await failure(421, sentence)(scope, receive, send)
                return
        await self._app(scope, receive, send)


_PATH = "/graphql"
_LOCAL = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_PREFLIGHT_SECONDS = 24 * 3600
"""How long a browser may keep the answer to a preflight; browsers have limits of their own."""


def is_allowed(origin: str, origins: Sequence[str], *, local: bool) -> bool:
    """Return whether pages of an origin may call the API."""
    return "*" in origins or origin in origins or (local and bool(_LOCAL.fullmatch(origin)))


def is_own(origin: str, host: str | None) -> bool:
    """Return whether pages of an origin are this server's own; what is no origin is not."""
    return origin.partition("://")[2] == host


class CrossOriginMiddleware:
    """Opens the API, and no page, to pages of ``origins``, of any (``*``), or of this machine.

    It stands outside of whatever refuses or fails, so that a front end can read why. Credentials
    that a browser sends by itself are never allowed: the API reads none. The JWT goes in the
    Authorization header, which the page sets. So any header may be sent: which ones tracing and
    client libraries add is theirs to know.
    """

    def __init__(self, app: ASGIApp, *, origins: Sequence[str], local: bool) -> None:
        self._app = self._api = app
        if origins or local:
            self._api = CORSMiddleware(
                app,
                allow_origins=origins,
                allow_origin_regex=_LOCAL.pattern if local else None,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=["X-Request-ID", "Retry-After"],
                max_age=_PREFLIGHT_SECONDS,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer a browser's preflight."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        await (self._api if path == _PATH else self._app)(scope, receive, send)


LEFT = "marginalia.left"
"""The extension that takes what to call when the client leaves, or None. A second ``receive`` would
tell that too, but needs a task of its own for every request."""


class DeadlineMiddleware:
    """Runs each request inside a deadline of some seconds, as long as its client is there."""

    def __init__(self, app: ASGIApp, *, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; one whose client hung up ends without an answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        end = Deadline()
        end.restart(self._seconds)

        async def restarting_receive() -> Message:
            """How long the body took is no work of ours."""
            message = await receive()
            end.restart(self._seconds)
            return message

        presence = asyncio.timeout(None)  # its "time" is up when the client leaves
        on_leaving = scope.get("extensions", {}).get(LEFT, _no_connection)
        try:
            with deadline(end):
                async with presence:
                    on_leaving(lambda: presence.reschedule(0))
                    try:
                        await self._app(scope, restarting_receive, send)
                    finally:
                        on_leaving(None)
        except TimeoutError:
            if not presence.expired():
                raise


def _no_connection(_: Callable[[], None] | None) -> None:
    """Stand in where no connection says when its client leaves."""


Headers = list[tuple[bytes, bytes]]

_TAG = re.compile(r'"([0-9a-f]{32})(?:-[a-z]+)?"')
"""A tag of ours, as it was made or with the coding that the answer was sent in."""


def entity_tag(body: bytes) -> str:
    """Return the tag of an answer that is not compressed: 128 bits, which no two answers share."""
    return f'"{blake2b(body, digest_size=16).hexdigest()}"'


def encoded(headers: Headers) -> None:
    """Let a strong tag among ``headers`` name the coding too: compressed, the bytes are others."""
    found = dict(headers)
    coding, tag = found.get(b"content-encoding"), found.get(b"etag")
    if coding is not None and tag is not None and tag.startswith(b'"'):
        headers[headers.index((b"etag", tag))] = (b"etag", b'%b-%b"' % (tag[:-1], coding))


def matching(if_none_match: str | None, tag: str) -> str | None:
    """Return the tag of ``If-None-Match`` that names the answer of ``tag``, in whatever coding.

    Caches that compress by themselves send it back as a weak one, which does for a GET.
    """
    for found in _TAG.finditer(if_none_match or ""):
        if f'"{found[1]}"' == tag:
            return found[0]
    return None


SMALLEST = 1_000
"""Bytes; what is smaller fits into one packet as it is."""

add_compress_type(GRAPHQL)
remove_compress_type(EVENT_STREAM)  # an encoder would be kept for each who listens


class CompressionMiddleware:
    """Compresses answers, but no files, which browsers keep, and nothing for a cookie.

    What is compressed tells by its length whether parts of it are alike. A page for a cookie holds
    that session's ``form_key`` beside what its address says, which any site could choose (BREACH).
    GraphQL's answers hold no secret that a browser sends by itself.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._as_it_is = CompressMiddleware(
            app, minimum_size=SMALLEST, zstd=False, brotli=False, gzip=False
        )
        self._compressed = CompressMiddleware(
            app, minimum_size=SMALLEST, zstd=False, brotli_quality=1, gzip_level=1
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; caches are told that answers differ, to other clients as well."""
        if scope["type"] != "http" or "/static/" in scope["path"]:
            await self._app(scope, receive, send)
        elif any(name == b"cookie" for name, _ in scope["headers"]):
            await self._as_it_is(scope, receive, send)
        else:

            async def tagging_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    encoded(message["headers"])
                await send(message)

            await self._compressed(scope, receive, tagging_send)


class FailureMiddleware:
    """Answers 500 for what nobody caught and logs it once, with the request's id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a client that hung up needs no answer."""
        started = False

        async def noting_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, noting_send)
        except ClientDisconnect:
            return
        except Exception:
            if scope["type"] != "http" or started:
                raise
            request_id = correlation_id.get()
            logger.exception("%s %r failed, request %s", scope["method"], scope["path"], request_id)
            answer = failure(500, f"The server failed; its log says more at request {request_id}.")
            await answer(scope, receive, send)
