"""The proxy of the environment: ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``."""

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_of(address: str) -> str | None:
    """Return the URL of the proxy for requests to an address; None for direct requests.

    aiohttp's ``trust_env`` would also send the credentials of ``~/.netrc`` to the address, instead
    of the credentials that the caller gives.
    """
    parts = urlsplit(address)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)
