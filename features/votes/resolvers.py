"""Helpful votes: users mark the comments of other users as helpful."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import strawberry
from strawberry.dataloader import DataLoader

from dal.model import Comment, Product
from dal.model.standings import Permission
from features.votes.model import Highlights
from resolvers.authorization import ForbiddenError, may_write, require_viewer
from resolvers.context import Context
from resolvers.mutations import UserError, checked, reported
from resolvers.node_ids import own_id_of
from resolvers.selection import Info, Input

_WHICH = {"id": own_id_of("Comment")}


class ViewerVotes:
    """The viewer's votes in one request. One read returns the votes for a whole page."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.changed: dict[str, bool] = {}
        """The votes that this request's mutations have changed, by comment id: True for a vote,
        False for a withdrawn vote. Reads of votes may not return these changes yet."""
        self.loader: DataLoader[Comment, bool] = DataLoader(self._load, cache=False)

    async def _load(self, comments: Sequence[Comment]) -> list[bool]:
        viewer = self._context.viewer
        assert viewer is not None  # noqa: S101 - the field is null without a viewer
        unknown = {one.comment_id: one for one in comments if one.comment_id not in self.changed}
        marked: set[str] = set()
        if unknown:
            votes = self._context.stores.votes
            marked = await votes.marked(viewer.user_id, list(unknown.values()))
        return [self.changed.get(one.comment_id, one.comment_id in marked) for one in comments]


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
async def mark_helpful(info: Info, input: Input[MarkHelpfulInput]) -> VotePayload:  # noqa: A002
    """Store the viewer's vote for a published comment. A second vote changes nothing."""
    return await _set_vote(info, input, helpful=True)


@reported(VotePayload, reads_standing=True)
async def unmark_helpful(info: Info, input: Input[UnmarkHelpfulInput]) -> VotePayload:  # noqa: A002
    """Delete the viewer's vote for a published comment."""
    return await _set_vote(info, input, helpful=False)


def _may_vote(permission: Permission) -> None:
    """Raise ForbiddenError if the viewer is blocked, or while the viewer's data is being erased."""
    may_write(permission)
    if permission.blocked:
        raise ForbiddenError("A moderator has blocked you. You cannot vote.")


async def _set_vote(info: Info, given: MarkHelpfulInput, *, helpful: bool) -> VotePayload:
    viewer, comment_id = require_viewer(info.context), checked(given, _WHICH)["id"]
    votes = info.context.stores.votes
    comment = await votes.mark(comment_id, viewer.user_id, _may_vote, helpful=helpful)
    info.context.part(ViewerVotes).changed[comment_id] = helpful
    return VotePayload(comment)


async def viewer_found_helpful(root: strawberry.Parent[Comment], info: Info) -> bool | None:
    """Return whether the viewer has marked a comment as helpful; None without a viewer."""
    if info.context.viewer is None:
        return None
    return await info.context.part(ViewerVotes).loader.load(root)


async def highlights(root: strawberry.Parent[Product], info: Info) -> Highlights:
    """Return the product's most helpful positive comment and most helpful critical comment."""
    return await info.context.stores.votes.highlights(root.product_id)
