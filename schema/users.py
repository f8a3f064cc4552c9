"""Users and their profiles, shown straight from the domain objects."""

from __future__ import annotations

from typing import ClassVar

import strawberry

from dal import model
from dal.query import pagination
from resolvers import orders, users
from schema.orders import OrderConnection
from schema.types import USER_ERRORS, Node, UserError


@strawberry.type(description="A user's profile, as the user filled it in.")
class UserProfile:
    """Shows dal.model.Profile."""

    full_name: str = strawberry.field(description="Full name; may be empty.")
    email: str = strawberry.field(description="Email address; may be empty. Not verified.")


@strawberry.type(
    description="A user. A user exists for every valid user name. Visible to that user and staff."
)
class User(Node):
    """Shows dal.model.User."""

    shows: ClassVar = model.User
    username: str = strawberry.field(description="Unique user name, as used to sign in.")
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


@strawberry.type(description="Result of `updateProfile`.")
class UpdateProfilePayload:
    """Shows resolvers.users.ProfilePayload."""

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
