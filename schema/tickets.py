"""The GraphQL types of tickets."""

from datetime import datetime
from typing import Annotated, ClassVar

import strawberry

from dal import model
from resolvers import organizations, tickets, users
from schema.comments import Author
from schema.costs import NOTHING, TWO_KEYS, mutation
from schema.execution.facts import facts
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum

show_enum(
    model.TicketStatus,
    "Status of a ticket.",
    OPEN="The ticket is open.",
    CLOSED="The ticket is closed and cannot be reopened.",
)


@strawberry.type(description="A support ticket that a user of an organisation opened.")
class Ticket(Node):
    """The GraphQL type of ``dal.model.Ticket``."""

    shows: ClassVar = model.Ticket
    ticket_id: strawberry.ID = strawberry.field(description="Ticket id.")
    organization: str = strawberry.field(
        name="organizationName", description="Unique name of the organisation."
    )
    organization_shown: model.Organization | None = strawberry.field(
        resolver=organizations.organization_of,
        name="organization",
        graphql_type=Annotated["Organization", strawberry.lazy("schema.organizations")] | None,
        description="The organisation in which the ticket was opened; null if it is not visible to "
        "the user.",
        metadata=facts(reads=TWO_KEYS),
    )
    username: str = strawberry.field(description="User name of the user who opened the ticket.")
    author_name: str = strawberry.field(
        description="Display name of the user when the ticket was opened."
    )
    author: model.Author = strawberry.field(
        resolver=users.author_of,
        graphql_type=Author,
        description="The user who opened the ticket.",
        metadata=facts(below={"name": NOTHING}),
    )
    subject: str = strawberry.field(description="Subject. Maximum 200 characters.")
    text: str = strawberry.field(description="Plain text, not HTML. Maximum 10,000 characters.")
    status: model.TicketStatus = strawberry.field(description="Whether the ticket is open.")
    created_at: datetime = strawberry.field(
        description="Time at which the ticket was opened. Lists of tickets are sorted by this time."
    )


@strawberry.type(description="A page of tickets.")
class TicketConnection(Connection[Ticket]):
    """The GraphQL type of ``dal.query.pagination.Page`` of tickets."""


@strawberry.type(description="Result of `createTicket`.")
class CreateTicketPayload:
    """The GraphQL type of what ``resolvers.tickets.create_ticket`` returns."""

    ticket: Ticket | None = strawberry.field(description="The stored ticket; null on errors.")
    ticket_edge: Edge[Ticket] | None = strawberry.field(
        description="The ticket's edge. Insert the edge into cached lists instead of reading them "
        "again, because lists may lack the change for a moment. Null on errors.",
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `closeTicket`.")
class CloseTicketPayload(CreateTicketPayload):
    """The GraphQL type of what ``resolvers.tickets.close_ticket`` returns."""


@strawberry.type
class TicketMutation:
    """Binds each mutation to its resolver."""

    create_ticket: CreateTicketPayload | None = mutation(
        resolver=tickets.create_ticket,
        description="Open a support ticket. Only for users of the organisation; the role `staff` "
        "is not enough.",
    )
    close_ticket: CloseTicketPayload | None = mutation(
        resolver=tickets.close_ticket,
        description="Close a ticket. Only for the user who opened it, staff, and the "
        "organisation's admins.",
    )
