"""The GraphQL types of submissions, which are unpublished comments, and of moderation."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import strawberry

from dal import model
from dal.model import reports as report_model
from dal.model import submissions
from dal.model.moderation import QueueKind, ReviewCause, Verdict
from resolvers import blocks, moderation, products, users
from schema.comments import Author, Comment, Photo, Product, Reply
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum

show_enum(
    submissions.SubmissionState,
    "State of a comment that is not published.",
    {
        submissions.SubmissionState.PENDING: "A moderator has not decided yet.",
        submissions.SubmissionState.REJECTED: "A moderator has rejected the comment; `reason` says "
        "why. An edit by its author submits it again.",
    },
)

show_enum(
    ReviewCause,
    "Why a comment waits for a moderator.",
    {
        ReviewCause.SETTING: "The shop publishes no comment before a moderator approves it.",
        ReviewCause.WORDS: "The comment or a photo's text or URL contains a word or phrase that "
        "the shop has listed for moderation.",
        ReviewCause.BLOCKED: "A moderator has blocked the author.",
        ReviewCause.REPORTS: "Readers have reported the published comment.",
        ReviewCause.EDIT: "The author has edited a published or rejected comment.",
        ReviewCause.FILE: "The comment was loaded from a file that marks it as pending.",
    },
)


show_enum(
    Verdict,
    "What a moderator decides on a comment.",
    {
        Verdict.APPROVE: "Publish the submission, or keep the published comment.",
        Verdict.REJECT: "Reject the submission or the published comment, for a `reason`.",
    },
)

show_enum(
    QueueKind,
    "What a moderators' queue lists.",
    {
        QueueKind.PENDING: "Comments that wait for a moderator before they are published.",
        QueueKind.REPORTED: "Published comments with reports that no moderator has decided on.",
    },
    name="ModerationQueueKind",
)


@strawberry.type(
    description="A comment that is not published. Visible to its author and moderators. It becomes "
    "a `Comment` with the same `commentId` and another `id` when it is published."
)
class Submission(Node):
    """The GraphQL type of ``dal.model.submissions.Submission``."""

    shows: ClassVar = submissions.Submission
    comment_id: strawberry.ID = strawberry.field(description="Comment id; publishing keeps it.")
    product: model.Product = strawberry.field(
        resolver=products.product_of,
        graphql_type=Product,
        description="The product commented on. Its statistics do not include the submission.",
    )
    title: str = strawberry.field(description="Title; may be empty. Maximum 200 characters.")
    text: str = strawberry.field(
        description="Plain text, not HTML; may be empty. Maximum 10,000 characters."
    )
    username: str = strawberry.field(description="User name of the author: the author's id.")
    author_name: str = strawberry.field(
        description="Display name of the author when the comment was added. Edits do not change it."
    )
    author: model.Author = strawberry.field(
        resolver=users.author_of, graphql_type=Author, description="The author."
    )
    rating: int = strawberry.field(description="Rating from 1 to 5.")
    language: str = strawberry.field(description="Language, as a BCP 47 tag.")
    created_at: datetime = strawberry.field(
        description="Creation time. Publishing does not change it: lists by date show the "
        "published comment at this time."
    )
    updated_at: datetime | None = strawberry.field(
        description="Time of the last edit; null if never edited."
    )
    verified_purchase: bool = strawberry.field(
        description="Whether an order with the product had been delivered to the author before the "
        "comment was added."
    )
    reply: model.Reply | None = strawberry.field(
        graphql_type=Reply | None,
        description="The shop's reply, if the comment was published before and had a reply. "
        "Otherwise null.",
    )
    photos: list[model.Photo] = strawberry.field(
        graphql_type=list[Photo], description="Photos, in the author's order. Maximum 10."
    )
    state: submissions.SubmissionState = strawberry.field(
        description="Whether the comment waits for a moderator, or a moderator has rejected it."
    )
    cause: ReviewCause | None = strawberry.field(
        resolver=moderation.cause,
        description="Why the comment waits for a moderator. For moderators; null for the author.",
    )
    queued_at: datetime = strawberry.field(
        description="Time at which the comment began to wait for a moderator."
    )
    reason: str | None = strawberry.field(
        description="The moderator's reason for the rejection; null while the comment is pending."
    )
    decided_at: datetime | None = strawberry.field(
        description="Time of the rejection; null while the comment is pending."
    )


@strawberry.type(description="One page of a list.")
class SubmissionConnection(Connection[Submission]):
    """The GraphQL type of ``dal.query.pagination.Page`` of submissions."""


show_enum(
    report_model.ReportReason,
    "Why a reader reports a comment.",
    {
        report_model.ReportReason.SPAM: "Advertising, or a text that is posted again and again.",
        report_model.ReportReason.OFFENSIVE: "Insults, hate or threats.",
        report_model.ReportReason.OFF_TOPIC: "The text is not about the product.",
        report_model.ReportReason.PRIVATE: "The text contains personal data.",
        report_model.ReportReason.OTHER: "Another reason; `text` explains it.",
    },
)


@strawberry.type(description="A reader's report of a comment.")
class CommentReport:
    """The GraphQL type of ``dal.model.reports.Report``."""

    username: str = strawberry.field(description="User name of the reader.")
    reason: report_model.ReportReason = strawberry.field(description="Reason.")
    text: str = strawberry.field(description="Explanation; may be empty. Maximum 500 characters.")
    at: datetime = strawberry.field(name="reportedAt", description="Time of the report.")


@strawberry.type(description="A reason, and the number of reports with this reason.")
class ReportReasonCount:
    """The GraphQL type of ``dal.model.reports.ReasonCount``."""

    reason: report_model.ReportReason = strawberry.field(description="Reason.")
    count: int = strawberry.field(description="Number of reports.")


@strawberry.type(description="The reports of a comment.")
class CommentReports:
    """The GraphQL type of ``dal.model.reports.CommentReports``."""

    total: int | None = strawberry.field(
        description="Number of reports; null if there are 100 or more."
    )
    reasons: list[ReportReasonCount] = strawberry.field(
        description="Reasons, most frequent first. Counts at most 100 reports."
    )
    reports: list[CommentReport] = strawberry.field(
        description="Reports, oldest first. At most 100."
    )


@strawberry.type(description="A row of a moderators' queue.")
class ModerationQueueEntry:
    """The GraphQL type of ``dal.model.submissions.QueueEntry``."""

    waiting_since: datetime = strawberry.field(
        description="Time at which the comment began to wait. The queue is sorted by this time."
    )
    submission: Submission | None = strawberry.field(
        description="The comment that waits for a moderator. Null in the queue REPORTED."
    )
    comment: Comment | None = strawberry.field(
        description="The published comment with reports. Null in the queue PENDING."
    )
    reports: report_model.CommentReports | None = strawberry.field(
        resolver=moderation.reports,
        graphql_type=CommentReports | None,
        description="Reports of the comment, including reports made before a moderator's "
        "latest decision.",
    )


@strawberry.type(description="One page of a list.")
class ModerationQueueConnection(Connection[ModerationQueueEntry]):
    """The GraphQL type of ``dal.query.pagination.Page`` of queue entries."""

    total_count: int | None = strawberry.field(
        description="Number of rows on all pages; null if there are several thousand.",
    )


@strawberry.type(description="Result of `approveComment`.")
class ApproveCommentPayload:
    """The GraphQL type of ``resolvers.moderation.DecisionPayload``."""

    comment: Comment | None = strawberry.field(description="The published comment; null on errors.")
    comment_edge: Edge[Comment] | None = strawberry.field(
        description="Edge to insert into a cached list, at the position of its cursor."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `rejectComment`.")
class RejectCommentPayload:
    """The GraphQL type of ``resolvers.moderation.DecisionPayload``."""

    submission: Submission | None = strawberry.field(
        description="The rejected submission; null on errors. Remove the comment from cached lists."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `decideComments`.")
class DecideCommentsPayload:
    """The GraphQL type of ``resolvers.moderation.DecisionsPayload``."""

    ids: list[strawberry.ID] = strawberry.field(
        description="The input ids of the comments that were decided. Every other decision has an "
        "error in `userErrors`."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="A user whose new texts wait for a moderator.")
class BlockedUser:
    """The GraphQL type of ``dal.model.standings.Block``."""

    username: str = strawberry.field(description="User name: the user's id.")
    reason: str = strawberry.field(description="The moderator's reason. Maximum 200 characters.")
    at: datetime = strawberry.field(name="blockedAt", description="Time of the block.")
    by: str | None = strawberry.field(
        name="blockedBy",
        description="User name of the moderator. Null if an operator blocked the user by a "
        "command, or if the moderator's data was erased.",
    )


@strawberry.type(description="One page of a list.")
class BlockedUserConnection(Connection[BlockedUser]):
    """The GraphQL type of ``dal.query.pagination.Page`` of blocks."""


@strawberry.type(description="Result of `blockUser`.")
class BlockUserPayload:
    """The GraphQL type of ``resolvers.blocks.BlockPayload``."""

    block: BlockedUser | None = strawberry.field(
        name="blockedUser", description="The blocked user; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `unblockUser`.")
class UnblockUserPayload:
    """The GraphQL type of ``resolvers.blocks.UnblockPayload``."""

    username: str | None = strawberry.field(
        description="Name of the user who is no longer blocked; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `reportComment`.")
class ReportCommentPayload:
    """The GraphQL type of ``resolvers.moderation.ReportPayload``."""

    reported_id: strawberry.ID | None = strawberry.field(
        description="Input `id` of the comment; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class ModerationMutation:
    """Binds each mutation to its resolver."""

    approve_comment: moderation.DecisionPayload | None = strawberry.mutation(
        resolver=moderation.approve_comment,
        graphql_type=ApproveCommentPayload | None,
        description="Publish a submission, or keep a published comment and close its reports. A "
        "published comment without open reports is returned unchanged. For moderators.",
    )
    reject_comment: moderation.DecisionPayload | None = strawberry.mutation(
        resolver=moderation.reject_comment,
        graphql_type=RejectCommentPayload | None,
        description="Reject a submission, or a published comment, which is then hidden. Its author "
        "sees the reason. For moderators.",
    )
    decide_comments: moderation.DecisionsPayload | None = strawberry.mutation(
        resolver=moderation.decide_comments,
        graphql_type=DecideCommentsPayload | None,
        description="Approve and reject up to 25 comments, each as `approveComment` and "
        "`rejectComment` do. For moderators.",
    )
    report_comment: moderation.ReportPayload | None = strawberry.mutation(
        resolver=moderation.report_comment,
        graphql_type=ReportCommentPayload | None,
        description="Report a published comment to the moderators, as the JWT's user. A user's "
        "second report of a comment changes nothing. A comment with several reports may be hidden "
        "until a moderator decides.",
    )
    block_user: blocks.BlockPayload | None = strawberry.mutation(
        resolver=blocks.block_user,
        graphql_type=BlockUserPayload | None,
        description="Block a user: the user's new comments and edits of titles and texts then "
        "wait for a moderator. Published comments stay published. A second block "
        "with another reason replaces the first. For moderators.",
    )
    unblock_user: blocks.UnblockPayload | None = strawberry.mutation(
        resolver=blocks.unblock_user,
        graphql_type=UnblockUserPayload | None,
        description="End the block of a user. Comments that already wait for a moderator stay "
        "in the queue. For moderators.",
    )
