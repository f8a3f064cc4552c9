"""Users and their profiles, shown straight from the domain objects."""

from __future__ import annotations

from typing import ClassVar

import strawberry

from dal import model
from dal.query import pagination
from resolvers import orders, users
from schema.connections import Node
from schema.errors import UserError
from schema.orders import OrderConnection


@strawberry.type(description="What a user says of themselves.")
class UserProfile:
    """Shows dal.model.Profile."""

    full_name: str
    email: str


@strawberry.type(
    description="A user exists by name: any well-formed identifier answers. Seen by that user and "
    "by staff."
)
class User(Node):
    """Shows dal.model.User."""

    shows: ClassVar = model.User
    username: str
    profile: model.Profile | None = strawberry.field(
        resolver=users.profile, graphql_type=UserProfile | None
    )
    orders: pagination.Page[model.Order] | None = strawberry.field(
        resolver=orders.orders,
        graphql_type=OrderConnection | None,
        description="The user's orders; an empty list of statuses selects nothing.",
    )


@strawberry.type
class UpdateProfilePayload:
    """Shows resolvers.users.ProfilePayload."""

    user: User | None
    user_errors: list[UserError]


@strawberry.type
class UserMutation:
    """Binds each mutation to its resolver."""

    update_profile: users.ProfilePayload | None = strawberry.mutation(
        resolver=users.update_profile,
        graphql_type=UpdateProfilePayload | None,
        description="Change the profile of the user of the JWT.",
    )
