"""Moderation: submissions, decisions on comments, reports, and the moderators' queue."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Unpack

import strawberry

from dal.model import Comment, Product, User, rules
from dal.model.own_ids import global_id
from dal.model.submissions import ReviewCause, Submission
from dal.query.pagination import Edge, Page
from dal.table.errors import DalError, InvalidArgumentError
from features.moderation.model import CommentReports, QueueEntry, QueueKind, ReportReason, Verdict
from features.moderation.words import Moderation
from resolvers.authorization import (
    MODERATOR,
    can_change,
    is_moderator,
    may_write,
    require_grant,
    require_role,
    require_viewer,
)
from resolvers.mutations import (
    CODES,
    INPUT,
    Fields,
    Rule,
    UserError,
    checked,
    checked_each,
    reported,
)
from resolvers.node_ids import own_id_of
from resolvers.selection import (
    DatedArguments,
    Info,
    Input,
    PageArguments,
    dated_slice,
    selects,
    slice_of,
    with_arguments,
)
from schema.execution.facts import Effect, argument_fact

_FOR_AUTHORS = frozenset({ReviewCause.SETTING, ReviewCause.EDIT})
"""The causes that authors see. All other causes would reveal listed words, or reports and decisions
of other users."""

MOST_DECISIONS = 25
"""Maximum decisions of one mutation."""

_DECIDED: Mapping[str, Rule] = {
    "id": own_id_of("Comment", "Submission"),
    "seen": rules.instant,
    "reason": rules.stated_title,
}


_REPORTED: Mapping[str, Rule] = {
    "id": own_id_of("Comment", "Submission"),
    "text": rules.explanation,
}


@strawberry.input(description="The comment to publish.")
class ApproveCommentInput:
    """Input of ``approveComment``: the comment, and the version that the moderator has read."""

    id: strawberry.ID = strawberry.field(
        description="Global `id` of the submission or the comment."
    )
    seen: datetime = strawberry.field(
        description="Version of the comment that you have read: its `updatedAt`, or its "
        "`createdAt` if `updatedAt` is null. If the author has edited the comment since then, "
        "the mutation fails with CONFLICT."
    )


@strawberry.input(description="The comment to reject. It may be published or unpublished.")
class RejectCommentInput(ApproveCommentInput):
    """Input of ``rejectComment``: the comment, and the reason."""

    reason: str = strawberry.field(
        description="Reason for the rejection. The author sees the reason. Maximum 200 characters."
    )


@strawberry.input(description="A decision on a comment.")
class CommentDecisionInput(ApproveCommentInput):
    """A comment, and a moderator's decision on it."""

    verdict: Verdict = strawberry.field(description="Whether to approve or to reject the comment.")
    reason: str | None = strawberry.field(
        default=None,
        description="Reason for a rejection. The author sees the reason. Maximum 200 "
        "characters. Required with REJECT.",
    )


@strawberry.input(description="Decisions on several comments.")
class DecideCommentsInput:
    """Input of ``decideComments``: one decision for each comment."""

    decisions: list[CommentDecisionInput] = strawberry.field(
        description="One decision for each comment. Maximum 25."
    )


def _entry_id(comment_id: str) -> strawberry.ID:
    return strawberry.ID(global_id("ModerationQueueEntry", comment_id))


def entry_id(root: strawberry.Parent[QueueEntry]) -> strawberry.ID:
    """Return the id of a row in the queues. A comment has the same id in both queues."""
    return _entry_id(root.comment_id)


def unpublished_id(root: strawberry.Parent[Any]) -> strawberry.ID | None:
    """Return the id that a comment has in the public lists, if a mutation has unpublished it."""
    held: Submission | None = root.submission
    return None if held is None else strawberry.ID(global_id("Comment", held.comment_id))


@strawberry.input(description="A report of a comment.")
class ReportCommentInput:
    """Input of ``reportComment``: the comment, and the user's reason."""

    id: strawberry.ID = strawberry.field(description="Global `id` of the comment.")
    reason: ReportReason = strawberry.field(description="Why you report the comment.")
    text: str | None = strawberry.field(
        default=None,
        description="Explanation for moderators. Maximum 500 characters. Required if `reason` "
        "is OTHER.",
    )


@reported(comment=None, comment_edge=None, queue_entry_id=None, product=None)
async def approve_comment(info: Info, input: Input[ApproveCommentInput]) -> Fields:
    """Publish a submission, or keep a published comment and close its reports. For moderators."""
    viewer = require_role(info.context, MODERATOR, "approve comments")
    given = checked(input, {name: _DECIDED[name] for name in ("id", "seen")})
    store = info.context.stores.moderation
    edge = await store.approve(given["id"], given["seen"], viewer.user_id)
    return {
        "comment": edge.node,
        "comment_edge": edge,
        "queue_entry_id": _entry_id(given["id"]),
        "product": Product(edge.node.product_id),
    }


@reported(submission=None, queue_entry_id=None, product=None)
async def reject_comment(info: Info, input: Input[RejectCommentInput]) -> Fields:
    """Reject a submission or a published comment. For moderators."""
    viewer = require_role(info.context, MODERATOR, "reject comments")
    given = checked(input, _DECIDED)
    held = await info.context.stores.moderation.reject(
        given["id"], given["seen"], viewer.user_id, given["reason"]
    )
    return {
        "submission": held,
        "queue_entry_id": _entry_id(given["id"]),
        "product": Product(held.product_id),
    }


@reported(ids=[], queue_entry_ids=[], unpublished_ids=[], products=[])
async def decide_comments(info: Info, input: Input[DecideCommentsInput]) -> Fields:
    """Approve and reject several comments, as ``approve_comment`` and ``reject_comment`` do.

    For moderators. Each decision succeeds or fails separately. The decisions run in parallel, so
    that decisions on comments of the same product can share transactions.
    """
    viewer = require_role(info.context, MODERATOR, "decide on comments")
    rules.few("decisions", input.decisions, MOST_DECISIONS)
    for number, given in enumerate(input.decisions):
        if given.verdict is Verdict.REJECT and given.reason is None:
            argument = f"decisions.{number}.reason"
            raise InvalidArgumentError(argument, f"{argument} is missing: give a reason.")
    decisions = checked_each("decisions", input.decisions, _DECIDED)
    if len({one["id"] for one in decisions}) < len(decisions):
        raise InvalidArgumentError(
            "decisions", "decisions has two entries for a comment: leave one of them out."
        )
    store = info.context.stores.moderation
    outcomes: Sequence[Edge[Comment] | Submission | BaseException] = await asyncio.gather(
        *(
            store.reject(one["id"], one["seen"], viewer.user_id, one["reason"])
            if given.verdict is Verdict.REJECT
            else store.approve(one["id"], one["seen"], viewer.user_id)
            for given, one in zip(input.decisions, decisions, strict=True)
        ),
        return_exceptions=True,
    )
    ids, queue_entry_ids, unpublished_ids = [], [], []
    user_errors, products = list[UserError](), dict[str, Product]()
    for number, (given, one, outcome) in enumerate(
        zip(input.decisions, decisions, outcomes, strict=True)
    ):
        if isinstance(outcome, DalError) and type(outcome) in CODES:
            path = [INPUT, "decisions", str(number)]
            user_errors.append(UserError(str(outcome), CODES[type(outcome)], path))
            continue
        if isinstance(outcome, BaseException):
            raise outcome
        ids.append(given.id)
        queue_entry_ids.append(_entry_id(one["id"]))
        if isinstance(outcome, Submission):
            unpublished_ids.append(strawberry.ID(global_id("Comment", one["id"])))
        product_id = (outcome if isinstance(outcome, Submission) else outcome.node).product_id
        products[product_id] = Product(product_id)
    return {
        "ids": ids,
        "queue_entry_ids": queue_entry_ids,
        "unpublished_ids": unpublished_ids,
        "products": [*products.values()],
        "user_errors": user_errors,
    }


async def submission(info: Info, comment_id: str) -> Submission | None:
    """Return a submission; None if it is missing, or if the viewer may not see it.

    Only its author and moderators may see a submission.
    """
    viewer = require_viewer(info.context)
    comment_id = rules.identifier("commentId", comment_id)
    return await info.context.stores.moderation.get(
        comment_id, lambda found: can_change(viewer, found.username)
    )


@with_arguments
async def submissions(
    root: strawberry.Parent[User], info: Info, **given: Unpack[DatedArguments]
) -> Page[Submission] | None:
    """Return a page of a user's submissions; None unless the viewer is the user or a moderator."""
    if not can_change(require_viewer(info.context), root.username):
        return None
    period, cut = dated_slice(info, **given)
    return await info.context.stores.moderation.page(root.username, cut, *period)


def cause(root: strawberry.Parent[Submission], info: Info) -> ReviewCause | None:
    """Return why a submission waits for a moderator; None if only moderators may know."""
    viewer = require_grant(info.context).author
    return root.cause if is_moderator(viewer) or root.cause in _FOR_AUTHORS else None


@with_arguments
async def queue(
    info: Info,
    kind: Annotated[
        QueueKind | None,
        strawberry.argument(
            description="Queue to return. Default PENDING.", metadata=argument_fact(Effect.LOOKS_UP)
        ),
    ] = QueueKind.PENDING,
    **given: Unpack[PageArguments],
) -> Page[QueueEntry]:
    """Return a page of a queue. For moderators.

    The rows of the whole queue are counted only if the request selects ``totalCount``.
    """
    require_role(info.context, MODERATOR, "see what waits for review")
    cut = slice_of(info, **given)
    stores = info.context.stores
    kind = kind or QueueKind.PENDING
    store = stores.reports if kind is QueueKind.REPORTED else stores.moderation
    if not selects(info, "totalCount"):
        return await store.queue(cut)
    rows = store.queue(replace(cut, total=False))
    page, total = await asyncio.gather(rows, stores.moderation.queue_length(kind))
    return replace(page, total_count=total)


async def reports(root: strawberry.Parent[QueueEntry], info: Info) -> CommentReports:
    """Return the reports of a comment in a queue.

    Authorization is not checked again, because only moderators see queues.
    """
    return await info.context.stores.reports.reports(root.comment_id)


@reported(reported_id=None, reads_standing=True)
async def report_comment(info: Info, input: Input[ReportCommentInput]) -> Fields:
    """Report a published comment. A user's second report of the same comment is not stored."""
    viewer = require_viewer(info.context)
    given = checked(input, _REPORTED)
    text = given.get("text", "")
    if input.reason is ReportReason.OTHER:
        rules.stated_text("text", text)
    await info.context.stores.reports.report(
        given["id"],
        viewer.user_id,
        input.reason,
        text,
        info.context.service(Moderation).review_at,
        may_write,
    )
    return {"reported_id": input.id}
