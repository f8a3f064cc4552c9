"""Signs and verifies JWTs.

PyJWT imports ``cryptography``, which takes a twentieth of the time of a server's start. Clients
that only read need no JWT, so PyJWT is imported when the server signs or receives its first JWT.
"""

import hmac
import logging
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from resolvers.context import Viewer
from server.auth.claims import OWN_ISSUER, Bearer, ClaimRules, InvalidTokenError, TokenFlaw
from server.auth.issuer import Issuer
from server.logs import FirstValues

if TYPE_CHECKING:
    import jwt

logger = logging.getLogger(__name__)

SECRET_ALGORITHMS = ("HS256",)
KEY_SET_ALGORITHMS = ("RS256", "ES256", "EdDSA")

LEEWAY = timedelta(seconds=10)
"""Maximum difference between the clocks of the issuer and of this server."""

DEMO_USER = "demo"
DEMO_LIFETIME = timedelta(days=7)

CODE_SECONDS = 600

_VERIFIED = 1_000
"""Maximum number of JWTs whose bearers are kept."""

_Checked = TypeVar("_Checked")


class Authenticator:
    """Verifies the JWT of an Authorization header, and returns its bearer.

    ``secret`` is called for each HS256 JWT, and returns the current secret or None. ``issuer`` has
    the public keys for RS256, ES256 and EdDSA. The JWT's ``alg`` determines whether the secret or a
    public key verifies the JWT. So a public key is never used as an HS256 secret (RFC 8725, 3.1).
    """

    def __init__(
        self,
        *,
        secret: Callable[[], str | None],
        issuer: Issuer | None = None,
        rules: ClaimRules | None = None,
    ) -> None:
        self._secret = secret
        self.issuer = issuer
        self.rules = rules or ClaimRules()
        self._logged = FirstValues()
        # The bearer depends only on the JWT's text and the key. So it is kept for later
        # requests with the same JWT, while the current key is the one that verified it. Only the
        # expiry is checked again.
        self._bearers = lru_cache(maxsize=_VERIFIED)(self._bearer_of)

    def issue(
        self, user: str, lifetime: timedelta, *, name: str | None = None, roles: Sequence[str] = ()
    ) -> str | None:
        """Return a JWT for a user. Return None if the server has no secret to sign it."""
        secret = self._secret()
        return secret and make_token(secret, user=user, name=name, roles=roles, lifetime=lifetime)

    def signed(self, claims: Mapping[str, Any]) -> str | None:
        """Return a JWT with these claims. Return None if the server has no secret to sign it."""
        secret = self._secret()
        return secret and sign(secret, claims)

    async def bearer(self, authorization: str) -> Bearer:
        """Return the bearer of an Authorization header's JWT.

        Raises InvalidTokenError if the header or the JWT is not valid. Raises KeysUnavailableError
        if the JWT's key is not in the server's key set, and the key set cannot be fetched again.
        """
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() != "bearer" or not credentials.strip():
            raise InvalidTokenError(
                TokenFlaw.UNREADABLE, "Send the header as 'Authorization: Bearer <JWT>'."
            )
        bearer, end = await self._checked(credentials.strip(), self._bearers)
        if time.time() >= end:
            import jwt  # noqa: PLC0415 - see the module's docstring

            raise _invalid(jwt.ExpiredSignatureError())
        return bearer

    async def verified(self, encoded: str) -> tuple[dict[str, Any], bool]:
        """Return the claims of a valid JWT, and whether this server's secret signed it.

        The caller checks the issuer and the audience, because the expected values depend on the
        signer.
        """
        return await self._checked(encoded, _claims)

    async def _checked(
        self, encoded: str, check: "Callable[[str, _Verification], _Checked]"
    ) -> _Checked:
        """Return the result of ``check`` for a JWT and the key that must verify it."""
        import jwt  # noqa: PLC0415 - see the module's docstring

        try:
            return check(encoded, await self._verification(*_header(encoded.partition(".")[0])))
        # PyJWT lets some errors of Python pass, for example if the JWT is not ASCII.
        except (jwt.PyJWTError, ArithmeticError, RecursionError, TypeError, ValueError) as error:
            raise _invalid(error) from error

    def _bearer_of(self, encoded: str, verification: "_Verification") -> tuple[Bearer, float]:
        """Return the bearer of a JWT, and the time from which the JWT is refused."""
        claims, by_secret = _claims(encoded, verification)
        end = claims["exp"] + LEEWAY.total_seconds()
        bearer = self.rules.bearer(claims, by_secret=by_secret)
        return (replace(bearer, expires=end) if isinstance(bearer, Viewer) else bearer), end

    async def _verification(self, algorithm: str, key_id: str | None) -> "_Verification":
        """Return the key that verifies JWTs with this ``alg``.

        Raise InvalidTokenError if there is none.
        """
        if algorithm in SECRET_ALGORITHMS:
            secret = self._secret()
            if secret is not None:
                return _Verification(secret, SECRET_ALGORITHMS)
        elif algorithm in KEY_SET_ALGORITHMS and self.issuer is not None:
            return _Verification(await self.issuer.key(key_id), KEY_SET_ALGORITHMS)
        shown = algorithm[:20]
        if self._logged.adds(shown):
            logger.warning(
                "JWTs signed with %r are refused: set MARGINALIA_JWT_SECRET for HS256, or "
                "MARGINALIA_JWT_ISSUER or MARGINALIA_JWKS_URL for RS256, ES256 and EdDSA.",
                shown,
            )
        raise InvalidTokenError(
            TokenFlaw.UNVERIFIABLE,
            f"This server cannot verify a JWT signed with {shown!r}: get a JWT from the issuer "
            "that this server trusts.",
        )


class _Verification(NamedTuple):
    """A key, and the only algorithms for which it may be used."""

    key: "str | jwt.PyJWK"
    algorithms: tuple[str, ...]


@lru_cache(maxsize=16)
def _header(encoded: str) -> tuple[str, Any]:
    """Return ``alg`` and ``kid`` of a JWT's encoded header. Most JWTs have the same header."""
    import jwt  # noqa: PLC0415 - see the module's docstring

    # To return the header, PyJWT would decode all parts of a JWT, in a slow loop over their
    # characters. So pass only the header.
    header = jwt.get_unverified_header(f"{encoded}..")
    algorithm = header.get("alg")
    return algorithm if isinstance(algorithm, str) else "", header.get("kid")


def _claims(encoded: str, verification: _Verification) -> tuple[dict[str, Any], bool]:
    """Return the claims of a JWT, and whether this server's secret signed it."""
    import jwt  # noqa: PLC0415 - see the module's docstring

    claims: dict[str, Any] = jwt.decode(
        encoded,
        verification.key,
        algorithms=verification.algorithms,
        leeway=LEEWAY,
        options={"require": ["exp", "sub"], "verify_aud": False, "verify_iss": False},
    )
    claims["exp"] = int(claims["exp"])  # PyJWT compares whole seconds
    return claims, verification.algorithms == SECRET_ALGORITHMS


class SignInCode:
    """A code that signs a visitor in once, within ``CODE_SECONDS`` after it was made."""

    def __init__(self) -> None:
        self.text = secrets.token_urlsafe(12)
        self._ends = time.monotonic() + CODE_SECONDS

    def take(self, text: str) -> bool:
        """Return whether ``text`` is the valid code. If it is, make the code invalid."""
        valid = hmac.compare_digest(self.text.encode(), text.encode())
        taken = valid and time.monotonic() < self._ends
        if taken:
            self._ends = -math.inf
        return taken


def make_token(
    secret: str,
    *,
    user: str,
    roles: Sequence[str] = (),
    lifetime: timedelta,
    name: str | None = None,
) -> str:
    """Return an HS256 JWT for a user with roles. It expires after ``lifetime``.

    ``name`` is the display name in the user's comments. Without it, the comments show the user's
    id.
    """
    now = datetime.now(UTC)
    claims = {
        "sub": user,
        "name": name or user,
        "roles": list(roles),
        "iat": now,
        "exp": now + lifetime,
    }
    return sign(secret, claims)


def sign(secret: str, claims: Mapping[str, Any]) -> str:
    """Return an HS256 JWT of this server's issuer with these claims."""
    import jwt  # noqa: PLC0415 - see the module's docstring

    return jwt.encode({"iss": OWN_ISSUER, **claims}, secret, algorithm=SECRET_ALGORITHMS[0])


def _invalid(error: Exception) -> InvalidTokenError:
    """Return the error for clients that corresponds to an error of PyJWT."""
    import jwt  # noqa: PLC0415 - see the module's docstring
    from jwt.exceptions import InvalidSubjectError  # noqa: PLC0415 - see the module's docstring

    match error:
        case jwt.ExpiredSignatureError():
            flaw, message = TokenFlaw.EXPIRED, "The JWT has expired: get a new one."
        case jwt.ImmatureSignatureError():
            flaw = TokenFlaw.EARLY
            message = (
                "The JWT is not valid yet: the clock of the issuer or of this server is wrong."
            )
        case jwt.InvalidSignatureError():
            flaw = TokenFlaw.UNKNOWN_KEY
            message = "The JWT is not signed with a key that this server trusts: get a new one."
        case InvalidSubjectError():
            flaw = TokenFlaw.CLAIMS
            message = "The JWT's claim 'sub' must be a string, the user's id."
        case jwt.PyJWKClientError() | jwt.PyJWKSetError():
            flaw = TokenFlaw.UNKNOWN_KEY
            message = "The JWT names no key, or a key that the issuer's key set lacks."
        case jwt.MissingRequiredClaimError():
            flaw, claim = TokenFlaw.CLAIMS, error.claim
            message = (
                f"The JWT lacks the claim {claim!r}: it needs 'sub', the user's id, "
                "and 'exp', its expiry."
            )
        case _:
            flaw = TokenFlaw.UNREADABLE
            message = "The JWT cannot be read: send it whole, as 'Authorization: Bearer <JWT>'."
    return InvalidTokenError(flaw, message)
