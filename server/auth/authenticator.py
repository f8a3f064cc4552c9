"""Signs and verifies JWTs.

PyJWT imports ``cryptography``, which takes a twentieth of the time of a server's start. Clients
that only read need no JWT, so PyJWT is imported when the first JWT arrives.
"""

import hmac
import logging
import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from resolvers.context import Viewer
from server.auth.claims import OWN_ISSUER, ClaimRules, InvalidTokenError, TokenFlaw
from server.auth.issuer import Issuer
from server.logs import FirstValues

if TYPE_CHECKING:
    import jwt

logger = logging.getLogger(__name__)

SECRET_ALGORITHMS = ("HS256",)
KEY_SET_ALGORITHMS = ("RS256", "ES256", "EdDSA")

LEEWAY = timedelta(seconds=10)
"""How much the clocks of the issuer and of this server may differ."""

DEMO_USER = "demo"
DEMO_LIFETIME = timedelta(days=7)

CODE_SECONDS = 600


class Authenticator:
    """Verifies the JWT of an Authorization header, and returns its user.

    ``secret`` is called for each JWT, and returns the current HS256 secret or None. ``issuer`` has
    the public keys for RS256, ES256 and EdDSA. The JWT's ``alg`` determines whether the secret or a
    public key verifies it. So a public key never verifies an HS256 signature (RFC 8725, 3.1).
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

    def issue(
        self, user: str, lifetime: timedelta, *, name: str | None = None, roles: Sequence[str] = ()
    ) -> str | None:
        """Return a JWT for a user; None if the server has no secret to sign it."""
        secret = self._secret()
        return secret and make_token(secret, user=user, name=name, roles=roles, lifetime=lifetime)

    async def viewer(self, authorization: str) -> Viewer:
        """Return the user of an Authorization header's JWT.

        Raises InvalidTokenError, or KeysUnavailableError when the key set cannot be fetched.
        """
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() != "bearer" or not credentials.strip():
            raise InvalidTokenError(
                TokenFlaw.UNREADABLE, "Send the header as 'Authorization: Bearer <JWT>'."
            )
        claims, by_secret = await self.verified(credentials.strip())
        viewer = self.rules.viewer(claims, by_secret=by_secret)
        return replace(viewer, expires=float(claims["exp"]) + LEEWAY.total_seconds())

    async def verified(self, encoded: str) -> tuple[dict[str, Any], bool]:
        """Return the claims of a valid JWT, and whether this server's secret signed it.

        The caller checks the issuer and the audience, because the expected ones depend on the
        signer.
        """
        import jwt  # noqa: PLC0415 - see above

        try:
            # PyJWT checks each character, so read the header alone
            header = jwt.get_unverified_header(f"{encoded.partition('.')[0]}..")
            verification = await self._verification(str(header.get("alg")), header.get("kid"))
            claims: dict[str, Any] = jwt.decode(
                encoded,
                verification.key,
                algorithms=verification.algorithms,
                leeway=LEEWAY,
                options={"require": ["exp", "sub"], "verify_aud": False, "verify_iss": False},
            )
        except jwt.PyJWTError as error:
            raise _invalid(error) from error
        return claims, verification.algorithms == SECRET_ALGORITHMS

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
                "MARGINALIA_JWT_ISSUER for RS256, ES256 and EdDSA.",
                shown,
            )
        raise InvalidTokenError(
            TokenFlaw.UNVERIFIABLE,
            f"This server cannot verify a JWT signed with {shown!r}: get one from the "
            "issuer that it trusts.",
        )


@dataclass(frozen=True, slots=True)
class _Verification:
    """A key, and the only algorithms for which it may be used."""

    key: "str | jwt.PyJWK"
    algorithms: Sequence[str]


class SignInCode:
    """A code that signs a visitor in once, within some minutes after it was made."""

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


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """The demo's user, who has no roles and signs in by one click. Only a demo has this account.

    The link that the server prints at its start contains ``code``. With several workers there is no
    code, because only the process that made a code knows it.
    """

    username: str
    authenticator: Authenticator
    code: SignInCode | None = None

    def jwt(self) -> str | None:
        """Return a JWT that expires after ``DEMO_LIFETIME``; None without a secret."""
        return self.authenticator.issue(self.username, DEMO_LIFETIME)


def make_token(
    secret: str,
    *,
    user: str,
    roles: Sequence[str] = (),
    lifetime: timedelta,
    name: str | None = None,
) -> str:
    """Return an HS256 JWT for a user with roles. It expires after ``lifetime``.

    ``name`` is the display name of the user's comments. Without it, they show the user's id.
    """
    import jwt  # noqa: PLC0415 - see above

    now = datetime.now(UTC)
    claims = {
        "iss": OWN_ISSUER,
        "sub": user,
        "name": name or user,
        "roles": list(roles),
        "iat": now,
        "exp": now + lifetime,
    }
    return jwt.encode(claims, secret, algorithm=SECRET_ALGORITHMS[0])


def _invalid(error: "jwt.PyJWTError") -> InvalidTokenError:
    """Return the error for clients that corresponds to PyJWT's error."""
    import jwt  # noqa: PLC0415 - see above
    from jwt.exceptions import InvalidSubjectError  # noqa: PLC0415 - see above

    match error:
        case jwt.ExpiredSignatureError():
            flaw, message = TokenFlaw.EXPIRED, "The JWT has expired: get a new one."
        case jwt.ImmatureSignatureError():
            flaw = TokenFlaw.EARLY
            message = "The JWT is not valid yet: the issuer's clock or the server's is wrong."
        case jwt.InvalidSignatureError():
            flaw = TokenFlaw.UNKNOWN_KEY
            message = "The JWT is not signed with a key of this server: get a new one."
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
