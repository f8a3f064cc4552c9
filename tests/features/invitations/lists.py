"""What invitations add to the lists of the core's tests."""

from datetime import UTC, datetime

from features.invitations.grant import LinkGrant
from features.invitations.links import claims_of
from features.invitations.model import Link
from resolvers.context import Grant
from server.auth.authenticator import sign

_LINK = Link(
    order_id="linked-order",
    username="ann",
    products=("linked",),
    made_at=datetime(2026, 1, 1, tzinfo=UTC),
    expires_at=datetime(2999, 1, 1, tzinfo=UTC),
)

WHO = {"invited": LinkGrant(_LINK)}
"""Further kinds of users who send requests."""


def grant_jwt(grant: Grant, secret: str) -> str:
    """Return the JWT of a grant."""
    assert isinstance(grant, LinkGrant)
    return sign(secret, claims_of(grant.link))


NO_TEXT = {"orderId", "expiresAt", "incentive"}
"""Fields that do not show a comment."""

ROOTS = {"invitation": ""}
"""The root fields with arguments."""

TO_ONESELF = {
    ("Query", "invitation"),
    ("Invitation", "entries"),
    ("InvitationEntry", "submission"),
}
"""Fields that return what the request's own link has written."""
