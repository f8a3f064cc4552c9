"""Tickets, shown straight from the domain objects."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

import strawberry

from dal import model
from resolvers import organizations, tickets, users
from schema.comments import Author
from schema.connections import Connection, Edge, Node
from schema.errors import USER_ERRORS, UserError


@strawberry.type(description="What a user of an organisation asks.")
class Ticket(Node):
    """Shows dal.model.Ticket."""

    shows: ClassVar = model.Ticket
    ticket_id: str = strawberry.field(description="Its own id.")
    organization: str = strawberry.field(
        name="organizationName", description="The organisation's unique name."
    )
    organization_shown: model.Organization | None = strawberry.field(
        resolver=organizations.organization_of,
        name="organization",
        graphql_type=Annotated["Organization", strawberry.lazy("schema.organizations")] | None,  # noqa: F821 - it imports us
        description="The organisation whose user opened it; read once a request.",
    )
    username: str = strawberry.field(description="Who opened it.")
    author: model.User = strawberry.field(
        resolver=users.user_of, graphql_type=Author, description="Who opened it, as an object."
    )
    subject: str = strawberry.field(description="What it is about, in 200 characters at most.")
    text: str = strawberry.field(
        description="Plain text as it was written, of up to 10,000 characters."
    )
    status: model.TicketStatus = strawberry.field(description="Whether it is still open.")
    created_at: datetime = strawberry.field(description="When it was opened; lists go by this.")


@strawberry.type(description="One page of a list.")
class TicketConnection(Connection[Ticket]):
    """Shows dal.query.pagination.Page of tickets."""


@strawberry.type(description="What became of a new ticket.")
class CreateTicketPayload:
    """Shows resolvers.tickets.TicketPayload."""

    ticket: Ticket | None = strawberry.field(description="As it is stored; null if it is not.")
    ticket_edge: Edge[Ticket] | None = strawberry.field(
        description="Ready to be inserted in a list: an index may lag a write."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="What became of closing a ticket.")
class CloseTicketPayload(CreateTicketPayload):
    """Shows resolvers.tickets.TicketPayload."""


@strawberry.type
class TicketMutation:
    """Binds each mutation to its resolver."""

    create_ticket: tickets.TicketPayload | None = strawberry.mutation(
        resolver=tickets.create_ticket,
        graphql_type=CreateTicketPayload | None,
        description="Open a ticket as a user of an organisation.",
    )
    close_ticket: tickets.TicketPayload | None = strawberry.mutation(
        resolver=tickets.close_ticket,
        graphql_type=CloseTicketPayload | None,
        description="Close a ticket as its user, as an admin of the organisation or as staff.",
    )
