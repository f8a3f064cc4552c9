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
        model.UserType.MEMBER: "May see the organisation and its users, create tickets, and see "
        "and close their own tickets.",
        model.UserType.ADMIN: "May also see and close all tickets of the organisation, and add, "
        "remove and change its users.",
    },
    name="OrganizationUserType",
)


@strawberry.type(description="A user's full name and email address.")
class UserProfile:
    """The GraphQL type of ``dal.model.Profile``."""

    full_name: str = strawberry.field(description="Full name; may be empty.")
    email: str = strawberry.field(
        description="Email address; may be empty. The server does not verify it."
    )


@strawberry.type(
    description="A user, visible to that user and staff. Every valid user name has a user; "
    "`isKnown` shows whether the server has data about the user."
)
class User(Node):
    """The GraphQL type of ``dal.model.User``."""

    shows: ClassVar = model.User
    username: str = strawberry.field(
        description="Unique user name, which is the user's id. The user name never changes."
    )
    is_known: bool | None = strawberry.field(
        resolver=users.user_is_known,
        description=(
            "Whether the server has data about the user, such as a profile, an order or a comment."
        ),
    )
    name: str = strawberry.field(
        resolver=users.name_of,
        description=(
            "Display name of the user. Below an order, the name when the order was placed. For "
            "the signed-in user, the name in the JWT, except below `OrganizationUser.user`. In "
            "all other cases, the name on the user's newest published comment, or the user name "
            "if there is none."
        ),
    )
    profile: model.Profile | None = strawberry.field(
        resolver=users.profile,
        graphql_type=UserProfile | None,
        description="The user's profile; null if the user has none.",
    )
    orders: pagination.Page[model.Order] | None = strawberry.field(
        resolver=orders.orders,
        graphql_type=OrderConnection | None,
        description="The user's orders, sorted by date.",
    )
    comments: pagination.Page[model.Comment] | None = strawberry.field(
        resolver=users.author_comments,
        graphql_type=AuthorCommentConnection | None,
        description="The user's published comments on all products, sorted by date.",
    )
    organizations: pagination.Page[model.OrganizationUser] | None = strawberry.field(
        resolver=organizations.organizations_of,
        graphql_type=Annotated["OrganizationUserConnection", strawberry.lazy(__name__)] | None,
        description="The user's memberships of organisations, sorted by the organisation's "
        "name. A new membership may be missing for a moment.",
    )
    tickets: pagination.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.tickets_of_user,
        graphql_type=Annotated["TicketConnection", strawberry.lazy(__name__)] | None,
        description="The user's tickets, sorted by date. The list includes only the tickets in "
        "the user's first 20 organisations by name. For the tickets in other organisations, "
        "select `organizations { nodes { tickets } }`.",
    )
    submissions: pagination.Page[Any] | None = strawberry.field(
        resolver=moderation.submissions,
        graphql_type=SubmissionConnection | None,
        description="The user's unpublished comments, sorted by date. Visible to that user and "
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
        description="Change the signed-in user's profile.",
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
        graphql_type=Annotated["Organization", strawberry.lazy(__name__)] | None,
        description="The organisation in which the ticket was opened.",
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
        description="Time at which the ticket was opened. Lists of tickets are sorted by this time."
    )


@strawberry.type(description="A page of tickets.")
class TicketConnection(Connection[Ticket]):
    """The GraphQL type of ``dal.query.pagination.Page`` of tickets."""


@strawberry.type(description="Result of `createTicket`.")
class CreateTicketPayload:
    """The GraphQL type of ``resolvers.tickets.TicketPayload``."""

    ticket: Ticket | None = strawberry.field(description="The stored ticket; null on errors.")
    ticket_edge: Edge[Ticket] | None = strawberry.field(
        description="The ticket's edge. Insert the edge into cached lists instead of reading them "
        "again, because lists may lack the change for a moment. Null on errors."
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
        description="Open a support ticket. Only for users of the organisation; the role `staff` "
        "is not enough.",
    )
    close_ticket: tickets.TicketPayload | None = strawberry.mutation(
        resolver=tickets.close_ticket,
        graphql_type=CloseTicketPayload | None,
        description="Close a ticket. Only for the user who opened it, staff, and the "
        "organisation's admins.",
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
        description="The `User` with profile, orders and comments. Visible to that user and "
        "staff; null for others.",
    )
    type: model.UserType = strawberry.field(description="The user's rights in the organisation.")
    tickets: pagination.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.tickets,
        graphql_type=TicketConnection | None,
        description="The user's tickets in the organisation, sorted by date. Only for that "
        "user, staff, and the organisation's admins.",
    )


@strawberry.type(description="A page of memberships of organisations.")
class OrganizationUserConnection(Connection[OrganizationUser]):
    """The GraphQL type of ``dal.query.pagination.Page`` of memberships."""


@strawberry.type(
    description="An organisation. Its users can open support tickets. Visible to its users and "
    "staff."
)
class Organization(Node):
    """The GraphQL type of ``dal.model.Organization``."""

    shows: ClassVar = model.Organization
    name: str = strawberry.field(description="Unique name, which never changes.")
    subscription_plan: str = strawberry.field(
        description="Subscription plan, as free text. Maximum 200 characters."
    )
    users: pagination.Page[model.OrganizationUser] | None = strawberry.field(
        resolver=organizations.users,
        graphql_type=OrganizationUserConnection | None,
        description="Users of the organisation, sorted by user name.",
    )
    user: model.OrganizationUser | None = strawberry.field(
        resolver=organizations.user,
        graphql_type=OrganizationUser | None,
        description="One user of the organisation, by user name; null if the organisation has "
        "no such user.",
    )
    tickets: pagination.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.tickets_of_organization,
        graphql_type=TicketConnection | None,
        description="Tickets of all present and former users of the organisation, sorted by "
        "date. Only for staff and the organisation's admins.",
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
        description="The user's edge. Insert the edge into cached lists of `Organization.users`, "
        "which are sorted by user name. Null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `removeOrganizationUser`.")
class RemoveOrganizationUserPayload:
    """The GraphQL type of ``resolvers.organizations.RemovedUserPayload``."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="Global `id` of the removed `OrganizationUser`. Remove the object from "
        "caches. Null on errors."
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
        description="Create an organisation. A signed-in user who is not staff becomes an admin "
        "of the organisation.",
    )
    add_organization_user: organizations.OrganizationUserPayload | None = strawberry.mutation(
        resolver=organizations.add_organization_user,
        graphql_type=AddOrganizationUserPayload | None,
        description="Add a user to an organisation. Only for staff and the organisation's admins.",
    )
    remove_organization_user: organizations.RemovedUserPayload | None = strawberry.mutation(
        resolver=organizations.remove_organization_user,
        graphql_type=RemoveOrganizationUserPayload | None,
        description="Remove a user from an organisation. The user's tickets are kept. Only for "
        "staff and the organisation's admins, and for users who remove themselves. Only staff "
        "may remove the last admin.",
    )
    set_organization_user_type: organizations.UserTypePayload | None = strawberry.mutation(
        resolver=organizations.set_organization_user_type,
        graphql_type=SetOrganizationUserTypePayload | None,
        description="Change a user's type in an organisation to ADMIN or MEMBER. Only for staff "
        "and the organisation's admins. Only staff may make the last admin a member.",
    )
    set_subscription_plan: organizations.OrganizationPayload | None = strawberry.mutation(
        resolver=organizations.set_subscription_plan,
        graphql_type=SetSubscriptionPlanPayload | None,
        description="Change an organisation's subscription plan. Only for staff.",
    )
