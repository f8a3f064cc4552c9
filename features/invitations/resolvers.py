"""Returns what the link of a request may do, and makes and revokes links for staff."""

import logging
from collections.abc import Mapping
from typing import Unpack

import strawberry

from dal.model import Product, rules
from dal.model.own_ids import global_id
from dal.query.pagination import Page
from dal.table.errors import InvalidArgumentError
from features.invitations.links import LinkGrant, LinkSigner, SignedLink
from features.invitations.model import DEFAULT_DAYS, MOST_DAYS, Entry, Invitation, OpenedLink
from resolvers.authorization import STAFF, require_role
from resolvers.mutations import Fields, NullIsDefault, Rule, checked, reported
from resolvers.node_ids import plain_account, plain_id
from resolvers.selection import (
    CreatedBefore,
    CreatedFrom,
    Info,
    Input,
    PageArguments,
    slice_of,
    with_arguments,
)

_audit = logging.getLogger("audit")


def valid_days(argument: str, value: int) -> int:
    """Return ``value`` if a link can be valid for this number of days."""
    if not 1 <= value <= MOST_DAYS:
        raise InvalidArgumentError(
            argument, f"{argument} {value} is not a number from 1 to {MOST_DAYS}."
        )
    return value


_NEW: Mapping[str, Rule] = {
    "order_id": plain_id,
    "incentive": rules.stated_title,
    "days": valid_days,
}
_REVOKED: Mapping[str, Rule] = {"order_id": plain_id, "username": plain_account}


@strawberry.input(description="The order whose customer to invite.")
class CreateInvitationInput(NullIsDefault):
    """Input of ``createInvitation``."""

    order_id: strawberry.ID = strawberry.field(description="Order id.")
    incentive: str | None = strawberry.field(
        default=None,
        description="What the customer receives for a comment, in the shop's words. Each comment "
        "shows it. Maximum 200 characters.",
    )
    days: int = strawberry.field(
        default=DEFAULT_DAYS,
        graphql_type=int | None,
        description="Days for which the links are valid, from 1 to 400. Default 60.",
    )


@strawberry.input(description="The order whose links to revoke.")
class RevokeInvitationInput:
    """Input of ``revokeInvitation``."""

    order_id: strawberry.ID = strawberry.field(description="Order id.")
    username: str | None = strawberry.field(
        default=None,
        description="User name of the customer. Required if the order is not stored on this "
        "server.",
    )


@reported(links=[], due_invitation_id=None)
async def create_invitation(info: Info, input: Input[CreateInvitationInput]) -> Fields:
    """Make links for an order, and remove the order from the due invitations. For staff."""
    viewer = require_role(info.context, STAFF, "invite customers")
    given = checked(input, _NEW)
    signer, store = info.context.service(LinkSigner), info.context.stores.invitations
    invitation = await store.of_order(given["order_id"])
    links = signer.signed(invitation.link(given.get("incentive"), given["days"]))
    await store.mark(invitation)
    _audit.info("%s made links for the order %s.", viewer.user_id, invitation.order_id)
    return {"links": links, "due_invitation_id": _due_id(invitation.order_id)}


@reported(due_invitation_id=None)
async def revoke_invitation(info: Info, input: Input[RevokeInvitationInput]) -> Fields:
    """End all links of an order. For staff."""
    viewer = require_role(info.context, STAFF, "revoke invitations")
    given = checked(input, _REVOKED)
    revoked = await info.context.stores.invitations.revoke(given["order_id"], given.get("username"))
    _audit.info("%s revoked the links of the order %s.", viewer.user_id, revoked.order_id)
    return {"due_invitation_id": _due_id(revoked.order_id)}


@with_arguments
async def due_invitations(
    info: Info,
    created_from: CreatedFrom = None,
    created_before: CreatedBefore = None,
    **given: Unpack[PageArguments],
) -> Page[Invitation]:
    """Return a page of the delivered orders whose customers wait for a link. For staff."""
    require_role(info.context, STAFF, "see everyone's orders")
    period = rules.period(created_from, created_before)
    cut = slice_of(info, **given)
    return await info.context.stores.invitations.due(cut, *period)


def _due_id(order_id: str) -> strawberry.ID:
    return strawberry.ID(global_id("DueInvitation", order_id))


def due_id(root: strawberry.Parent[Invitation]) -> strawberry.ID:
    """Return the id of a row of the due invitations, for caches."""
    return _due_id(root.order_id)


def products(root: strawberry.Parent[Invitation | SignedLink]) -> list[Product]:
    """Return the products of an invitation or a link."""
    return [Product(one) for one in root.products]


async def invitation(info: Info) -> OpenedLink | None:
    """Return the link of the request; None without a link.

    Raise LinkRevokedError if the shop has revoked the link.
    """
    grant = info.context.grant
    if not isinstance(grant, LinkGrant):
        return None
    return await info.context.stores.invitations.open(grant.link)


def invitation_id(root: strawberry.Parent[OpenedLink]) -> strawberry.ID:
    """Return the id of a link, for caches."""
    return strawberry.ID(global_id("Invitation", root.order_id))


def entry_id(root: strawberry.Parent[Entry]) -> strawberry.ID:
    """Return the id of a link's entry, for caches."""
    return strawberry.ID(global_id("InvitationEntry", root.comment_id))
