"""Helpful votes: users mark the comments of other users as helpful."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress

import strawberry
from strawberry.dataloader import DataLoader

from dal.model import Comment, Product
from dal.model.standings import Permission
from dal.table.errors import DalError
from features.votes.model import Highlights
from resolvers.authorization import ForbiddenError, may_write, require_viewer
from resolvers.context import Context, RequestCache
from resolvers.mutations import Fields, checked, reported
from resolvers.node_ids import own_id_of
from resolvers.selection import Info, Input

_WHICH = {"id": own_id_of("Comment")}


class ViewerVotes:
    """The viewer's votes in one request. One read returns the votes for a whole page."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._user_id = require_viewer(context).user_id
        self.changed: dict[str, tuple[bool, int]] = {}
        """The results of this request's mutations, by comment id: whether the comment has the
        viewer's vote, and its number of votes."""
        self.found: DataLoader[Comment, bool] = DataLoader(self._load_found, cache=False)
        """Loads whether a comment has the viewer's vote."""
        self.counts: DataLoader[Comment, int] = DataLoader(self._load_counts, cache=False)
        """Loads a comment's number of votes."""

    async def _recent(self, comments: Sequence[Comment]) -> dict[str, tuple[bool, int]]:
        """Return changed votes, by comment id, with the comment's number of votes.

        Other comments already count the viewer's votes.
        """
        found = dict(self.changed)
        if any(one.comment_id not in found for one in comments):
            votes = self._context.stores.votes
            recent = await self._context.part(RequestCache).read(votes.recent, self._user_id)
            for one in comments:
                if one.comment_id in recent and one.comment_id not in found:
                    vote = recent[one.comment_id]
                    found[one.comment_id] = vote.helpful, votes.shown(one, vote)
        return found

    async def _load_found(self, comments: Sequence[Comment]) -> list[bool]:
        unique = {one.comment_id: one for one in comments}
        recent, marked = await asyncio.gather(
            self._recent(comments),
            self._context.stores.votes.marked(self._user_id, [*unique.values()]),
        )
        ids = [one.comment_id for one in comments]
        return [recent[one][0] if one in recent else one in marked for one in ids]

    async def _load_counts(self, comments: Sequence[Comment]) -> list[int]:
        recent: dict[str, tuple[bool, int]] = {}
        with suppress(DalError):  # an error would remove the whole comment from the answer
            recent = await self._recent(comments)
        return [
            one._replace(votes=recent[one.comment_id][1]).helpful_count
            if one.comment_id in recent
            else one.helpful_count
            for one in comments
        ]


@strawberry.input(description="The comment that you find helpful.")
class MarkHelpfulInput:
    """Input of ``markHelpful``: a comment of another user."""

    id: strawberry.ID = strawberry.field(description="Global `id` of the comment.")


@strawberry.input(description="The comment that you no longer find helpful.")
class UnmarkHelpfulInput(MarkHelpfulInput):
    """Input of ``unmarkHelpful``: the comment."""


@reported(comment=None, reads_standing=True)
async def mark_helpful(info: Info, input: Input[MarkHelpfulInput]) -> Fields:
    """Store the viewer's vote for a published comment. A second vote changes nothing."""
    return await _set_vote(info, input, helpful=True)


@reported(comment=None, reads_standing=True)
async def unmark_helpful(info: Info, input: Input[UnmarkHelpfulInput]) -> Fields:
    """Delete the viewer's vote for a published comment."""
    return await _set_vote(info, input, helpful=False)


def _may_vote(permission: Permission) -> None:
    """Raise ForbiddenError if the viewer is blocked, or while the viewer's data is being erased."""
    may_write(permission)
    if permission.blocked:
        raise ForbiddenError("A moderator has blocked you. You cannot vote.")


async def _set_vote(info: Info, given: MarkHelpfulInput, *, helpful: bool) -> Fields:
    viewer, comment_id = require_viewer(info.context), checked(given, _WHICH)["id"]
    votes = info.context.stores.votes
    comment = await votes.mark(comment_id, viewer.user_id, _may_vote, helpful=helpful)
    info.context.part(ViewerVotes).changed[comment_id] = helpful, comment.votes
    return {"comment": comment}


def viewer_found_helpful(
    root: strawberry.Parent[Comment], info: Info
) -> Awaitable[bool] | bool | None:
    """Return whether the viewer has marked a comment as helpful; None without a viewer."""
    if info.context.viewer is None:
        return None
    return info.context.part(ViewerVotes).found.load(root)


def helpful_count(root: strawberry.Parent[Comment], info: Info) -> Awaitable[int] | int:
    """Return a comment's number of votes, which includes each acknowledged vote of the viewer."""
    if info.context.viewer is None:
        return root.helpful_count
    return info.context.part(ViewerVotes).counts.load(root)


async def highlights(root: strawberry.Parent[Product], info: Info) -> Highlights:
    """Return the product's most helpful positive comment and most helpful critical comment."""
    return await info.context.stores.votes.highlights(root.product_id)
