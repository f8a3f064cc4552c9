"""Resolvers of tickets."""

from datetime import UTC, datetime

import strawberry

from dal import rules
from dal.errors import NotFoundError
from dal.organization_items import ticket_position
from dal.organization_model import OrganizationUser, Ticket, TicketStatus
from dal.pages import Edge, Page
from resolvers.access import require_viewer
from resolvers.arguments import slice_of
from resolvers.inputs import new_id
from resolvers.memberships import require_tickets, require_user
from resolvers.node_ids import parse_node_id
from resolvers.organization_inputs import CloseTicketInput, CreateTicketInput
from resolvers.organization_payloads import TicketPayload
from resolvers.payloads import reported
from resolvers.selection import Info


async def ticket(info: Info, ticket_id: str) -> Ticket | None:
    """Return a ticket by its own id."""
    return await load(info, rules.identifier("ticketId", ticket_id))


async def load(info: Info, ticket_id: str) -> Ticket | None:
    """Return a ticket that the viewer may see."""
    require_viewer(info.context)
    found = await info.context.stores.tickets.get(ticket_id)
    if found is not None:
        await require_tickets(info.context, found.organization, found.username)
    return found


def organization_name(root: strawberry.Parent[Ticket]) -> str:
    """Return the name of the organisation whose user opened a ticket."""
    return root.organization


async def tickets(
    root: strawberry.Parent[OrganizationUser],
    info: Info,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
    status: list[TicketStatus] | None = None,
) -> Page[Ticket]:
    """Return a page of a user's tickets, newest first."""
    await require_tickets(info.context, root.organization, root.username)
    cut = slice_of(info, first, after, last, before)
    info.context.budget.spend()
    if status is not None:
        statuses = frozenset(status)
        return await info.context.stores.tickets.page(
            root.organization, root.username, statuses, cut
        )
    page = info.context.prefetched.take(root, cut)
    return page or await info.context.stores.tickets.page(
        root.organization, root.username, None, cut
    )


@reported(TicketPayload)
async def create_ticket(info: Info, input: CreateTicketInput) -> TicketPayload:  # noqa: A002 - Relay's name
    """Store the viewer's ticket."""
    username = require_viewer(info.context).username
    await require_user(info.context, rules.identifier("organization", input.organization))
    new = Ticket(
        ticket_id=new_id(input.idempotency_key, input.organization, username),
        organization=input.organization,
        username=username,
        subject=rules.title("subject", input.subject),
        text=rules.text("text", input.text),
        created_at=datetime.now(UTC),
    )
    return TicketPayload(await info.context.stores.tickets.create(new))


@reported(TicketPayload)
async def close_ticket(info: Info, input: CloseTicketInput) -> TicketPayload:  # noqa: A002
    """Close a ticket that the viewer may see."""
    _, ticket_id = parse_node_id("id", input.id, "Ticket")
    found = await load(info, ticket_id)
    if found is None:
        raise NotFoundError("There is no such ticket.")
    closed = await info.context.stores.tickets.close(found)
    return TicketPayload(Edge(closed, ticket_position(closed)))
