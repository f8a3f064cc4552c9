"""Helpful votes: users mark the comments of other users as helpful."""

from dataclasses import dataclass, field

import strawberry

from dal.model import Comment, Product
from dal.model.votes import Highlights
from resolvers.authorization import may_vote, require_viewer
from resolvers.mutations import UserError, checked, reported
from resolvers.node_ids import own_id_of
from resolvers.selection import Info

_WHICH = {"id": own_id_of("Comment")}


@strawberry.input(description="The comment that you find helpful.")
class MarkHelpfulInput:
    """Input of ``markHelpful``: a comment of another user."""

    id: strawberry.ID = strawberry.field(description="Global `id` of the comment.")


@strawberry.input(description="The comment that you no longer find helpful.")
class UnmarkHelpfulInput(MarkHelpfulInput):
    """Input of ``unmarkHelpful``: the comment."""


@dataclass(frozen=True, slots=True)
class VotePayload:
    """Result of ``markHelpful`` or ``unmarkHelpful``: the comment with its new number of votes."""

    comment: Comment | None = None
    user_errors: list[UserError] = field(default_factory=list)


@reported(VotePayload, reads_standing=True)
async def mark_helpful(info: Info, input: MarkHelpfulInput) -> VotePayload:  # noqa: A002
    """Store the viewer's vote for a published comment. A second vote changes nothing."""
    return await _set_vote(info, input, helpful=True)


@reported(VotePayload, reads_standing=True)
async def unmark_helpful(info: Info, input: UnmarkHelpfulInput) -> VotePayload:  # noqa: A002
    """Delete the viewer's vote for a published comment."""
    return await _set_vote(info, input, helpful=False)


async def _set_vote(info: Info, given: MarkHelpfulInput, *, helpful: bool) -> VotePayload:
    viewer, comment_id = require_viewer(info.context), checked(given, _WHICH)["id"]
    votes = info.context.stores.votes
    comment = await votes.mark(comment_id, viewer.user_id, may_vote, helpful=helpful)
    info.context.voted[comment_id] = helpful
    return VotePayload(comment)


async def viewer_found_helpful(root: strawberry.Parent[Comment], info: Info) -> bool | None:
    """Return whether the viewer has marked a comment as helpful; None without a viewer."""
    if info.context.viewer is None:
        return None
    return await info.context.votes.load(root)


async def highlights(root: strawberry.Parent[Product], info: Info) -> Highlights:
    """Return the product's most helpful positive comment and most helpful critical comment."""
    return await info.context.stores.votes.highlights(root.product_id)
