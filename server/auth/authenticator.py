"""Who is asking: the user of a bearer JWT."""

from collections.abc import Callable
from datetime import timedelta
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING

from resolvers.request.context import Viewer

if TYPE_CHECKING:
    from server.auth.jwt import Verifier


class TokenFlaw(Enum):
    """Why a JWT does not prove who is asking."""

    UNREADABLE = auto()
    EXPIRED = auto()
    EARLY = auto()
    UNKNOWN_KEY = auto()
    UNVERIFIABLE = auto()
    """This server verifies nothing that is signed like it."""
    AUDIENCE = auto()
    CLAIMS = auto()
    """One that is needed is missing, or is not what it should be."""


class InvalidTokenError(Exception):
    """A JWT was sent and does not prove who is asking; the message says why and what to do.

    The message is for the API's clients; pages have words of their own for each ``flaw``.
    """

    def __init__(self, flaw: TokenFlaw, message: str) -> None:
        super().__init__(message)
        self.flaw = flaw


class KeysUnavailableError(Exception):
    """The key set that would verify a JWT cannot be fetched now."""


class Authenticator:
    """Tells who is asking from an Authorization header.

    ``secret`` is called for each JWT and returns the HS256 secret in force, or None. ``jwks_url``
    serves the public keys of RS256, ES256 and EdDSA. ``audience`` is what ``aud`` of the key set's
    JWTs must hold; without it a JWT that names an audience is meant for someone else.
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

    def issue(self, username: str, lifetime: timedelta) -> str | None:
        """Return a JWT for a user without roles; None where no secret signs any."""
        from server.auth.jwt import make_token  # noqa: PLC0415 - see below

        secret = self._secret()
        return secret and make_token(secret, username=username, roles=[], lifetime=lifetime)

    async def viewer(self, authorization: str | None) -> Viewer | None:
        """Return the JWT's user, None when no header was sent.

        Raises InvalidTokenError, or KeysUnavailableError when the key set cannot be fetched.
        """
        if authorization is None:
            return None
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() != "bearer" or not credentials.strip():
            raise InvalidTokenError(
                TokenFlaw.UNREADABLE, "Send the header as 'Authorization: Bearer <JWT>'."
            )
        return await self._verifier.viewer(credentials.strip())

    @cached_property
    def _verifier(self) -> "Verifier":
        # PyJWT's cryptography is a twentieth of every start, and whoever reads may send no JWT.
        from server.auth.jwt import Verifier  # noqa: PLC0415 - see above

        return Verifier(self._secret, self._jwks_url, self._audience)
