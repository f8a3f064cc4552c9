"""Comments: a look-up by id, and the mutations that add, change and delete one."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import strawberry

from dal.model import Comment, rules
from dal.query.pagination import Edge
from resolvers.mutations import UserError, idempotency_key, reported
from resolvers.node_ids import parse_node_id
from resolvers.request.authorization import may_change, require_viewer
from resolvers.request.selection import Info


@strawberry.input(description="A new comment; its author is the user of the JWT.")
class AddCommentInput:
    """A comment as its author states it."""

    product_id: str
    rating: int = strawberry.field(description="From 1 to 5.")
    language: str = strawberry.field(description="A BCP 47 tag such as `en` or `pt-BR`.")
    title: str = strawberry.field(default="", description="At most 200 characters.")
    text: str = strawberry.field(description="At most 10,000 characters.")
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="Send the same key again when no answer came: the comment is stored once.",
    )


@strawberry.input(description="What changes; a field left out, or null, stays as it is.")
class UpdateCommentInput:
    """The new values of some fields of a comment."""

    id: strawberry.ID
    rating: int | None = None
    language: str | None = None
    title: str | None = None
    text: str | None = None


@strawberry.input
class DeleteCommentInput:
    """Which comment to delete."""

    id: strawberry.ID


@dataclass(frozen=True, slots=True)
class CommentPayload:
    """A stored comment with its edge, ready to be inserted in a list."""

    comment_edge: Edge[Comment] | None = None
    user_errors: list[UserError] = field(default_factory=list)

    @property
    def comment(self) -> Comment | None:
        """The comment itself."""
        return self.comment_edge.node if self.comment_edge else None


@dataclass(frozen=True, slots=True)
class DeletePayload:
    """The id of what is gone."""

    deleted_id: str | None = None
    user_errors: list[UserError] = field(default_factory=list)


async def load(info: Info, comment_ids: Sequence[str]) -> list[Comment | None]:
    """Return comments by their ids, in one request."""
    found = await info.context.stores.comments.get_many(comment_ids)
    return [found.get(comment_id) for comment_id in comment_ids]


async def comment(info: Info, comment_id: str) -> Comment | None:
    """Return a comment by its own id."""
    return await info.context.stores.comments.get(rules.identifier("commentId", comment_id))


@reported(CommentPayload)
async def add_comment(info: Info, input: AddCommentInput) -> CommentPayload:  # noqa: A002 - Relay's name
    """Store the viewer's comment, a verified one of a product that the viewer has received."""
    viewer = require_viewer(info.context)
    product_id = rules.identifier("productId", input.product_id)
    fields = _stated(input)
    key = idempotency_key(input.idempotency_key)
    received = await info.context.stores.users.received(viewer.username, product_id)
    new = Comment(
        comment_id=uuid.uuid4().hex,
        product_id=product_id,
        username=viewer.username,
        created_at=datetime.now(UTC),
        verified_purchase=received,
        **fields,
    )
    return CommentPayload(await info.context.stores.comments.add(new, key))


@reported(CommentPayload)
async def update_comment(info: Info, input: UpdateCommentInput) -> CommentPayload:  # noqa: A002
    """Change a comment of the viewer's, or any as a moderator."""
    check = partial(may_change, require_viewer(info.context))
    _, comment_id = parse_node_id("id", input.id, "Comment")
    edge: Edge[Comment] = await info.context.stores.comments.update(
        comment_id, _stated(input), check
    )
    return CommentPayload(edge)


@reported(DeletePayload)
async def delete_comment(info: Info, input: DeleteCommentInput) -> DeletePayload:  # noqa: A002
    """Delete a comment of the viewer's, or any as a moderator."""
    check = partial(may_change, require_viewer(info.context))
    _, comment_id = parse_node_id("id", input.id, "Comment")
    await info.context.stores.comments.delete(comment_id, check)
    return DeletePayload(input.id)


_RULES: dict[str, Any] = {
    "rating": rules.rating,
    "language": rules.language,
    "title": rules.title,
    "text": rules.stated_text,
}


def _stated(given: AddCommentInput | UpdateCommentInput) -> dict[str, Any]:
    """Return the fields that say something, checked, in canonical form and by name."""
    fields = {
        "rating": given.rating,
        "language": given.language,
        "title": given.title,
        "text": given.text,
    }
    return {name: _RULES[name](name, value) for name, value in fields.items() if value is not None}
