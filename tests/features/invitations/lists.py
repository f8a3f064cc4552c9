"""What invitations add to the lists of the core's tests."""

from datetime import UTC, datetime
from functools import partial

from dal.dynamodb.table import Table
from dal.stores import Stores
from features.invitations.entity import INVITATION
from features.invitations.links import LinkGrant, LinkSigner, claims_of
from features.invitations.model import Invitation, Link
from resolvers.context import Grant
from server.auth.authenticator import sign
from tests.server.applications import SECRET

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

ROOTS = {"invitation": "", "dueInvitations": "(first: 2)"}
"""The root fields with arguments."""

TO_ONESELF = {
    ("Query", "invitation"),
    ("Invitation", "entries"),
    ("InvitationEntry", "submission"),
}
"""Fields that return what the request's own link has written."""

SERVICES = {LinkSigner: LinkSigner(partial(sign, SECRET), "https://shop.example")}
"""What resolvers find in ``Context.services``."""

PRIVATE = {
    *("DueInvitation", "DueInvitationConnection", "DueInvitationEdge"),
    "InvitationLink",
}
"""The types that only some users see."""

_DUE = Invitation(
    "secret-order", "ann", ("secret-kettle",), "Ann Secret", datetime(2026, 1, 1, tzinfo=UTC)
)


async def restore_for_access(stores: Stores, table: Table) -> None:
    """Store a due invitation."""
    del stores
    await table.put_many([INVITATION.encode(_DUE)])


MUTATIONS = {
    "createInvitation": 'orderId: "secret-order", incentive: "10 % off"',
    "revokeInvitation": 'orderId: "secret-order"',
}
"""A valid input of each mutation."""

SETTINGS = {"invitations": ("1", True)}
"""Settings with the text of the environment variable and the value."""


async def fill(stores: Stores) -> None:
    """Store what the examples of access patterns read."""
    await stores.table.put_many([INVITATION.encode(_DUE)])


_OF_ORDER = 'orderId: "o1"'
LATE_WRITES = (
    {
        "name": "createInvitation",
        "given": _OF_ORDER,
        "undone": [("revokeInvitation", _OF_ORDER)],
        "context": {"services": SERVICES},
    },
    {
        "name": "revokeInvitation",
        "given": _OF_ORDER,
        "undone": [("createInvitation", _OF_ORDER)],
        "before": [("createInvitation", _OF_ORDER)],
        "context": {"services": SERVICES},
    },
)
"""Mutations with their inputs, the mutations that undo them, and others before them."""
