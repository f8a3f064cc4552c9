"""An issuer of JWTs: its discovery document and its key set, fetched when first needed.

PyJWT imports ``cryptography``, and httpx takes as long to import: together a tenth of a server's
start. Clients that only read send no JWT, so both are imported when the first JWT arrives.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jwt

logger = logging.getLogger(__name__)

_TIMEOUT = 3.0
"""Seconds for a request to the issuer."""

_KEPT, _COOLDOWN = 300.0, 30.0
"""Seconds after which the key set is fetched again: for any JWT, and for an unknown key."""

_PAUSE = 5.0
"""Seconds after a failed request in which JWTs are refused without another request."""

_TRY_AGAIN = "The keys that verify JWTs cannot be fetched: try again in a moment."

DISCOVERY = "/.well-known/openid-configuration"
"""The path below the issuer's URL: OpenID Connect Discovery 1.0, 4."""


class KeysUnavailableError(Exception):
    """The issuer's keys or its discovery document cannot be fetched now."""


class Issuer:
    """The keys at ``jwks_url``, or else at the address that the discovery of ``url`` names.

    Keys are fetched again after 5 minutes. If that fails, the last keys remain in use.
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
        """Return a key of the key set.

        A JWT may leave out its ``kid`` if the set has one key (OpenID Connect Core 10.1).

        Raises PyJWKClientError for an unknown key and KeysUnavailableError without a key set. An
        unknown key fetches the set again, at most every 30 seconds.
        """
        import jwt  # noqa: PLC0415 - see above

        found = self._match(key_id)
        if self._lacks(found):
            # JWTs of known keys do not wait while an unknown key is fetched
            async with self._fetching:
                if self._lacks(found := self._match(key_id)):
                    try:
                        await self.fetch()
                    except KeysUnavailableError:
                        if not self._keys:
                            raise
                    found = self._match(key_id)
        if found is None:
            raise jwt.PyJWKClientError("The key set has no such key.")
        return found

    def _lacks(self, found: "jwt.PyJWK | None") -> bool:
        """Return whether to fetch the key set, given whether it has the key."""
        age = monotonic() - self._fetched
        return age > (_COOLDOWN if found is None else _KEPT)

    def _match(self, key_id: str | None) -> "jwt.PyJWK | None":
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.key_id == key_id), None)

    async def fetch(self) -> None:
        """Fetch the key set; KeysUnavailableError if it is missing or has no signing key."""
        import jwt  # noqa: PLC0415 - see above

        address = self._jwks_url or (await self.metadata())["jwks_uri"]
        self._require_pause_is_over()
        try:
            client = jwt.PyJWKClient(str(address), cache_jwk_set=False, timeout=_TIMEOUT)
            # A thread, as PyJWT fetches with urllib.
            published = await asyncio.to_thread(client.get_jwk_set)
        except (jwt.PyJWTError, OSError, ValueError) as error:
            raise self._unavailable(f"The key set of {self}", error) from error
        keys = [key for key in published.keys if key.public_key_use in {"sig", None}]
        if not keys:
            raise self._unavailable(f"The key set of {self}", ValueError("it signs nothing"))
        self._keys = keys
        self._fetched = monotonic()

    async def metadata(self) -> Mapping[str, Any]:
        """Return the discovery document; KeysUnavailableError if it is missing or not valid."""
        import httpx  # noqa: PLC0415 - see above

        if self._metadata is not None:
            return self._metadata
        self._require_pause_is_over()
        assert self.url is not None  # noqa: S101 - without a URL there is a key set's
        address = self.url.rstrip("/") + DISCOVERY
        try:
            async with httpx.AsyncClient(timeout=_TIMEOUT) as client:
                document: dict[str, Any] = (await client.get(address)).raise_for_status().json()
            self._check(document)
        except (httpx.HTTPError, ValueError) as error:
            raise self._unavailable(f"The document {address}", error) from error
        self._metadata = document
        return document

    def _check(self, document: object) -> None:
        """Raise ValueError unless ``document`` is this issuer's discovery document."""
        if not isinstance(document, dict) or "jwks_uri" not in document:
            raise ValueError("it is not a discovery document with a jwks_uri")
        # OpenID Connect Discovery 4.3: another issuer's document must not be used.
        if document.get("issuer") != self.url:
            raise ValueError(
                f"it names the issuer {document.get('issuer')!r}: "
                "give exactly this with --jwt-issuer"
            )

    async def warn_if_unavailable(self) -> None:
        """Fetch the key set when the server starts, so that a wrong address is logged at once."""
        async with self._fetching:
            with suppress(KeysUnavailableError):  # it is logged
                await self.fetch()

    def _require_pause_is_over(self) -> None:
        if monotonic() < self._failed + _PAUSE:
            raise KeysUnavailableError(_TRY_AGAIN)

    def _unavailable(self, what: str, error: Exception) -> KeysUnavailableError:
        self._failed = monotonic()
        logger.warning(
            "%s cannot be used: %s. Until it can, new keys of JWTs are refused with status 503.",
            what,
            error,
        )
        return KeysUnavailableError(_TRY_AGAIN)

    def __str__(self) -> str:
        return self._jwks_url or str(self.url)
