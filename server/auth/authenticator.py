"""JWTs: who signs them, how they are verified, and which user they name.

PyJWT imports ``cryptography``, which is a twentieth of every start. Clients that only read send no
JWT, so PyJWT is imported with the first one.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dal.errors import InvalidArgumentError
from dal.model import rules
from resolvers.context import Viewer
from server.logs import FirstValues

if TYPE_CHECKING:
    import jwt

logger = logging.getLogger(__name__)

SECRET_ALGORITHMS = ("HS256",)
KEY_SET_ALGORITHMS = ("RS256", "ES256", "EdDSA")

LEEWAY = timedelta(seconds=10)
"""How much the clocks of the issuer and of this server may differ."""

_KEY_SET_TIMEOUT = 3.0
"""Seconds for a request to the server of the key set."""

DEMO_USER = "demo"
DEMO_LIFETIME = timedelta(days=7)


class TokenFlaw(Enum):
    """Why a JWT is refused."""

    UNREADABLE = auto()
    EXPIRED = auto()
    EARLY = auto()
    UNKNOWN_KEY = auto()
    UNVERIFIABLE = auto()
    """This server has no secret and no key set for the JWT's algorithm."""
    AUDIENCE = auto()
    CLAIMS = auto()
    """A required claim is missing or malformed."""


class InvalidTokenError(Exception):
    """A JWT was refused; the message explains why and what to do.

    The message is for the API's clients; pages have a text of their own for each ``flaw``.
    """

    def __init__(self, flaw: TokenFlaw, message: str) -> None:
        super().__init__(message)
        self.flaw = flaw


class KeysUnavailableError(Exception):
    """The key set that would verify a JWT cannot be fetched now."""


class Authenticator:
    """Verifies the JWT of an Authorization header and returns its user.

    ``secret`` is called for each JWT and returns the HS256 secret in force, or None. ``jwks_url``
    serves the public keys of RS256, ES256 and EdDSA. The JWT's ``alg`` chooses between the secret
    and the key set, so a public key never verifies an HS256 signature (RFC 8725, 3.1). A JWT of the
    key set must name ``audience`` in ``aud``; if ``audience`` is None, it must have no ``aud``
    (RFC 7519, 4.1.3).
    """

    def __init__(
        self,
        *,
        secret: Callable[[], str | None],
        jwks_url: str | None = None,
        audience: str | None = None,
    ) -> None:
        self._secret = secret
        self._jwks_url = jwks_url
        self._audience = audience
        self._logged = FirstValues()

    def issue(self, username: str, lifetime: timedelta) -> str | None:
        """Return a JWT for a user without roles; None if the server has no secret to sign it."""
        secret = self._secret()
        return secret and make_token(secret, username=username, roles=[], lifetime=lifetime)

    async def viewer(self, authorization: str) -> Viewer:
        """Return the user of an Authorization header's JWT.

        Raises InvalidTokenError, or KeysUnavailableError when the key set cannot be fetched.
        """
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() != "bearer" or not credentials.strip():
            raise InvalidTokenError(
                TokenFlaw.UNREADABLE, "Send the header as 'Authorization: Bearer <JWT>'."
            )
        claims = await self._claims(credentials.strip())
        expires = float(claims["exp"]) + LEEWAY.total_seconds()
        return Viewer(username=_username(claims), roles=_roles(claims), expires=expires)

    async def _claims(self, encoded: str) -> dict[str, Any]:
        import jwt  # noqa: PLC0415 - see above

        try:
            header = jwt.get_unverified_header(encoded)
            verification = await self._verification(str(header.get("alg")), header.get("kid"))
            return jwt.decode(
                encoded,
                verification.key,
                algorithms=verification.algorithms,
                audience=verification.audience,
                leeway=LEEWAY,
                options={"require": ["exp", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise _invalid(error) from error

    async def _verification(self, algorithm: str, key_id: str | None) -> "_Verification":
        """Return how to verify a JWT with this ``alg``; InvalidTokenError if nothing can."""
        if algorithm in SECRET_ALGORITHMS:
            secret = self._secret()
            if secret is not None:
                return _Verification(secret, SECRET_ALGORITHMS)
        elif algorithm in KEY_SET_ALGORITHMS and self._keys is not None:
            if key_id is None:
                raise InvalidTokenError(
                    TokenFlaw.UNKNOWN_KEY,
                    "The JWT does not name its key: it needs a 'kid' header.",
                )
            return _Verification(await self._public_key(key_id), KEY_SET_ALGORITHMS, self._audience)
        shown = algorithm[:20]
        if self._logged.adds(shown):
            logger.warning(
                "JWTs signed with %r are refused: set MARGINALIA_JWT_SECRET for HS256, or "
                "MARGINALIA_JWKS_URL for RS256, ES256 and EdDSA.",
                shown,
            )
        raise InvalidTokenError(
            TokenFlaw.UNVERIFIABLE,
            f"This server cannot verify a JWT signed with {shown!r}: get one from the "
            "issuer that it trusts.",
        )

    @cached_property
    def _keys(self) -> "jwt.PyJWKClient | None":
        import jwt  # noqa: PLC0415 - see above

        if self._jwks_url is None:
            return None
        return jwt.PyJWKClient(self._jwks_url, timeout=_KEY_SET_TIMEOUT)

    async def _public_key(self, key_id: str) -> "jwt.PyJWK":
        """Return a key of the key set; a thread fetches the set when it is not cached."""
        import jwt  # noqa: PLC0415 - see above

        assert self._keys is not None  # noqa: S101 - the caller has checked it
        try:
            return await asyncio.to_thread(self._keys.get_signing_key, key_id)
        except (jwt.PyJWKClientConnectionError, OSError, ValueError) as error:
            logger.warning("The key set at %s cannot be fetched: %s", self._jwks_url, error)
            raise KeysUnavailableError(
                "The keys that verify JWTs cannot be fetched: try again in a moment."
            ) from error


@dataclass(frozen=True, slots=True)
class _Verification:
    """A key, the only algorithms it may be used with, and the audience required."""

    key: "str | jwt.PyJWK"
    algorithms: Sequence[str]
    audience: str | None = None


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """A user without roles who signs in by one click; only a server with demo data has one."""

    username: str
    authenticator: Authenticator

    def jwt(self) -> str | None:
        """Return a JWT for ``DEMO_LIFETIME``; None if the server has no secret to sign it."""
        return self.authenticator.issue(self.username, DEMO_LIFETIME)


def make_token(secret: str, *, username: str, roles: Sequence[str], lifetime: timedelta) -> str:
    """Return an HS256 JWT that names the user and the roles and expires after ``lifetime``."""
    import jwt  # noqa: PLC0415 - see above

    now = datetime.now(UTC)
    claims = {"sub": username, "roles": list(roles), "iat": now, "exp": now + lifetime}
    return jwt.encode(claims, secret, algorithm=SECRET_ALGORITHMS[0])


def _username(claims: Mapping[str, Any]) -> str:
    try:
        return rules.identifier("sub", claims["sub"])
    except InvalidArgumentError as error:
        message = f"The JWT's 'sub' is not a valid user name: {error}"
        raise InvalidTokenError(TokenFlaw.CLAIMS, message) from error


def _roles(claims: Mapping[str, Any]) -> frozenset[str]:
    roles = claims.get("roles", [])
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
        message = "The JWT's claim 'roles' must be a list of strings."
        raise InvalidTokenError(TokenFlaw.CLAIMS, message)
    return frozenset(roles)


def _invalid(error: "jwt.PyJWTError") -> InvalidTokenError:
    """Return PyJWT's error with a flaw, in a sentence for clients."""
    import jwt  # noqa: PLC0415 - see above
    from jwt.exceptions import InvalidSubjectError  # noqa: PLC0415 - see above

    match error:
        case jwt.ExpiredSignatureError():
            flaw, message = TokenFlaw.EXPIRED, "The JWT has expired: get a new one."
        case jwt.ImmatureSignatureError():
            flaw = TokenFlaw.EARLY
            message = "The JWT is not valid yet: compare its issuer's clock with here."
        case jwt.InvalidSignatureError():
            flaw = TokenFlaw.UNKNOWN_KEY
            message = "The JWT was signed with another key than ours: get a new one."
        case jwt.InvalidAudienceError():
            flaw = TokenFlaw.AUDIENCE
            message = "The JWT is meant for another audience: get one for this server."
        case InvalidSubjectError():
            flaw = TokenFlaw.CLAIMS
            message = "The JWT's claim 'sub' must be a string, the username."
        case jwt.PyJWKClientError() | jwt.PyJWKSetError():
            flaw = TokenFlaw.UNKNOWN_KEY
            message = "The JWT was signed with a key that the issuer's key set does not hold."
        case jwt.MissingRequiredClaimError():
            flaw, claim = TokenFlaw.CLAIMS, error.claim
            message = f"The JWT lacks the claim {claim!r}: 'sub' names the user, 'exp' ends it."
        case _:
            flaw = TokenFlaw.UNREADABLE
            message = "The JWT cannot be read: send it whole, as 'Authorization: Bearer <JWT>'."
    return InvalidTokenError(flaw, message)
