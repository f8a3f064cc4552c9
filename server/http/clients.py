"""Which client an address or a request belongs to, for limits of one client."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from uvicorn._types import HTTPScope
from uvicorn.middleware.proxy_headers import _TrustedHosts

_AT_ONCE = 1_000
"""Addresses whose client is not worked out again with each request."""

_CUSTOMER_BITS = 64
"""What one customer has of IPv6 at least: all of its addresses are one client."""


class Clients:
    """Tells clients apart: an IPv4 address, or an IPv6 network of 64 bits.

    A trusted proxy is none: where it forwards no address it asks for itself, as often as it likes.
    """

    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._trusted = _TrustedHosts([*trusted_proxies])
        self.at = lru_cache(_AT_ONCE)(self._at)

    def of(self, scope: HTTPScope) -> str | None:
        """Return the client of a request as it arrived; None for a trusted proxy itself.

        Behind uvicorn's ``ProxyHeadersMiddleware``, which reads the same header in the same way,
        ``scope["client"]`` has that client's address, and ``at`` is enough.
        """
        host = scope["client"][0] if scope["client"] else ""
        if host in self._trusted:
            values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
            forwarded = b", ".join(values).decode("latin-1")
            host = self._trusted.get_trusted_client_address(forwarded)[0] or host
        return self.at(host)

    def _at(self, host: str) -> str | None:
        """Return who is limited, None for a trusted proxy."""
        try:
            address = ip_address(host)
        except ValueError:
            return "unknown"  # a proxy forwards a name; its length is nobody's to choose
        if host in self._trusted:
            return None
        if isinstance(address, IPv6Address):
            return str(ip_network((address, _CUSTOMER_BITS), strict=False))
        return str(address)
