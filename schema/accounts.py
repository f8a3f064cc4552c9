"""The GraphQL types of users and profiles, organisations and tickets."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar

import strawberry

from dal import model
from dal.query import pagination
from resolvers import moderation, orders, organizations, tickets, users
from schema.comments import Author, AuthorCommentConnection
from schema.moderation import SubmissionConnection
from schema.orders import OrderConnection
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum

show_enum(
    model.TicketStatus,
    "Status of a ticket.",
    {
        model.TicketStatus.OPEN: "The ticket is open.",
        model.TicketStatus.CLOSED: "The ticket is closed and cannot be reopened.",
    },
)


show_enum(
    model.UserType,
    "A user's rights in an organisation.",
    {
        model.UserType.MEMBER: "Sees the organisation, its users, and the tickets that this user "
        "opened.",
        model.UserType.ADMIN: "Sees all tickets of the organisation; adds, removes and changes "
        "users.",
    },
    name="OrganizationUserType",
)


@strawberry.type(description="A user's profile, as the user filled it in.")
class UserProfile:
    """The GraphQL type of ``dal.model.Profile``."""

    full_name: str = strawberry.field(description="Full name; may be empty.")
    email: str = strawberry.field(description="Email address; may be empty. Not verified.")


@strawberry.type(
    description="A user. A user exists for every valid user name. Visible to that user and staff."
)
class User(Node):
    """The GraphQL type of ``dal.model.User``."""

    shows: ClassVar = model.User
    username: str = strawberry.field(description="Unique user name: the user's id. Never changes.")
    is_known: bool | None = strawberry.field(
        resolver=users.user_is_known,
        description=(
            "Whether the user has a profile, orders or comments. Computed only when selected."
        ),
    )
    name: str = strawberry.field(
        resolver=users.name_of,
        description=(
            "Display name of the user. For the JWT's user, the name in the JWT. For the user "
            "of an order, the name when the order was placed. For any other user, the same as "
            "`Author.name`."
        ),
    )
    profile: model.Profile | None = strawberry.field(
        resolver=users.profile,
        graphql_type=UserProfile | None,
        description="The user's profile; null until the user fills it in.",
    )
    orders: pagination.Page[model.Order] | None = strawberry.field(
        resolver=orders.orders,
        graphql_type=OrderConnection | None,
        description="The user's orders, by date.",
    )
    comments: pagination.Page[model.Comment] | None = strawberry.field(
        resolver=users.author_comments,
        graphql_type=AuthorCommentConnection | None,
        description="The user's comments on all products, by date.",
    )
    organizations: pagination.Page[model.OrganizationUser] | None = strawberry.field(
        resolver=organizations.organizations_of,
        graphql_type=Annotated["OrganizationUserConnection", strawberry.lazy(__name__)] | None,
        description="The user's memberships of organisations, by the organisation's name. A new "
        "membership may take a moment to appear.",
    )
    tickets: pagination.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.tickets_of_user,
        graphql_type=Annotated["TicketConnection", strawberry.lazy(__name__)] | None,
        description="The user's tickets, sorted by date. Includes only the user's first 20 "
        "organisations, by name. For the tickets in the other organisations, "
        "select `tickets` below `organizations`.",
    )
    submissions: pagination.Page[Any] | None = strawberry.field(
        resolver=moderation.submissions,
        graphql_type=SubmissionConnection | None,
        description="The user's comments that are not published, by date. For that user and "
        "moderators; null for others.",
    )


@strawberry.type(description="Result of `updateProfile`.")
class UpdateProfilePayload:
    """The GraphQL type of ``resolvers.users.ProfilePayload``."""

    user: User | None = strawberry.field(
        description="The user with the updated profile; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class UserMutation:
    """Binds each mutation to its resolver."""

    update_profile: users.ProfilePayload | None = strawberry.mutation(
        resolver=users.update_profile,
        graphql_type=UpdateProfilePayload | None,
        description="Change the profile of the JWT's user.",
    )


@strawberry.type(description="A support ticket of a user of an organisation.")
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
        graphql_type=Annotated["Organization", strawberry.lazy(__name__)] | None,
        description="The organisation of the user who opened the ticket.",
    )
    username: str = strawberry.field(description="User name of the user who opened the ticket.")
    author_name: str = strawberry.field(
        description="Display name of the user when the ticket was opened."
    )
    author: model.Author = strawberry.field(
        resolver=users.author_of, graphql_type=Author, description="The user who opened the ticket."
    )
    subject: str = strawberry.field(description="Subject. Maximum 200 characters.")
    text: str = strawberry.field(description="Plain text, not HTML. Maximum 10,000 characters.")
    status: model.TicketStatus = strawberry.field(description="Whether the ticket is open.")
    created_at: datetime = strawberry.field(
        description="Time the ticket was opened; lists are sorted by it."
    )


@strawberry.type(description="One page of a list.")
class TicketConnection(Connection[Ticket]):
    """The GraphQL type of ``dal.query.pagination.Page`` of tickets."""


@strawberry.type(description="Result of `createTicket`.")
class CreateTicketPayload:
    """The GraphQL type of ``resolvers.tickets.TicketPayload``."""

    ticket: Ticket | None = strawberry.field(description="The stored ticket; null on errors.")
    ticket_edge: Edge[Ticket] | None = strawberry.field(
        description="Edge to insert into a cached list. A new read of the list may not "
        "include the write yet."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `closeTicket`.")
class CloseTicketPayload(CreateTicketPayload):
    """The GraphQL type of ``resolvers.tickets.TicketPayload``."""


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
        description="Close a ticket. For the user who opened it, staff, and the organisation's "
        "admins.",
    )


@strawberry.type(description="A user's membership of an organisation.")
class OrganizationUser(Node):
    """The GraphQL type of ``dal.model.OrganizationUser``."""

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
        description="The user with profile and orders. Visible to that user and staff; null "
        "for others.",
    )
    type: model.UserType = strawberry.field(description="The user's rights in the organisation.")
    tickets: pagination.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.tickets,
        graphql_type=TicketConnection | None,
        description="The user's tickets. For that user, staff, and the organisation's admins.",
    )


@strawberry.type(description="One page of a list.")
class OrganizationUserConnection(Connection[OrganizationUser]):
    """The GraphQL type of ``dal.query.pagination.Page`` of an organisation's users."""


@strawberry.type(description="An organisation. Visible to its users and staff.")
class Organization(Node):
    """The GraphQL type of ``dal.model.Organization``."""

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
    tickets: pagination.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.tickets_of_organization,
        graphql_type=TicketConnection | None,
        description="Tickets of all present and former users of the organisation. For staff "
        "and the organisation's admins.",
    )


@strawberry.type(description="Result of `createOrganization`.")
class CreateOrganizationPayload:
    """The GraphQL type of ``resolvers.organizations.OrganizationPayload``."""

    organization: Organization | None = strawberry.field(
        description="The stored organisation; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `addOrganizationUser`.")
class AddOrganizationUserPayload:
    """The GraphQL type of ``resolvers.organizations.OrganizationUserPayload``."""

    organization_user: OrganizationUser | None = strawberry.field(
        description="The new user of the organisation; null on errors."
    )
    organization_user_edge: Edge[OrganizationUser] | None = strawberry.field(
        description="Edge to insert into a cached list, at the position of its cursor."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `removeOrganizationUser`.")
class RemoveOrganizationUserPayload:
    """The GraphQL type of ``resolvers.organizations.RemovedUserPayload``."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="Global `id` of the removed `OrganizationUser`, to remove from caches; null on "
        "errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `setOrganizationUserType`.")
class SetOrganizationUserTypePayload:
    """The GraphQL type of ``resolvers.organizations.UserTypePayload``."""

    organization_user: OrganizationUser | None = strawberry.field(
        description="The changed user of the organisation; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `setSubscriptionPlan`.")
class SetSubscriptionPlanPayload(CreateOrganizationPayload):
    """The GraphQL type of ``resolvers.organizations.OrganizationPayload``."""


@strawberry.type
class OrganizationMutation:
    """Binds each mutation to its resolver."""

    create_organization: organizations.OrganizationPayload | None = strawberry.mutation(
        resolver=organizations.create_organization,
        graphql_type=CreateOrganizationPayload | None,
        description="Create an organisation. The JWT's user becomes an admin of it, unless the "
        "user is staff.",
    )
    add_organization_user: organizations.OrganizationUserPayload | None = strawberry.mutation(
        resolver=organizations.add_organization_user,
        graphql_type=AddOrganizationUserPayload | None,
        description="Add a user to an organisation. For staff and the organisation's admins.",
    )
    remove_organization_user: organizations.RemovedUserPayload | None = strawberry.mutation(
        resolver=organizations.remove_organization_user,
        graphql_type=RemoveOrganizationUserPayload | None,
        description="Remove a user from an organisation; the user's tickets are kept. For staff "
        "and the organisation's admins. Users may remove themselves, except the last admin.",
    )
    set_organization_user_type: organizations.UserTypePayload | None = strawberry.mutation(
        resolver=organizations.set_organization_user_type,
        graphql_type=SetOrganizationUserTypePayload | None,
        description="Make a user of an organisation an admin, or an admin a member. For staff and "
        "the organisation's admins. Only staff may make the last admin a member.",
    )
    set_subscription_plan: organizations.OrganizationPayload | None = strawberry.mutation(
        resolver=organizations.set_subscription_plan,
        graphql_type=SetSubscriptionPlanPayload | None,
        description="Change an organisation's subscription plan. For staff.",
    )
