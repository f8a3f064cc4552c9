"""Helpful votes: users mark the comments of other users as helpful."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import strawberry
from strawberry.dataloader import DataLoader

from dal.model import Comment, Product
from dal.model.standings import Permission
from dal.table.errors import DalError
from features.votes.model import Highlights
from resolvers.authorization import ForbiddenError, may_write, require_viewer
from resolvers.context import Context, RequestCache
from resolvers.mutations import UserError, checked, reported
from resolvers.node_ids import own_id_of
from resolvers.selection import Info, Input

_WHICH = {"id": own_id_of("Comment")}


class ViewerVotes:
    """The viewer's votes in one request. One read returns the votes for a whole page."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.changed: dict[str, tuple[bool, int]] = {}
        """The results of this request's mutations, by comment id: whether the comment has the
        viewer's vote, and its number of votes."""
        self.marked: DataLoader[Comment, bool] = DataLoader(self._load_marked, cache=False)

    @property
    def _user_id(self) -> str:
        viewer = self._context.viewer
        assert viewer is not None  # noqa: S101 - without a viewer, no field reads votes
        return viewer.user_id

    async def present(self, comment: Comment) -> tuple[bool, int] | None:
        """Return a changed vote and the comment's number of votes; None without a recent change."""
        if comment.comment_id in self.changed:
            return self.changed[comment.comment_id]
        votes = self._context.stores.votes
        recent = await self._context.part(RequestCache).read(votes.recent, self._user_id)
        one = recent.get(comment.comment_id)
        return None if one is None else (one.helpful, votes.shown(comment, one))

    async def _load_marked(self, comments: Sequence[Comment]) -> list[bool]:
        unique = {one.comment_id: one for one in comments}
        marked = await self._context.stores.votes.marked(self._user_id, [*unique.values()])
        return [one.comment_id in marked for one in comments]


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
    info.context.part(ViewerVotes).changed[comment_id] = helpful, comment.votes
    return VotePayload(comment)


async def viewer_found_helpful(root: strawberry.Parent[Comment], info: Info) -> bool | None:
    """Return whether the viewer has marked a comment as helpful; None without a viewer."""
    if info.context.viewer is None:
        return None
    votes = info.context.part(ViewerVotes)
    present, marked = await asyncio.gather(votes.present(root), votes.marked.load(root))
    return marked if present is None else present[0]


def helpful_count(root: strawberry.Parent[Comment], info: Info) -> Awaitable[int] | int:
    """Return a comment's number of votes, which includes each acknowledged vote of the viewer."""
    if info.context.viewer is None:
        return root.helpful_count
    return _present_count(root, info.context.part(ViewerVotes))


async def _present_count(comment: Comment, votes: ViewerVotes) -> int:
    with suppress(DalError):  # an error would remove the whole comment from the answer
        present = await votes.present(comment)
        if present is not None:
            return comment._replace(votes=present[1]).helpful_count
    return comment.helpful_count


async def highlights(root: strawberry.Parent[Product], info: Info) -> Highlights:
    """Return the product's most helpful positive comment and most helpful critical comment."""
    return await info.context.stores.votes.highlights(root.product_id)
