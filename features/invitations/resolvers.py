"""Returns what the link of a request may do."""

from datetime import datetime

import strawberry

from dal.model import Product
from dal.model.own_ids import global_id
from features.invitations.grant import LinkGrant
from features.invitations.model import Entry, OpenedLink
from resolvers.selection import Info


async def invitation(info: Info) -> OpenedLink | None:
    """Return the link of the request; None without a link.

    Raise GrantRevokedError if the shop has revoked the link.
    """
    grant = info.context.grant
    if not isinstance(grant, LinkGrant):
        return None
    return await info.context.stores.invitations.open(grant.link)


def invitation_id(root: strawberry.Parent[OpenedLink]) -> strawberry.ID:
    """Return the id of a link, for caches."""
    return strawberry.ID(global_id("Invitation", root.link.order_id))


def order_id(root: strawberry.Parent[OpenedLink]) -> strawberry.ID:
    """Return the order of a link."""
    return strawberry.ID(root.link.order_id)


def expires_at(root: strawberry.Parent[OpenedLink]) -> datetime:
    """Return the time at which a link expires."""
    return root.link.expires_at


def incentive(root: strawberry.Parent[OpenedLink]) -> str | None:
    """Return the incentive that a link states."""
    return root.link.incentive


def entry_id(root: strawberry.Parent[Entry]) -> strawberry.ID:
    """Return the id of a link's entry, for caches."""
    return strawberry.ID(global_id("InvitationEntry", root.comment_id))


def product(root: strawberry.Parent[Entry]) -> Product:
    """Return the product of a link's entry."""
    return Product(root.product_id)
