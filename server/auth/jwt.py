"""JWTs: made, and verified by a shared secret or by a key set at a URL."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
from jwt.exceptions import InvalidSubjectError

from dal.errors import InvalidArgumentError
from dal.model import rules
from resolvers.request.context import Viewer
from server.auth.authenticator import InvalidTokenError, KeysUnavailableError, TokenFlaw
from server.logs import FirstValues

logger = logging.getLogger(__name__)

SECRET_ALGORITHMS = ("HS256",)
KEY_SET_ALGORITHMS = ("RS256", "ES256", "EdDSA")

LEEWAY = timedelta(seconds=10)
"""How far the clocks of the issuer and of this server may stand apart."""

_KEY_SET_TIMEOUT = 3.0
"""Seconds the key set's server has to answer."""


class Verifier:
    """Verifies JWTs as ``Authenticator`` says.

    The JWT's own ``alg`` chooses between the secret and the key set, so a public key never verifies
    an HS256 signature.
    """

    def __init__(
        self, secret: Callable[[], str | None], jwks_url: str | None, audience: str | None
    ) -> None:
        self._secret = secret
        self._keys = jwt.PyJWKClient(jwks_url, timeout=_KEY_SET_TIMEOUT) if jwks_url else None
        self._audience = audience
        self._logged = FirstValues()

    async def viewer(self, encoded: str) -> Viewer:
        """Return the JWT's user; InvalidTokenError or KeysUnavailableError without one."""
        claims = await self._claims(encoded)
        ends = float(claims["exp"]) + LEEWAY.total_seconds()
        return Viewer(username=_username(claims), roles=_roles(claims), expires=ends)

    async def _claims(self, encoded: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(encoded)
            rule = await self._rule(str(header.get("alg")), header.get("kid"))
            return jwt.decode(
                encoded,
                rule.key,
                algorithms=rule.algorithms,
                audience=rule.audience,
                leeway=LEEWAY,
                options={"require": ["exp", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise _refusal(error) from error

    async def _rule(self, algorithm: str, key_id: str | None) -> "_Rule":
        """Return how to verify a JWT that claims ``algorithm``; InvalidTokenError if none may."""
        if algorithm in SECRET_ALGORITHMS:
            secret = self._secret()
            if secret is not None:
                return _Rule(secret, SECRET_ALGORITHMS)
        elif algorithm in KEY_SET_ALGORITHMS and self._keys is not None:
            if key_id is None:
                raise InvalidTokenError(
                    TokenFlaw.UNKNOWN_KEY,
                    "The JWT does not name its key: it needs a 'kid' header.",
                )
            key = await _public_key(self._keys, key_id)
            return _Rule(key, KEY_SET_ALGORITHMS, self._audience)
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


@dataclass(frozen=True, slots=True)
class _Rule:
    """A key, the only algorithms it may be used with, and the audience asked for."""

    key: str | jwt.PyJWK
    algorithms: Sequence[str]
    audience: str | None = None


async def _public_key(keys: jwt.PyJWKClient, key_id: str) -> jwt.PyJWK:
    """Return the key set's key of that id, fetching the set in a thread when it is not cached."""
    try:
        return await asyncio.to_thread(keys.get_signing_key, key_id)
    except (jwt.PyJWKClientConnectionError, OSError, ValueError) as error:
        logger.warning("The key set at %s cannot be fetched: %s", keys.uri, error)
        raise KeysUnavailableError(
            "The keys that verify JWTs cannot be fetched: try again in a moment."
        ) from error


def make_token(secret: str, *, username: str, roles: Sequence[str], lifetime: timedelta) -> str:
    """Return an HS256 JWT that names the user and the roles and expires after ``lifetime``."""
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


_UNHELD_KEY = (
    TokenFlaw.UNKNOWN_KEY,
    "The JWT was signed with a key that the issuer's key set does not hold.",
)

_REFUSALS: dict[type[jwt.PyJWTError], tuple[TokenFlaw, str]] = {
    jwt.ExpiredSignatureError: (TokenFlaw.EXPIRED, "The JWT has expired: get a new one."),
    jwt.ImmatureSignatureError: (
        TokenFlaw.EARLY,
        "The JWT is not valid yet: compare its issuer's clock with here.",
    ),
    jwt.InvalidSignatureError: (
        TokenFlaw.UNKNOWN_KEY,
        "The JWT was signed with another key than ours: get a new one.",
    ),
    jwt.InvalidAudienceError: (
        TokenFlaw.AUDIENCE,
        "The JWT is meant for another audience: get one for this server.",
    ),
    InvalidSubjectError: (
        TokenFlaw.CLAIMS,
        "The JWT's claim 'sub' must be a string, the username.",
    ),
    jwt.PyJWKClientError: _UNHELD_KEY,
    jwt.PyJWKSetError: _UNHELD_KEY,
}


def _refusal(error: jwt.PyJWTError) -> InvalidTokenError:
    for kind, (flaw, message) in _REFUSALS.items():
        if isinstance(error, kind):
            return InvalidTokenError(flaw, message)
    if isinstance(error, jwt.MissingRequiredClaimError):
        message = f"The JWT lacks the claim {error.claim!r}: 'sub' names the user, 'exp' ends it."
        return InvalidTokenError(TokenFlaw.CLAIMS, message)
    message = "The JWT cannot be read: send it whole, as 'Authorization: Bearer <JWT>'."
    return InvalidTokenError(TokenFlaw.UNREADABLE, message)
