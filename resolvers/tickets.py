"""Tickets: lists of tickets, a ticket by its id, and mutations of tickets."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Unpack

import strawberry

from dal.errors import NotFoundError
from dal.model import Organization, OrganizationUser, Ticket, TicketStatus, User, rules
from dal.query.pagination import Page, Slice
from dal.repositories.tickets import TicketSelection
from resolvers.authorization import (
    STAFF,
    require_all_tickets,
    require_role,
    require_tickets,
    require_user,
    require_viewer,
    sees_tickets,
)
from resolvers.context import PrefetchedPages
from resolvers.mutations import Fields, Rule, checked, new_id, reported
from resolvers.node_ids import own_id_of, plain_id
from resolvers.selection import (
    DatedArguments,
    Info,
    Input,
    Statuses,
    dated_slice,
    with_arguments,
)

TICKET_ORGANIZATIONS = 20
"""Maximum organisations whose tickets the list `User.tickets` includes: the user's first 20 by
name. Each organisation costs one request to DynamoDB. If a user has more organisations, the list
omits the tickets of those after the 20th. It does not fail, because other users can add a user to
any number of organisations."""

_NEW: Mapping[str, Rule] = {
    "organization_name": plain_id,
    "subject": rules.stated_title,
    "text": rules.stated_text,
    "idempotency_key": rules.identifier,
}


@strawberry.input(description="A new ticket, opened by the signed-in user.")
class CreateTicketInput:
    """Input of ``createTicket``."""

    organization_name: str = strawberry.field(
        description="Name of an organisation to which the user belongs."
    )
    subject: str = strawberry.field(description="Subject. Maximum 200 characters.")
    text: str = strawberry.field(description="Plain text. Maximum 10,000 characters.")
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="Text that identifies the ticket in retries. If a user sends several "
        "requests with the same key, only one ticket is opened.",
    )


@strawberry.input(description="The ticket to close.")
class CloseTicketInput:
    """The ticket to close."""

    id: strawberry.ID = strawberry.field(description="Global `id` of the ticket.")


async def ticket(
    info: Info, ticket_id: Annotated[strawberry.ID, strawberry.argument(description="Ticket id.")]
) -> Ticket | None:
    """Return the ticket with this id; None if it is missing or the viewer may not see it."""
    return await load(info, plain_id("ticketId", ticket_id))


async def load(info: Info, ticket_id: str) -> Ticket | None:
    """Return the ticket with this id, for ``node`` and ``closeTicket``, which check the id."""
    require_viewer(info.context)
    found = await info.context.stores.tickets.get(ticket_id)
    # For a missing ticket, read a membership as for another user's ticket, so that the response
    # time does not show whether the ticket exists.
    of = (found.organization, found.username) if found else (ticket_id, "")
    return found if await sees_tickets(info.context, *of) else None


@with_arguments
async def tickets(
    root: strawberry.Parent[OrganizationUser],
    info: Info,
    status: Statuses[TicketStatus] = None,
    **given: Unpack[DatedArguments],
) -> Page[Ticket]:
    """Return a page of a user's tickets in one organisation."""
    await require_tickets(info.context, root.organization, root.username)
    whole = TicketSelection(root.organization, root.username)
    period, cut = dated_slice(info, **given)
    selection = TicketSelection(root.organization, root.username, status, *period)
    page = info.context.part(PrefetchedPages).take(root, cut) if selection == whole else None
    return page or await info.context.stores.tickets.page(selection, cut)


@with_arguments
async def tickets_of_organization(
    root: strawberry.Parent[Organization],
    info: Info,
    status: Statuses[TicketStatus] = None,
    **given: Unpack[DatedArguments],
) -> Page[Ticket]:
    """Return a page of the tickets of all users of an organisation."""
    await require_all_tickets(info.context, root.name)
    period, cut = dated_slice(info, **given)
    selection = TicketSelection(root.name, None, status, *period)
    return await info.context.stores.tickets.page(selection, cut)


@with_arguments
async def tickets_of_user(
    root: strawberry.Parent[User],
    info: Info,
    status: Statuses[TicketStatus] = None,
    **given: Unpack[DatedArguments],
) -> Page[Ticket]:
    """Return a page of a user's tickets in the user's first 20 organisations."""
    stores = info.context.stores
    period, cut = dated_slice(info, **given)
    of_user = await stores.organizations.of_user(root.username, Slice(TICKET_ORGANIZATIONS))
    names = frozenset(one.organization for one in of_user.nodes)
    selection = TicketSelection(names, root.username, status, *period)
    return await stores.tickets.page(selection, cut)


@with_arguments
async def open_tickets(info: Info, **given: Unpack[DatedArguments]) -> Page[Ticket]:
    """Return a page of all users' open tickets. For staff."""
    require_role(info.context, STAFF, "see everyone's tickets")
    period, cut = dated_slice(info, **given)
    return await info.context.stores.tickets.open_page(cut, *period)


@reported(ticket=None, ticket_edge=None)
async def create_ticket(info: Info, input: Input[CreateTicketInput]) -> Fields:
    """Store a new ticket of the viewer."""
    viewer = require_viewer(info.context)
    stated = checked(input, _NEW)
    key = stated.pop("idempotency_key", None)
    organization = stated.pop("organization_name")
    await require_user(info.context, organization)
    new = Ticket(
        ticket_id=new_id(key, organization, viewer.user_id),
        organization=organization,
        username=viewer.user_id,
        name=rules.name_unless(viewer.user_id, viewer.name),
        created_at=datetime.now(UTC),
        **stated,
    )
    edge = await info.context.stores.tickets.create(new)
    return {"ticket": edge.node, "ticket_edge": edge}


@reported(ticket=None, ticket_edge=None)
async def close_ticket(info: Info, input: Input[CloseTicketInput]) -> Fields:
    """Close a ticket, if the viewer may see it."""
    require_viewer(info.context)
    found = await load(info, checked(input, {"id": own_id_of("Ticket")})["id"])
    if found is None:
        raise NotFoundError("Ticket not found.")
    edge = await info.context.stores.tickets.close(found)
    return {"ticket": edge.node, "ticket_edge": edge}
