"""Organisations and their users, shown straight from the domain objects."""

from __future__ import annotations

from typing import Annotated, ClassVar

import strawberry

from dal import model
from dal.query import pagination
from resolvers import organizations, tickets, users
from schema.tickets import TicketConnection
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum
from schema.users import User

show_enum(
    model.UserType,
    "A user's rights in an organisation.",
    {
        model.UserType.MEMBER: "Sees the organisation, its users and the user's own tickets.",
        model.UserType.ADMIN: "Sees all tickets of the organisation and adds users.",
    },
    name="OrganizationUserType",
)


@strawberry.type(description="A user's membership of an organisation.")
class OrganizationUser(Node):
    """Shows dal.model.OrganizationUser."""

    shows: ClassVar = model.OrganizationUser
    organization: str = strawberry.field(
        name="organizationName", description="Unique name of the organisation."
    )
    organization_shown: model.Organization | None = strawberry.field(
        resolver=organizations.organization_of,
        name="organization",
        graphql_type=Annotated["Organization", strawberry.lazy(__name__)] | None,
        description="The organisation.",
    )
    username: str = strawberry.field(description="User name, as used to sign in.")
    user: model.User | None = strawberry.field(
        resolver=users.visible_user_of,
        graphql_type=User | None,
        description="The user with profile and orders. Null unless the JWT is that user's or "
        "staff's.",
    )
    type: model.UserType = strawberry.field(description="The user's rights in the organisation.")
    tickets: pagination.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.tickets,
        graphql_type=TicketConnection | None,
        description="The user's tickets. For that user, the organisation's admins and staff.",
    )


@strawberry.type(description="One page of a list.")
class OrganizationUserConnection(Connection[OrganizationUser]):
    """Shows dal.query.pagination.Page of an organisation's users."""


@strawberry.type(description="An organisation. Visible to its users and staff.")
class Organization(Node):
    """Shows dal.model.Organization."""

    shows: ClassVar = model.Organization
    name: str = strawberry.field(description="Unique name. Never changes.")
    subscription_plan: str = strawberry.field(
        description="Subscription plan, as free text. Maximum 200 characters."
    )
    users: pagination.Page[model.OrganizationUser] | None = strawberry.field(
        resolver=organizations.users,
        graphql_type=OrganizationUserConnection | None,
        description="Users of the organisation, by user name.",
    )
    user: model.OrganizationUser | None = strawberry.field(
        resolver=organizations.user,
        graphql_type=OrganizationUser | None,
        description="A user of the organisation; null if the user does not belong to it.",
    )


@strawberry.type(description="Result of `createOrganization`.")
class CreateOrganizationPayload:
    """Shows resolvers.organizations.OrganizationPayload."""

    organization: Organization | None = strawberry.field(
        description="The stored organisation; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `addOrganizationUser`.")
class AddOrganizationUserPayload:
    """Shows resolvers.organizations.OrganizationUserPayload."""

    organization_user: OrganizationUser | None = strawberry.field(
        description="The new user of the organisation; null on errors."
    )
    organization_user_edge: Edge[OrganizationUser] | None = strawberry.field(
        description="Edge to insert into a cached list, at the place its cursor gives."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class OrganizationMutation:
    """Binds each mutation to its resolver."""

    create_organization: organizations.OrganizationPayload | None = strawberry.mutation(
        resolver=organizations.create_organization,
        graphql_type=CreateOrganizationPayload | None,
        description="Create an organisation. The JWT's user becomes an admin of it, except staff.",
    )
    add_organization_user: organizations.OrganizationUserPayload | None = strawberry.mutation(
        resolver=organizations.add_organization_user,
        graphql_type=AddOrganizationUserPayload | None,
        description="Add a user to an organisation. For its admins and staff.",
    )
