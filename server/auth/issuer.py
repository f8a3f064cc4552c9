"""An issuer of JWTs: fetches and caches its discovery document and its key set.

The imports of aiohttp and of PyJWT (with ``cryptography``) take up to a fifth of the CPU time of a
server's start. So this module imports both only when it first fetches something. A server without
an issuer fetches nothing.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from server.proxies import proxy_of

if TYPE_CHECKING:
    import jwt

logger = logging.getLogger(__name__)

_TIMEOUT = 5.0
"""Maximum seconds for a request to the issuer, including its redirects and its response."""

_KEPT, _COOLDOWN = 300.0, 30.0
"""A JWT causes a new fetch of the key set if the set is older than this number of seconds:
``_KEPT`` if the set contains the JWT's key, and ``_COOLDOWN`` if it does not."""

_PAUSE = 5.0
"""Seconds for which the server sends no request to the issuer after a request has failed."""

_TRY_AGAIN = "The keys that verify JWTs cannot be fetched: try again in a moment."

DISCOVERY = "/.well-known/openid-configuration"
"""The path of the discovery document, after the issuer's URL (OpenID Connect Discovery 1.0, 4)."""


AUTH_METHODS = "token_endpoint_auth_methods_supported"
"""The member of the discovery document with the methods by which clients can authenticate."""


MAX_ISSUER_DOCUMENT = 1_000_000
"""Maximum bytes of the discovery document, of the key set, and of a response with tokens."""

Document = TypeVar("Document")


class KeysUnavailableError(Exception):
    """The issuer's keys or its discovery document cannot be fetched now."""


class Issuer:
    """The issuer's keys: from ``jwks_url``, or from the address in its discovery document.

    ``url`` identifies the issuer. Keys are fetched again after 5 minutes. If that fails, the
    previous keys remain in use.
    """

    def __init__(self, url: str | None = None, jwks_url: str | None = None) -> None:
        self.url = url
        self._jwks_url = jwks_url
        self._metadata: Mapping[str, Any] | None = None
        self._keys: list[jwt.PyJWK] = []
        self._fetched = -inf
        self._failed = -inf
        self._fetching = asyncio.Lock()

    async def key(self, key_id: str | None) -> "jwt.PyJWK":
        """Return the key with this id from the key set.

        A JWT may omit its ``kid`` if the set has only one key (OpenID Connect Core 10.1).

        For an unknown key, the set is fetched again, at most every 30 seconds. Raises
        PyJWKClientError if the set lacks the key, and KeysUnavailableError if the key is unknown
        and the set cannot be fetched.
        """
        import jwt  # noqa: PLC0415 - see the module's docstring

        found = self._match(key_id)
        if self._lacks(found):
            # One request fetches the key set. Other requests that need a new key set wait here.
            async with self._fetching:
                if self._lacks(found := self._match(key_id)):
                    try:
                        await self.fetch()
                    except KeysUnavailableError:
                        if found is None:
                            raise
                    found = self._match(key_id)
        if found is None:
            raise jwt.PyJWKClientError("The key set has no such key.")
        return found

    def _lacks(self, found: "jwt.PyJWK | None") -> bool:
        """Return whether the key set must be fetched again.

        ``found`` is the JWT's key in the current set, or None if the set lacks it.
        """
        age = monotonic() - self._fetched
        return age > (_COOLDOWN if found is None else _KEPT)

    def _match(self, key_id: str | None) -> "jwt.PyJWK | None":
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.key_id == key_id), None)

    async def fetch(self) -> None:
        """Fetch the key set.

        Raise KeysUnavailableError if it cannot be fetched or has no key for signatures.
        """
        address = self._jwks_url or (await self.metadata())["jwks_uri"]
        self._keys = await self._fetched_from(address, f"The key set of {self}", _signature_keys)
        self._fetched = monotonic()

    async def metadata(self) -> Mapping[str, Any]:
        """Return the discovery document, which is fetched only once.

        Raises KeysUnavailableError if the document cannot be fetched or is invalid.
        """
        if self._metadata is None:
            assert self.url is not None  # noqa: S101 - only ``jwks_url`` makes ``url`` optional
            address = self.url.rstrip("/") + DISCOVERY
            self._metadata = await self._fetched_from(
                address, f"The document {address}", self._checked
            )
        return self._metadata

    async def _fetched_from(
        self, address: str, what: str, read: Callable[[dict[str, Any]], Document]
    ) -> Document:
        """Return ``read`` of the JSON at an address. Raise KeysUnavailableError for any fault."""
        import jwt  # noqa: PLC0415 - see the module's docstring

        if monotonic() < self._failed + _PAUSE:
            raise KeysUnavailableError(_TRY_AGAIN)
        try:
            _, body = await exchange("GET", str(address), raise_for_status=True)
            return read(json_object(body))
        except (jwt.PyJWTError, ValueError) as error:
            raise self._unavailable(what, error) from error

    def _checked(self, document: dict[str, Any]) -> Mapping[str, Any]:
        """Return ``document``. Raise ValueError if it is not this issuer's discovery document."""
        if "jwks_uri" not in document:
            raise ValueError("it is not a discovery document with a jwks_uri")
        if not isinstance(document.get(AUTH_METHODS, []), list):
            raise ValueError(f"its {AUTH_METHODS} is not a list")  # noqa: TRY004
        # OpenID Connect Discovery 4.3: a document that names another issuer must not be used.
        if document.get("issuer") != self.url:
            raise ValueError(
                f"it names the issuer {document.get('issuer')!r}: "
                "set --jwt-issuer to exactly this text"
            )
        return document

    async def warn_if_unavailable(self) -> None:
        """Fetch the key set at the server's start, so that the log shows a wrong address."""
        async with self._fetching:
            with suppress(KeysUnavailableError):  # ``fetch`` has logged the failure
                await self.fetch()

    def _unavailable(self, what: str, error: Exception) -> KeysUnavailableError:
        self._failed = monotonic()
        logger.warning(
            "%s cannot be used: %s. Meanwhile the server refuses every JWT whose key it has not "
            "fetched before.",
            what,
            error,
        )
        return KeysUnavailableError(_TRY_AGAIN)

    def __str__(self) -> str:
        return self._jwks_url or str(self.url)


async def exchange(method: str, address: str, **options: Any) -> tuple[int, bytes]:
    """Send a request to the issuer. Return the status and the body of the response.

    ``options`` are those of ``aiohttp.ClientSession.request``. Raises ValueError if there is no
    response, or if its body is longer than ``MAX_ISSUER_DOCUMENT``.
    """
    import aiohttp  # noqa: PLC0415 - see the module's docstring

    body = bytearray()
    timeout = aiohttp.ClientTimeout(_TIMEOUT)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, proxy=proxy_of(address)) as client,
            client.request(method, address, **options) as response,
        ):
            async for part in response.content.iter_any():
                body += part
                if len(body) > MAX_ISSUER_DOCUMENT:
                    raise ValueError(f"it is longer than {MAX_ISSUER_DOCUMENT:,} bytes")
            return response.status, bytes(body)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def json_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a response's body. Raise ValueError if it is none."""
    try:
        document = json.loads(body)
    except RecursionError as error:
        raise ValueError("it has too many levels") from error
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004
    return document


def _signature_keys(document: dict[str, Any]) -> "list[jwt.PyJWK]":
    """Return the keys for signatures in a key set. Raise ValueError if it has none."""
    import jwt  # noqa: PLC0415 - see the module's docstring

    published = jwt.PyJWKSet.from_dict(document).keys
    keys = [key for key in published if key.public_key_use in ("sig", None)]
    if not keys:
        raise ValueError("it has no key for signatures")
    return keys
