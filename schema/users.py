"""The GraphQL types of users and their profiles."""

from typing import Annotated, Any, ClassVar

import strawberry

from dal import model
from dal.query import pagination
from features.moderation.types import SUBMISSIONS
from resolvers import orders, organizations, tickets, users
from resolvers.tickets import TICKET_ORGANIZATIONS
from schema.comments import AuthorCommentConnection
from schema.costs import FRESH_PAGE, KEY, PAGE, ROW, mutation
from schema.execution.facts import Reads, facts
from schema.orders import OrderConnection
from schema.types import USER_ERRORS, Node, UserError


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
        metadata=facts(reads=Reads(most_requests=2)),
    )
    name: str = strawberry.field(
        resolver=users.name_of,
        description=(
            "Display name of the user. Below an order, the name when the order was placed. For "
            "the signed-in user, the name in the JWT, except below `OrganizationUser.user`. In "
            "all other cases, the name on the user's newest published comment, or the user name "
            "if there is none."
        ),
        metadata=facts(reads=ROW),
    )
    profile: model.Profile | None = strawberry.field(
        resolver=users.profile,
        graphql_type=UserProfile | None,
        description="The user's profile; null if the user has none.",
        metadata=facts(reads=KEY),
    )
    orders: "pagination.Page[model.Order] | None" = strawberry.field(
        resolver=orders.orders,
        graphql_type=OrderConnection | None,
        description="The user's orders, sorted by date.",
        metadata=facts(reads=FRESH_PAGE),
    )
    comments: "pagination.Page[model.Comment] | None" = strawberry.field(
        resolver=users.author_comments,
        graphql_type=AuthorCommentConnection | None,
        description="The user's published comments on all products, sorted by date.",
        metadata=facts(reads=PAGE),
    )
    organizations: "pagination.Page[model.OrganizationUser] | None" = strawberry.field(
        resolver=organizations.organizations_of,
        graphql_type=Annotated[
            "OrganizationUserConnection", strawberry.lazy("schema.organizations")
        ]
        | None,
        description="The user's memberships of organisations, sorted by the organisation's "
        "name. A new membership may be missing for a moment.",
        metadata=facts(reads=PAGE),
    )
    tickets: "pagination.Page[model.Ticket] | None" = strawberry.field(
        resolver=tickets.tickets_of_user,
        graphql_type=Annotated["TicketConnection", strawberry.lazy("schema.tickets")] | None,
        description="The user's tickets, sorted by date. The list includes only the tickets in "
        "the user's first 20 organisations by name. For the tickets in other organisations, "
        "select `organizations { nodes { tickets } }`.",
        # The list of the user's organisations, and a page of tickets from each of the first.
        metadata=facts(reads=Reads(1 + TICKET_ORGANIZATIONS, 0.5, paged=True)),
    )
    submissions: "pagination.Page[Any] | None" = SUBMISSIONS


@strawberry.type(description="Result of `updateProfile`.")
class UpdateProfilePayload:
    """The GraphQL type of what ``resolvers.users.update_profile`` returns."""

    user: User | None = strawberry.field(
        description="The user with the updated profile; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class UserMutation:
    """Binds each mutation to its resolver."""

    update_profile: UpdateProfilePayload | None = mutation(
        resolver=users.update_profile,
        description="Change the signed-in user's profile.",
    )
