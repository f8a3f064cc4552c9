"""Object types of organisations and tickets, shown straight from the domain objects."""

from __future__ import annotations

from datetime import datetime

import strawberry

from dal import organization_model as model
from dal import pages
from resolvers import node_ids, organizations, tickets
from schema.types import Connection, Node


@strawberry.type(description="What a user of an organisation asks.")
class Ticket(Node):
    """Shows dal.organization_model.Ticket."""

    @classmethod
    def is_type_of(cls, value: object, _: object) -> bool:
        """Tell the Node interface whose object ``value`` is."""
        return isinstance(value, model.Ticket)

    id: strawberry.ID = strawberry.field(resolver=node_ids.ticket_node_id)
    ticket_id: str
    organization_name: str = strawberry.field(resolver=tickets.organization_name)
    username: str = strawberry.field(description="Who opened it.")
    subject: str
    text: str
    status: model.TicketStatus
    created_at: datetime


@strawberry.type(description="One page of a list.")
class TicketConnection(Connection[Ticket]):
    """Shows dal.pages.Page of tickets."""


@strawberry.type(description="One user of one organisation.")
class OrganizationUser(Node):
    """Shows dal.organization_model.OrganizationUser."""

    @classmethod
    def is_type_of(cls, value: object, _: object) -> bool:
        """Tell the Node interface whose object ``value`` is."""
        return isinstance(value, model.OrganizationUser)

    id: strawberry.ID = strawberry.field(resolver=node_ids.organization_user_node_id)
    username: str
    type: model.UserType
    tickets: pages.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.tickets,
        graphql_type=TicketConnection | None,
        description="The user's tickets, newest first; for this user, admins and staff.",
    )


@strawberry.type(description="One page of a list.")
class OrganizationUserConnection(Connection[OrganizationUser]):
    """Shows dal.pages.Page of an organisation's users."""


@strawberry.type(description="An organisation, for its users and for staff.")
class Organization(Node):
    """Shows dal.organization_model.Organization."""

    @classmethod
    def is_type_of(cls, value: object, _: object) -> bool:
        """Tell the Node interface whose object ``value`` is."""
        return isinstance(value, model.Organization)

    id: strawberry.ID = strawberry.field(resolver=node_ids.organization_node_id)
    name: str
    plan: str
    users: pages.Page[model.OrganizationUser] = strawberry.field(
        resolver=organizations.users,
        graphql_type=OrganizationUserConnection,
        description="The users of the organisation, by name.",
    )
    user: model.OrganizationUser | None = strawberry.field(
        resolver=organizations.user, graphql_type=OrganizationUser | None
    )


NODE_TYPES = (Organization, OrganizationUser, Ticket)
"""The types that a client meets through the Node interface."""
