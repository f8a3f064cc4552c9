"""The root of all mutations, and their payloads."""

from __future__ import annotations

import strawberry

from resolvers import comments, orders, payloads, users
from schema.orders import Order, User
from schema.organization_mutations import OrganizationMutation
from schema.types import Comment, Edge
from schema.user_errors import UserError


@strawberry.type
class AddCommentPayload:
    """Shows resolvers.payloads.CommentPayload."""

    comment: Comment | None
    comment_edge: Edge[Comment] | None = strawberry.field(
        description="Ready to be inserted in a list: an index may lag a write."
    )
    user_errors: list[UserError]


@strawberry.type
class UpdateCommentPayload(AddCommentPayload):
    """Shows resolvers.payloads.CommentPayload."""


@strawberry.type
class DeleteCommentPayload:
    """Shows resolvers.payloads.DeletePayload."""

    deleted_id: strawberry.ID | None
    user_errors: list[UserError]


@strawberry.type
class PlaceOrderPayload:
    """Shows resolvers.payloads.OrderPayload."""

    order: Order | None
    order_edge: Edge[Order] | None = strawberry.field(description="Ready to be put in a list.")
    user_errors: list[UserError]


@strawberry.type
class SetOrderStatusPayload(PlaceOrderPayload):
    """Shows resolvers.payloads.OrderPayload."""


@strawberry.type
class UpdateProfilePayload:
    """Shows resolvers.payloads.ProfilePayload."""

    user: User | None
    user_errors: list[UserError]


@strawberry.type
class Mutation(OrganizationMutation):
    """Binds each mutation to its resolver."""

    add_comment: payloads.CommentPayload | None = strawberry.mutation(
        resolver=comments.add_comment,
        graphql_type=AddCommentPayload | None,
        description="Comment on a product as the user of the JWT.",
    )
    update_comment: payloads.CommentPayload | None = strawberry.mutation(
        resolver=comments.update_comment,
        graphql_type=UpdateCommentPayload | None,
        description="Change a comment as its author or as a moderator.",
    )
    delete_comment: payloads.DeletePayload | None = strawberry.mutation(
        resolver=comments.delete_comment,
        graphql_type=DeleteCommentPayload | None,
        description="Delete a comment as its author or as a moderator.",
    )
    place_order: payloads.OrderPayload | None = strawberry.mutation(
        resolver=orders.place_order,
        graphql_type=PlaceOrderPayload | None,
        description="Order as the user of the JWT.",
    )
    set_order_status: payloads.OrderPayload | None = strawberry.mutation(
        resolver=orders.set_order_status,
        graphql_type=SetOrderStatusPayload | None,
        description="From PLACED to SHIPPED to DELIVERED, or from PLACED to CANCELLED. Customers "
        "may cancel their own orders; the rest is up to staff.",
    )
    update_profile: payloads.ProfilePayload | None = strawberry.mutation(
        resolver=users.update_profile,
        graphql_type=UpdateProfilePayload | None,
        description="Change the profile of the user of the JWT.",
    )
