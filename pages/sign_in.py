"""Signs visitors of the pages in: at an OpenID Connect issuer, or to the demo's accounts.

The sign-in at an issuer uses the authorization code flow with PKCE. Afterwards, the browser keeps a
JWT that this server has signed, because the issuer's JWT may be too large for a cookie.
"""

import hashlib
import hmac
import logging
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from resolvers.authorization import MERCHANT, MODERATOR, ROLES
from server.auth.authenticator import DEMO_LIFETIME, Authenticator, SignInCode
from server.auth.claims import InvalidTokenError, TokenFlaw
from server.auth.issuer import (
    AUTH_METHODS,
    Issuer,
    KeysUnavailableError,
    exchange,
    json_object,
)

MAX_JWT = 4_000
"""Maximum characters of a visitor's JWT. The server stores the JWT in a cookie, and browsers drop a
cookie with more than 4,096 characters in name and value."""

logger = logging.getLogger(__name__)

SESSION = timedelta(hours=8)
"""The lifetime of a visitor's session on the pages. It does not depend on the issuer's JWT."""

SCOPES = "openid profile"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The secrets of one sign-in.

    The browser keeps them in a cookie until it returns from the issuer.

    ``state`` proves that this browser began the sign-in. ``nonce`` proves that the ID token belongs
    to this sign-in (OpenID Connect Core 3.1.2.1). ``verifier`` proves to the issuer that the code
    belongs to this sign-in (RFC 7636).
    """

    state: str
    nonce: str
    verifier: str


DEMO_ROLES: Mapping[str, frozenset[str]] = {
    "shopper": frozenset(),
    "moderator": frozenset({MODERATOR}),
    "merchant": frozenset({MERCHANT}),
}
"""The roles of each of the demo's accounts."""


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """The demo's accounts, to which visitors sign in by one click. Only a demo has them.

    ``username`` is the user of the account ``shopper``. The other users have roles.

    ``code`` is in the link that the server prints at its start. The link signs the visitor in
    without a click. With several workers there is no code, because only the process that made a
    code knows it.
    """

    username: str
    authenticator: Authenticator
    code: SignInCode | None = None

    def jwt(self, account: str = "shopper") -> str | None:
        """Return a JWT of an account in ``DEMO_ROLES``. It expires after ``DEMO_LIFETIME``.

        Return None without a secret, or if there is no such account.
        """
        if account not in DEMO_ROLES:
            return None
        user = self.username if account == "shopper" else f"{self.username}-{account}"
        return self.authenticator.issue(user, DEMO_LIFETIME, roles=sorted(DEMO_ROLES[account]))


class SignIn:
    """Signs visitors in at an issuer.

    The issuer's ID tokens are checked by the same rules as JWTs of the API, except for the
    audience.
    """

    def __init__(
        self, authenticator: Authenticator, issuer: Issuer, client_id: str, client_secret: str
    ) -> None:
        self._authenticator = authenticator
        self._issuer = issuer
        # The audience of an ID token is the client. The audience of an access token is the API.
        self._rules = replace(authenticator.rules, audience=client_id)
        self._client_id = client_id
        self._client_secret = client_secret

    async def start(self, redirect_uri: str) -> tuple[str, Attempt]:
        """Return the issuer's URL that the browser must open, and the attempt for ``finish``.

        ``redirect_uri`` is the URL to which the issuer sends the browser back. Raises
        KeysUnavailableError if the issuer's discovery document is unavailable or incomplete.
        """
        attempt = Attempt(*(secrets.token_urlsafe(32) for _ in range(3)))
        digest = hashlib.sha256(attempt.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect_uri,
            "scope": SCOPES,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        endpoint = str((await self._metadata())["authorization_endpoint"])
        # The URL may have a query already (RFC 6749, section 3.1).
        address = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"
        return address, attempt

    async def finish(self, attempt: Attempt, state: str, code: str, redirect_uri: str) -> str:
        """Return this server's JWT for the user who has signed in at the issuer.

        ``state`` and ``code`` come from the issuer's response. Raises InvalidTokenError if they do
        not belong to this attempt, or if the issuer or this server refuses the sign-in. Raises
        KeysUnavailableError if the issuer is unavailable or sends an invalid response.
        """
        # If the browser sends no cookie, the attempt's state is empty. So refuse an empty
        # ``state``, which would equal it. ``code`` is empty if the visitor has declined.
        if not state or not code or not hmac.compare_digest(attempt.state.encode(), state.encode()):
            raise InvalidTokenError(TokenFlaw.UNREADABLE, "This sign-in was not started here.")
        encoded = await self._id_token(code, redirect_uri, attempt.verifier)
        claims, by_secret = await self._authenticator.verified(
            encoded if isinstance(encoded, str) else ""
        )
        # OpenID Connect Core 3.1.3.7, step 11: refuse the ID token of another attempt. Also refuse
        # a JWT that this server's secret has signed, because it is not from the issuer.
        if by_secret or claims.get("nonce") != attempt.nonce:
            raise InvalidTokenError(
                TokenFlaw.UNREADABLE, "This ID token belongs to another sign-in."
            )
        if claims.get("azp", self._client_id) != self._client_id:
            raise InvalidTokenError(TokenFlaw.AUDIENCE, "This ID token belongs to another client.")
        viewer = self._rules.viewer(claims, by_secret=False)
        # Keep only the roles that this server uses. Some issuers put all of the user's groups into
        # the roles, and they may be too many for a cookie.
        roles = sorted(viewer.roles & ROLES.keys())
        session = self._authenticator.issue(viewer.user_id, SESSION, name=viewer.name, roles=roles)
        if session is None or len(session) > MAX_JWT:
            message = "This server has no secret, or the user's name is too long for a cookie."
            raise InvalidTokenError(TokenFlaw.UNVERIFIABLE, message)
        return session

    async def _id_token(self, code: str, redirect_uri: str, verifier: str) -> object:
        """Return the ID token for which the issuer exchanges ``code`` (RFC 6749, section 4.1.3)."""
        known = await self._metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = {"Accept": "application/json"}
        # If the document does not list the methods by which clients authenticate, they must use
        # HTTP Basic (OpenID Connect Discovery, section 3).
        if "client_secret_basic" in known.get(AUTH_METHODS, ["client_secret_basic"]):
            credentials = f"{self._client_id}:{self._client_secret}".encode()
            headers["Authorization"] = f"Basic {b64encode(credentials).decode()}"
        else:
            form |= {"client_id": self._client_id, "client_secret": self._client_secret}
        endpoint = str(known["token_endpoint"])
        try:
            # A redirect would send the code and the client's secret to another address.
            status, body = await exchange(
                "POST", endpoint, data=form, headers=headers, allow_redirects=False
            )
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise ValueError(f"the status of {endpoint} is {status}")  # noqa: TRY301
            if status >= HTTPStatus.MULTIPLE_CHOICES:
                message = f"The issuer refused the code: {body[:500].decode(errors='replace')}"
                raise InvalidTokenError(TokenFlaw.UNREADABLE, message)
            return json_object(body).get("id_token")
        except ValueError as error:
            # The issuer's response or the address of its token endpoint is malformed.
            raise KeysUnavailableError(str(error)) from error

    async def _metadata(self) -> Mapping[str, Any]:
        """Return the issuer's discovery document. Raise KeysUnavailableError without endpoints."""
        known = await self._issuer.metadata()
        if not {"authorization_endpoint", "token_endpoint"} <= known.keys():
            logger.warning(
                "Sign-in is unavailable: the issuer's discovery document lacks "
                "authorization_endpoint or token_endpoint."
            )
            raise KeysUnavailableError("Sign-in is unavailable: try again in a moment.")
        return known
