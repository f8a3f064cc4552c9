"""Organisations and their users, shown straight from the domain objects."""

from __future__ import annotations

from typing import Annotated, ClassVar

import strawberry

from dal import model
from dal.query import pagination
from resolvers import organizations, tickets, users
from schema.connections import Connection, Edge, Node
from schema.errors import USER_ERRORS, UserError
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
    username: str = strawberry.field(description="The name under which the user signs in.")
    user: model.User | None = strawberry.field(
        resolver=users.visible_user_of,
        graphql_type=User | None,
        description="The user with profile and orders; null unless it is you or you are staff.",
    )
    type: model.UserType = strawberry.field(description="What the user may do in it.")
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
    name: str = strawberry.field(description="Unique, and never changed.")
    subscription_plan: str = strawberry.field(
        description="What it subscribes to, in its own words."
    )
    users: pagination.Page[model.OrganizationUser] | None = strawberry.field(
        resolver=organizations.users,
        graphql_type=OrganizationUserConnection | None,
        description="The users of the organisation, by name.",
    )
    user: model.OrganizationUser | None = strawberry.field(
        resolver=organizations.user,
        graphql_type=OrganizationUser | None,
        description="One of its users; null for who is none.",
    )


@strawberry.type(description="What became of a new organisation.")
class CreateOrganizationPayload:
    """Shows resolvers.organizations.OrganizationPayload."""

    organization: Organization | None = strawberry.field(
        description="As it is stored; null if it is not."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="What became of a new user of an organisation.")
class AddOrganizationUserPayload:
    """Shows resolvers.organizations.OrganizationUserPayload."""

    organization_user: OrganizationUser | None = strawberry.field(
        description="As the user is stored; null if not."
    )
    organization_user_edge: Edge[OrganizationUser] | None = strawberry.field(
        description="Ready to be put in a list, where its cursor says."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


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
