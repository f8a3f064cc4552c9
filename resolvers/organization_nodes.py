"""Organisations, their users and tickets by global id; each is shown to whom it is shown elsewhere.

The own id of an organisation's user is ``<organisation>/<username>``, each part as in keys.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import strawberry
from strawberry.relay.utils import to_base64

from dal import rules
from dal.errors import InvalidArgumentError
from dal.keys import escape, unescape
from dal.organization_model import Organization, OrganizationUser, Ticket
from resolvers.access import require_viewer
from resolvers.memberships import require_member, require_tickets, user_of
from resolvers.selection import Info


def organization_node_id(root: strawberry.Parent[Organization]) -> strawberry.ID:
    """Return the global id of an organisation."""
    return strawberry.ID(to_base64("Organization", root.name))


def organization_user_node_id(root: strawberry.Parent[OrganizationUser]) -> strawberry.ID:
    """Return the global id of an organisation's user."""
    own_id = f"{escape(root.organization)}/{escape(root.username)}"
    return strawberry.ID(to_base64("OrganizationUser", own_id))


def ticket_node_id(root: strawberry.Parent[Ticket]) -> strawberry.ID:
    """Return the global id of a ticket."""
    return strawberry.ID(to_base64("Ticket", root.ticket_id))


def user_names(argument: str, own_id: str) -> str:
    """Return the own id of an organisation's user when both its parts are well-formed."""
    organization, _, username = own_id.partition("/")
    for part in (organization, username):
        if escape(rules.identifier(argument, unescape(part))) != part:
            raise InvalidArgumentError(
                argument, f"{argument} is not the id of an OrganizationUser."
            )
    return own_id


async def load_organization(info: Info, own_id: str) -> Organization | None:
    """Return an organisation to those who may see it."""
    await require_member(info.context, own_id)
    return await info.context.stores.organizations.get(own_id)


async def load_organization_user(info: Info, own_id: str) -> OrganizationUser | None:
    """Return an organisation's user to those who may see the organisation."""
    organization, _, username = own_id.partition("/")
    await require_member(info.context, unescape(organization))
    return await user_of(info.context, unescape(organization), unescape(username))


async def load_ticket(info: Info, own_id: str) -> Ticket | None:
    """Return a ticket to those who may see it."""
    require_viewer(info.context)
    found = await info.context.stores.tickets.get(own_id)
    if found is not None:
        await require_tickets(info.context, found.organization, found.username)
    return found


LOADERS: Mapping[
    str,
    Callable[[Info, str], Coroutine[Any, Any, Organization | OrganizationUser | Ticket | None]],
] = {
    "Organization": load_organization,
    "OrganizationUser": load_organization_user,
    "Ticket": load_ticket,
}
