"""Users and their profiles, shown straight from the domain objects."""

from __future__ import annotations

from typing import ClassVar

import strawberry

from dal import model
from dal.query import pagination
from resolvers import orders, users
from schema.connections import Node
from schema.errors import USER_ERRORS, UserError
from schema.orders import OrderConnection


@strawberry.type(description="What a user says of themselves.")
class UserProfile:
    """Shows dal.model.Profile."""

    full_name: str = strawberry.field(description="As the user wants to be called; may be empty.")
    email: str = strawberry.field(description="May be empty; nobody has checked that it is theirs.")


@strawberry.type(
    description="A user exists by name: any well-formed identifier answers. Seen by that user and "
    "by staff."
)
class User(Node):
    """Shows dal.model.User."""

    shows: ClassVar = model.User
    username: str = strawberry.field(
        description="The name under which the user signs in and writes; unique."
    )
    profile: model.Profile | None = strawberry.field(
        resolver=users.profile,
        graphql_type=UserProfile | None,
        description="What the user says of themselves; null until they do.",
    )
    orders: pagination.Page[model.Order] | None = strawberry.field(
        resolver=orders.orders,
        graphql_type=OrderConnection | None,
        description="The user's orders; an empty list of statuses selects nothing.",
    )


@strawberry.type(description="What became of a change of a profile.")
class UpdateProfilePayload:
    """Shows resolvers.users.ProfilePayload."""

    user: User | None = strawberry.field(
        description="With the profile as it is now; null if nothing was changed."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class UserMutation:
    """Binds each mutation to its resolver."""

    update_profile: users.ProfilePayload | None = strawberry.mutation(
        resolver=users.update_profile,
        graphql_type=UpdateProfilePayload | None,
        description="Change the profile of the user of the JWT.",
    )
