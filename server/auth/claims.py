"""The claims of a verified JWT: checks issuer and audience, and reads the user, name and roles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeAlias

from dal.model import own_ids, rules
from dal.table.errors import InvalidArgumentError
from resolvers.context import Grant, Viewer

OWN_ISSUER = "marginalia"
"""The claim ``iss`` of JWTs that a Marginalia server or ``marginalia token`` has signed."""


class TokenFlaw(Enum):
    """Why a JWT is refused."""

    UNREADABLE = auto()
    EXPIRED = auto()
    EARLY = auto()
    UNKNOWN_KEY = auto()
    UNVERIFIABLE = auto()
    """This server has no secret and no key set for the JWT's algorithm."""
    ISSUER = auto()
    AUDIENCE = auto()
    CLAIMS = auto()
    """A required claim is missing or malformed."""


class InvalidTokenError(Exception):
    """A JWT was refused. The message says why, and what to do.

    The message is for the API's clients. The HTML pages have their own text for each ``flaw``.
    """

    def __init__(self, flaw: TokenFlaw, message: str) -> None:
        super().__init__(message)
        self.flaw = flaw


Bearer: TypeAlias = Viewer | Grant
"""What a JWT proves: an account, or a grant without one."""

GrantReader: TypeAlias = Callable[[Mapping[str, Any]], Grant]
"""Returns the grant in verified claims. Raises InvalidArgumentError with the name of a malformed
claim."""


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """The issuer and audience that a JWT must have, and the claims with the user's name and roles.

    ``names`` and ``roles`` identify a claim by its name, such as ``https://shop.example/roles``, or
    by a path through objects, such as ``realm_access.roles``. ``role_names`` maps the issuer's
    roles to this server's roles. If the map is empty, roles keep their names. Otherwise only mapped
    roles give rights.
    """

    issuer: str | None = None
    audience: str | None = None
    names: Sequence[str] = ()
    """The claims that may contain the user's display name. The first one that the JWT has is used.
    If ``names`` is empty, the claim is ``name``. A JWT without a display name is refused, with one
    exception: if ``names`` is empty and this server's secret has signed the JWT, the display name
    is ``sub``."""
    roles: str = "roles"
    role_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    grants: Mapping[str, GrantReader] = field(default_factory=dict)
    """What reads a JWT's grant, by the JWT's ``scope``."""

    def bearer(self, claims: Mapping[str, Any], *, by_secret: bool) -> Bearer:
        """Return the grant or the user of verified ``claims``.

        A JWT of the issuer ``OWN_ISSUER`` with a ``scope`` is a grant. It is never an account. In
        JWTs of other issuers, ``scope`` has the issuer's meaning and is ignored. Raises
        InvalidTokenError as ``viewer`` does, and if no grant has this scope.
        """
        if not (by_secret and claims.get("iss") == OWN_ISSUER and "scope" in claims):
            return self.viewer(claims, by_secret=by_secret)
        _check_audience(claims, None)
        scope = claims["scope"]
        reader = self.grants.get(scope) if isinstance(scope, str) else None
        if reader is None:
            message = f"This server does not know the JWT's scope {str(scope)[:20]!r}."
            raise InvalidTokenError(TokenFlaw.CLAIMS, message)
        try:
            return reader(claims)
        except InvalidArgumentError as error:
            raise _malformed(error.argument, error) from error

    def viewer(self, claims: Mapping[str, Any], *, by_secret: bool) -> Viewer:
        """Return the user of verified ``claims``. Raise InvalidTokenError if the rules refuse them.

        ``by_secret`` is True if this server's secret has verified the JWT. If such a JWT has the
        issuer ``OWN_ISSUER``, a server or ``marginalia token`` has made it. The configured rules
        then do not apply: the claims have their default names, the JWT must have no audience, and
        its roles keep their names.
        """
        rules_in_force = self
        if by_secret and claims.get("iss") == OWN_ISSUER:
            rules_in_force = ClaimRules(issuer=OWN_ISSUER)
        # OpenID Connect Core 3.1.3.7: the claim must equal the setting exactly, including a slash
        # at the end.
        if rules_in_force.issuer is not None and claims.get("iss") != rules_in_force.issuer:
            raise InvalidTokenError(
                TokenFlaw.ISSUER, "The JWT is from another issuer: sign in at this server's issuer."
            )
        _check_audience(claims, rules_in_force.audience)
        return Viewer(
            user_id=_valid(own_ids.account, "sub", claims["sub"]),
            name=rules_in_force._name(claims, by_secret=by_secret),
            roles=rules_in_force._roles(claims),
        )

    def _name(self, claims: Mapping[str, Any], *, by_secret: bool) -> str:
        paths = self.names or ("name",)
        found = (_find(claims, path) for path in paths)
        name = next((one for one in found if one is not None), None)
        if name is None and not self.names and by_secret:
            name = claims["sub"]
        if not isinstance(name, str) or not name.strip():
            message = f"The JWT lacks the claim {paths[0]!r}, the name that comments show."
            raise InvalidTokenError(TokenFlaw.CLAIMS, message)
        return _valid(rules.name, "name", name)

    def _roles(self, claims: Mapping[str, Any]) -> frozenset[str]:
        roles = _find(claims, self.roles)
        if roles is None:
            return frozenset()
        if isinstance(roles, str):
            roles = roles.split()
        if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
            message = f"The JWT's claim {self.roles!r} must be a list of strings or one string."
            raise InvalidTokenError(TokenFlaw.CLAIMS, message)
        if not self.role_names:
            return frozenset(roles)
        return frozenset[str]().union(*(self.role_names.get(role, ()) for role in roles))


def _check_audience(claims: Mapping[str, Any], ours: str | None) -> None:
    """Raise InvalidTokenError unless a JWT is for the audience ``ours``."""
    # RFC 7519, 4.1.3: a server must refuse a JWT if its audience does not include the server.
    # Cognito's access tokens have no 'aud'; their 'client_id' names the application for which
    # they were issued.
    audience = claims.get("aud", claims.get("client_id") if ours else None)
    several = isinstance(audience, list) and ours in audience
    if several or audience == ours:
        return
    message = "The JWT is meant for another audience: get one for this server."
    if audience is None:
        message = "The JWT lacks the claim 'aud': get one for this server."
    raise InvalidTokenError(TokenFlaw.AUDIENCE, message)


def _find(claims: Mapping[str, Any], path: str) -> Any:
    """Return the claim named ``path``, or the value at ``path``, such as ``a.b``.

    Return None if the claims contain neither.
    """
    if path in claims:
        return claims[path]
    found: Any = claims
    for name in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found


def _valid(rule: Callable[[str, str], str], claim: str, value: str) -> str:
    try:
        return rule(claim, value)
    except InvalidArgumentError as error:
        raise _malformed(claim, error) from error


def _malformed(claim: str, error: InvalidArgumentError) -> InvalidTokenError:
    message = f"The JWT's claim {claim!r} is not valid: {error}"
    return InvalidTokenError(TokenFlaw.CLAIMS, message)
