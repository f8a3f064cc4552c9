"""The GraphQL types of organisations and their users."""

from typing import Annotated, ClassVar

import strawberry

from dal import model
from dal.query import pagination
from resolvers import organizations, tickets, users
from schema.costs import FRESH_PAGE, TWO_KEYS, mutation
from schema.execution.facts import Reads, facts
from schema.tickets import TicketConnection
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum
from schema.users import User

show_enum(
    model.UserType,
    "A user's rights in an organisation.",
    MEMBER="May see the organisation and its users, create tickets, and see and close their own "
    "tickets.",
    ADMIN="May also see and close all tickets of the organisation, and add, remove and change its "
    "users.",
    name="OrganizationUserType",
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
        description="The organisation; null if it is not visible to the user.",
        metadata=facts(reads=TWO_KEYS),
    )
    username: str = strawberry.field(description="User name, as used to sign in.")
    user: model.User | None = strawberry.field(
        resolver=users.visible_user_of,
        graphql_type=User | None,
        description="The `User` with profile, orders and comments. Visible to that user and "
        "staff; null for others.",
    )
    type: model.UserType = strawberry.field(description="The user's rights in the organisation.")
    tickets: "pagination.Page[model.Ticket] | None" = strawberry.field(
        resolver=tickets.tickets,
        graphql_type=TicketConnection | None,
        description="The user's tickets in the organisation, sorted by date. Only for that "
        "user, staff, and the organisation's admins.",
        # A user's own membership is read before the page.
        metadata=facts(reads=Reads(unit=0.5, paged=True, most_requests=2)),
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
    users: "pagination.Page[model.OrganizationUser] | None" = strawberry.field(
        resolver=organizations.users,
        graphql_type=OrganizationUserConnection | None,
        description="Users of the organisation, sorted by user name.",
        metadata=facts(reads=FRESH_PAGE),
    )
    user: model.OrganizationUser | None = strawberry.field(
        resolver=organizations.user,
        graphql_type=OrganizationUser | None,
        description="One user of the organisation, by user name; null if the organisation has "
        "no such user.",
        metadata=facts(reads=TWO_KEYS),
    )
    tickets: "pagination.Page[model.Ticket] | None" = strawberry.field(
        resolver=tickets.tickets_of_organization,
        graphql_type=TicketConnection | None,
        description="Tickets of all present and former users of the organisation, sorted by "
        "date. Only for staff and the organisation's admins.",
        metadata=facts(reads=Reads(2, 0.5, paged=True)),
    )


@strawberry.type(description="Result of `createOrganization`.")
class CreateOrganizationPayload:
    """The GraphQL type of what ``resolvers.organizations.create_organization`` returns."""

    organization: Organization | None = strawberry.field(
        description="The stored organisation; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `addOrganizationUser`.")
class AddOrganizationUserPayload:
    """The GraphQL type of what ``resolvers.organizations.add_organization_user`` returns."""

    organization_user: OrganizationUser | None = strawberry.field(
        description="The new user of the organisation; null on errors."
    )
    organization_user_edge: Edge[OrganizationUser] | None = strawberry.field(
        description="The user's edge. Insert the edge into cached lists of `Organization.users`, "
        "which are sorted by user name. Null on errors.",
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `removeOrganizationUser`.")
class RemoveOrganizationUserPayload:
    """The GraphQL type of what ``resolvers.organizations.remove_organization_user`` returns."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="Global `id` of the removed `OrganizationUser`. Remove the object from "
        "caches. Null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `setOrganizationUserType`.")
class SetOrganizationUserTypePayload:
    """The GraphQL type of what ``resolvers.organizations.set_organization_user_type`` returns."""

    organization_user: OrganizationUser | None = strawberry.field(
        description="The changed user of the organisation; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `setSubscriptionPlan`.")
class SetSubscriptionPlanPayload(CreateOrganizationPayload):
    """The GraphQL type of what ``resolvers.organizations.set_subscription_plan`` returns."""


@strawberry.type
class OrganizationMutation:
    """Binds each mutation to its resolver."""

    create_organization: CreateOrganizationPayload | None = mutation(
        resolver=organizations.create_organization,
        description="Create an organisation. A signed-in user who is not staff becomes an admin "
        "of the organisation.",
    )
    add_organization_user: AddOrganizationUserPayload | None = mutation(
        resolver=organizations.add_organization_user,
        description="Add a user to an organisation. Only for staff and the organisation's admins.",
    )
    remove_organization_user: RemoveOrganizationUserPayload | None = mutation(
        resolver=organizations.remove_organization_user,
        description="Remove a user from an organisation. The user's tickets are kept. Only for "
        "staff and the organisation's admins, and for users who remove themselves. Only staff "
        "may remove the last admin.",
    )
    set_organization_user_type: SetOrganizationUserTypePayload | None = mutation(
        resolver=organizations.set_organization_user_type,
        description="Change a user's type in an organisation to ADMIN or MEMBER. Only for staff "
        "and the organisation's admins. Only staff may make the last admin a member.",
    )
    set_subscription_plan: SetSubscriptionPlanPayload | None = mutation(
        resolver=organizations.set_subscription_plan,
        description="Change an organisation's subscription plan. Only for staff.",
    )
