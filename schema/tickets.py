"""Tickets, shown straight from the domain objects."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

import strawberry

from dal import model
from resolvers import organizations, tickets, users
from schema.comments import Author
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum

show_enum(
    model.TicketStatus,
    "Status of a ticket.",
    {
        model.TicketStatus.OPEN: "The ticket is open.",
        model.TicketStatus.CLOSED: "The ticket is closed and cannot be reopened.",
    },
)


@strawberry.type(description="A support ticket of a user of an organisation.")
class Ticket(Node):
    """Shows dal.model.Ticket."""

    shows: ClassVar = model.Ticket
    ticket_id: str = strawberry.field(description="Ticket id.")
    organization: str = strawberry.field(
        name="organizationName", description="Unique name of the organisation."
    )
    organization_shown: model.Organization | None = strawberry.field(
        resolver=organizations.organization_of,
        name="organization",
        graphql_type=Annotated["Organization", strawberry.lazy("schema.organizations")] | None,  # noqa: F821 - it imports us
        description="The organisation of the user who opened the ticket.",
    )
    username: str = strawberry.field(description="User name of the user who opened the ticket.")
    author: model.User = strawberry.field(
        resolver=users.user_of, graphql_type=Author, description="The user who opened the ticket."
    )
    subject: str = strawberry.field(description="Subject. Maximum 200 characters.")
    text: str = strawberry.field(description="Plain text, not HTML. Maximum 10,000 characters.")
    status: model.TicketStatus = strawberry.field(description="Whether the ticket is open.")
    created_at: datetime = strawberry.field(
        description="Time the ticket was opened; lists are sorted by it."
    )


@strawberry.type(description="One page of a list.")
class TicketConnection(Connection[Ticket]):
    """Shows dal.query.pagination.Page of tickets."""


@strawberry.type(description="Result of `createTicket`.")
class CreateTicketPayload:
    """Shows resolvers.tickets.TicketPayload."""

    ticket: Ticket | None = strawberry.field(description="The stored ticket; null on errors.")
    ticket_edge: Edge[Ticket] | None = strawberry.field(
        description="Edge to insert into a cached list, since an index may lag a write."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `closeTicket`.")
class CloseTicketPayload(CreateTicketPayload):
    """Shows resolvers.tickets.TicketPayload."""


@strawberry.type
class TicketMutation:
    """Binds each mutation to its resolver."""

    create_ticket: tickets.TicketPayload | None = strawberry.mutation(
        resolver=tickets.create_ticket,
        graphql_type=CreateTicketPayload | None,
        description="Open a ticket. For users of the organisation.",
    )
    close_ticket: tickets.TicketPayload | None = strawberry.mutation(
        resolver=tickets.close_ticket,
        graphql_type=CloseTicketPayload | None,
        description="Close a ticket. For the user who opened it, the organisation's admins and "
        "staff.",
    )
