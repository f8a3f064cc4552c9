"""Organisations and their users, shown straight from the domain objects."""

from __future__ import annotations

from typing import Annotated, ClassVar

import strawberry

from dal import model
from dal.query import pagination
from resolvers import organizations, tickets, users
from schema.connections import Connection, Edge, Node
from schema.errors import UserError
from schema.tickets import TicketConnection
from schema.users import User


@strawberry.type(description="One user of one organisation.")
class OrganizationUser(Node):
    """Shows dal.model.OrganizationUser."""

    shows: ClassVar = model.OrganizationUser
    organization: str = strawberry.field(
        name="organizationName", description="The organisation's unique name."
    )
    organization_shown: model.Organization | None = strawberry.field(
        resolver=organizations.organization_of,
        name="organization",
        graphql_type=Annotated["Organization", strawberry.lazy(__name__)] | None,
        description="The organisation itself; read once a request.",
    )
    username: str
    user: model.User | None = strawberry.field(
        resolver=users.visible_user_of,
        graphql_type=User | None,
        description="The user with profile and orders; null unless it is you or you are staff.",
    )
    type: model.UserType
    tickets: pagination.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.tickets,
        graphql_type=TicketConnection | None,
        description="The user's tickets; for this user, admins and staff.",
    )


@strawberry.type(description="One page of a list.")
class OrganizationUserConnection(Connection[OrganizationUser]):
    """Shows dal.query.pagination.Page of an organisation's users."""


@strawberry.type(description="An organisation, for its users and for staff.")
class Organization(Node):
    """Shows dal.model.Organization."""

    shows: ClassVar = model.Organization
    name: str
    subscription_plan: str
    users: pagination.Page[model.OrganizationUser] | None = strawberry.field(
        resolver=organizations.users,
        graphql_type=OrganizationUserConnection | None,
        description="The users of the organisation, by name.",
    )
    user: model.OrganizationUser | None = strawberry.field(
        resolver=organizations.user, graphql_type=OrganizationUser | None
    )


@strawberry.type
class CreateOrganizationPayload:
    """Shows resolvers.organizations.OrganizationPayload."""

    organization: Organization | None
    user_errors: list[UserError]


@strawberry.type
class AddOrganizationUserPayload:
    """Shows resolvers.organizations.OrganizationUserPayload."""

    organization_user: OrganizationUser | None
    organization_user_edge: Edge[OrganizationUser] | None
    user_errors: list[UserError]


@strawberry.type
class OrganizationMutation:
    """Binds each mutation to its resolver."""

    create_organization: organizations.OrganizationPayload | None = strawberry.mutation(
        resolver=organizations.create_organization,
        graphql_type=CreateOrganizationPayload | None,
        description="Create an organisation, with the user of the JWT as its first admin.",
    )
    add_organization_user: organizations.OrganizationUserPayload | None = strawberry.mutation(
        resolver=organizations.add_organization_user,
        graphql_type=AddOrganizationUserPayload | None,
        description="Add a user to an organisation, as an admin of it or as staff.",
    )
