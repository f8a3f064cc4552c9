"""Resolvers of single comments: the look-up and the three writes."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from dal import rules
from dal.model import Comment
from dal.pages import Edge
from resolvers.access import may_change, require_viewer
from resolvers.inputs import (
    AddCommentInput,
    DeleteCommentInput,
    UpdateCommentInput,
    optional_key,
    stated,
)
from resolvers.node_ids import parse_node_id
from resolvers.payloads import CommentPayload, DeletePayload, reported
from resolvers.selection import Info


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
    fields = stated(input)
    key = optional_key(input.idempotency_key)
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
        comment_id, stated(input), check
    )
    return CommentPayload(edge)


@reported(DeletePayload)
async def delete_comment(info: Info, input: DeleteCommentInput) -> DeletePayload:  # noqa: A002
    """Delete a comment of the viewer's, or any as a moderator."""
    check = partial(may_change, require_viewer(info.context))
    _, comment_id = parse_node_id("id", input.id, "Comment")
    await info.context.stores.comments.delete(comment_id, check)
    return DeletePayload(input.id)
