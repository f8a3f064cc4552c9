"""The root of all mutations, and their payloads."""

from __future__ import annotations

import strawberry

from resolvers import comments, payloads
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
