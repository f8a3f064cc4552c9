"""The hosts that the server answers for: a client can send any Host header.

Pages build absolute links from the header. With DNS rebinding, a foreign web page points its own
name at this machine, and browsers then treat the server as part of that page's site.

Starlette's TrustedHostMiddleware has no exception for health checks, does not accept the address
that a connection arrived at, and does not explain its refusals.
"""

import logging
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from dal.limits import MAX_HOST
from server.http.admission import is_health
from server.http.failures import failure
from server.http.graphql_request import header
from server.logs import FirstValues
from server.settings import Settings

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
