"""The GraphQL types of submissions, which are unpublished comments, and of moderation."""

from datetime import datetime
from math import ceil
from typing import Any, ClassVar

import strawberry

from dal import model
from dal.model import submissions
from dal.model.comment_fields import MAX_ASPECTS
from dal.model.rules import MAX_PHOTOS
from dal.model.submissions import ReviewCause
from features.moderation import model as report_model
from features.moderation import resolvers as moderation
from features.moderation.model import MOST_READ, QueueKind, ReportReason, Verdict
from features.moderation.repository import MOST_COUNTED, QUEUE_REQUESTS
from features.moderation.resolvers import MOST_DECISIONS
from resolvers import comments, products, shop_aspects, users
from schema.comments import CHANGED_PRODUCT, AspectRating, Author, Comment, Photo, Reply
from schema.costs import PAGE, listed, mutation
from schema.execution.cost import ROW_BYTES, UNIT_BYTES
from schema.execution.facts import Reads, facts
from schema.products import Product
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum

show_enum(
    submissions.SubmissionState,
    "State of a comment that is not published.",
    PENDING="A moderator has not decided yet.",
    REJECTED="A moderator has rejected the comment for the given `reason`. If the author edits the "
    "comment, it waits for a moderator again.",
)


show_enum(
    ReviewCause,
    "Why a comment waits for a moderator.",
    SETTING="The shop publishes comments only after a moderator has approved them.",
    WORDS="The title, the text, or a photo's URL or description contains a word or phrase that the "
    "shop has listed for moderation.",
    BLOCKED="A moderator has blocked the author.",
    REPORTS="Several readers have reported the published comment.",
    EDIT="The author has edited a rejected comment. Or the author has edited a published comment, "
    "and the shop publishes comments only after a moderator's approval.",
    FILE="The comment was loaded from a file that marks it as pending.",
)


show_enum(
    Verdict,
    "A moderator's decision on a comment.",
    APPROVE="Publish the submission, or keep the published comment.",
    REJECT="Reject the submission or the published comment, which is then no longer published. "
    "Requires a `reason`.",
)


show_enum(
    QueueKind,
    "Kind of moderators' queue.",
    PENDING="Unpublished comments that wait for a moderator.",
    REPORTED="Published comments with reports on which no moderator has decided yet.",
    name="ModerationQueueKind",
)


@strawberry.type(
    description="An unpublished comment, visible to its author and moderators. When it is "
    "published, it becomes a `Comment` with the same `commentId` and another global `id`."
)
class Submission(Node):
    """The GraphQL type of ``dal.model.submissions.Submission``."""

    shows: ClassVar = submissions.Submission
    comment_id: strawberry.ID = strawberry.field(
        description="Comment id. It stays the same when the comment is published."
    )
    product: model.Product = strawberry.field(
        resolver=products.product_of,
        graphql_type=Product,
        description="The product that the comment is about. The product's statistics do not "
        "count unpublished comments.",
    )
    title: str = strawberry.field(description="Title; may be empty. Maximum 200 characters.")
    text: str = strawberry.field(
        description="Plain text, not HTML; may be empty. Maximum 10,000 characters."
    )
    username: str = strawberry.field(
        description="User name of the author, which is the author's id."
    )
    author_name: str = strawberry.field(
        description="Display name of the author when the comment was added. Edits do not change it."
    )
    author: model.Author = strawberry.field(
        resolver=users.author_of, graphql_type=Author, description="The author."
    )
    rating: int = strawberry.field(description="Rating from 1 to 5.")
    language: str = strawberry.field(description="Language, as a BCP 47 tag.")
    created_at: datetime = strawberry.field(
        description="Time at which the comment was added. Publishing does not change it, so "
        "lists in date order show the published comment at this time."
    )
    updated_at: datetime | None = strawberry.field(
        description="Time of the last edit; null if the comment was never edited."
    )
    verified_purchase: bool = strawberry.field(
        description="Whether the author had received an order with the product before adding "
        "the comment."
    )
    reply: Reply | None = strawberry.field(
        description="The shop's reply, written while the comment was published; null if there "
        "is none.",
    )
    photos: list[Photo] = strawberry.field(
        description="Photos, in the author's order. Maximum 10.",
        metadata=facts(reads=listed(2, MAX_PHOTOS)),
    )
    source: model.CommentSource = strawberry.field(description="Where the comment comes from.")
    incentivized: bool = strawberry.field(
        description="Whether the author received something for writing the comment."
    )
    incentive: str | None = strawberry.field(
        resolver=comments.incentive,
        description="What the author received, in the shop's words. Null if `incentivized` is "
        "false, or if the shop has not stated it.",
    )
    aspects: list[model.AspectRating] = strawberry.field(
        resolver=shop_aspects.of_comment,
        graphql_type=list[AspectRating],
        description="Ratings of the shop's aspects, in the shop's order. Maximum 6.",
        metadata=facts(reads=listed(2, MAX_ASPECTS)),
    )
    state: submissions.SubmissionState = strawberry.field(
        description="PENDING while the comment waits for a moderator, REJECTED after a "
        "moderator has rejected it."
    )
    cause: ReviewCause | None = strawberry.field(
        resolver=moderation.cause,
        description="Why the comment waits, or waited, for a moderator. Null if a published "
        "comment was rejected. Users who are not moderators see only SETTING and EDIT; other "
        "causes are null.",
    )
    queued_at: datetime = strawberry.field(
        description="Time at which the comment began to wait for a moderator. If a published "
        "comment was rejected, the time of the rejection."
    )
    reason: str | None = strawberry.field(
        description="The moderator's reason for the rejection; null while the comment is pending."
    )
    decided_at: datetime | None = strawberry.field(
        description="Time of the rejection; null while the comment is pending."
    )


@strawberry.type(description="A page of submissions.")
class SubmissionConnection(Connection[Submission]):
    """The GraphQL type of ``dal.query.pagination.Page`` of submissions."""


SUBMISSIONS: Any = strawberry.field(
    resolver=moderation.submissions,
    graphql_type=SubmissionConnection | None,
    description="The user's unpublished comments, sorted by date. Visible to that user and "
    "moderators; null for others.",
    metadata=facts(reads=PAGE),
)
"""The field ``User.submissions``."""


show_enum(
    report_model.ReportReason,
    "Why a reader reports a comment.",
    SPAM="Advertising, or a text that is posted again and again.",
    OFFENSIVE="Insults, hate or threats.",
    OFF_TOPIC="The text is not about the product.",
    PRIVATE="The text contains personal data.",
    OTHER="Another reason, which `text` explains.",
)


@strawberry.type(description="A reader's report of a comment.")
class CommentReport:
    """The GraphQL type of ``features.moderation.model.Report``."""

    username: str = strawberry.field(
        description="User name of the reader who reported the comment."
    )
    reason: report_model.ReportReason = strawberry.field(description="Reason.")
    text: str = strawberry.field(description="Explanation; may be empty. Maximum 500 characters.")
    at: datetime = strawberry.field(name="reportedAt", description="Time of the report.")


@strawberry.type(description="A reason, and the number of reports with this reason.")
class ReportReasonCount:
    """The GraphQL type of ``features.moderation.model.ReasonCount``."""

    reason: report_model.ReportReason = strawberry.field(description="Reason.")
    count: int = strawberry.field(description="Number of reports.")


@strawberry.type(description="The reports of a comment.")
class CommentReports:
    """The GraphQL type of ``features.moderation.model.CommentReports``."""

    total: int | None = strawberry.field(
        description="Number of reports; null if there may be more than 100."
    )
    reasons: list[ReportReasonCount] = strawberry.field(
        description="Reasons with their numbers of reports, most frequent first. Counts at most "
        "100 reports.",
        metadata=facts(reads=listed(2, len(ReportReason))),
    )
    reports: list[CommentReport] = strawberry.field(
        description="Reports, oldest first. Maximum 100.",
        metadata=facts(reads=listed(5, MOST_READ)),
    )


@strawberry.type(description="A row of a moderators' queue.")
class ModerationQueueEntry:
    """The GraphQL type of ``features.moderation.model.QueueEntry``."""

    id: strawberry.ID = strawberry.field(
        resolver=moderation.entry_id,
        description="Id of the row, for caches. Payloads return it as `queueEntryId`. It is not an "
        "id for `node`.",
    )
    waiting_since: datetime = strawberry.field(
        description="Time at which the comment began to wait for a moderator. In the queue "
        "REPORTED, the time of the first report on which no moderator has decided. The queue is "
        "sorted by this time."
    )
    submission: Submission | None = strawberry.field(
        description="The unpublished comment. Null in the queue REPORTED."
    )
    comment: Comment | None = strawberry.field(
        description="The published comment with reports. Null in the queue PENDING."
    )
    reports: report_model.CommentReports | None = strawberry.field(
        resolver=moderation.reports,
        graphql_type=CommentReports | None,
        description="Reports of the comment, including those on which a moderator has already "
        "decided.",
        metadata=facts(reads=Reads(1, 0.5 * ceil(MOST_READ * ROW_BYTES / UNIT_BYTES))),
    )


@strawberry.type(description="A page of a moderators' queue.")
class ModerationQueueConnection(Connection[ModerationQueueEntry]):
    """The GraphQL type of ``dal.query.pagination.Page`` of queue entries."""

    total_count: int | None = strawberry.field(
        description="Number of comments in the queue; null if there are more than about 3,500.",
        metadata=facts(
            reads=Reads(QUEUE_REQUESTS, 0.5 * ceil(MOST_COUNTED * ROW_BYTES / UNIT_BYTES))
        ),
    )


QUEUE: Any = strawberry.field(
    resolver=moderation.queue,
    graphql_type=ModerationQueueConnection | None,
    description="Comments that wait for a moderator (PENDING), or published comments with "
    "reports (REPORTED). The comment that has waited longest is first. Only for moderators.",
    metadata=facts(reads=Reads(QUEUE_REQUESTS + 1, 0.5, paged=True, looks_up=QueueKind.REPORTED)),
)
"""The field ``Query.moderationQueue``."""


_QUEUE_ENTRY_ID = (
    "`id` of the comment's row in `moderationQueue`. Remove the row from cached queues. Null on "
    "errors."
)


@strawberry.type(description="Result of `approveComment`.")
class ApproveCommentPayload:
    """The GraphQL type of what ``features.moderation.resolvers.approve_comment`` returns."""

    comment: Comment | None = strawberry.field(description="The published comment; null on errors.")
    comment_edge: Edge[Comment] | None = strawberry.field(
        description="The comment's edge. Insert the edge into cached lists. In lists in date "
        "order, its place depends on `createdAt`. Null on errors."
    )
    queue_entry_id: strawberry.ID | None = strawberry.field(description=_QUEUE_ENTRY_ID)
    product: Product | None = strawberry.field(description=CHANGED_PRODUCT)
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `rejectComment`.")
class RejectCommentPayload:
    """The GraphQL type of what ``features.moderation.resolvers.reject_comment`` returns."""

    submission: Submission | None = strawberry.field(
        description="The rejected comment as a submission; null on errors."
    )
    unpublished_id: strawberry.ID | None = strawberry.field(
        resolver=moderation.unpublished_id,
        description="Global `id` of the `Comment`. Remove the comment from cached lists of "
        "published comments. Null on errors.",
    )
    queue_entry_id: strawberry.ID | None = strawberry.field(description=_QUEUE_ENTRY_ID)
    product: Product | None = strawberry.field(description=CHANGED_PRODUCT)
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `decideComments`.")
class DecideCommentsPayload:
    """The GraphQL type of what ``features.moderation.resolvers.decide_comments`` returns."""

    ids: list[strawberry.ID] = strawberry.field(
        description="Global `id`s, as in the input, of the comments for which the decision took "
        "effect. Each decision that failed has an error in `userErrors`."
    )
    unpublished_ids: list[strawberry.ID] = strawberry.field(
        description="Global `id`s of the rejected `Comment`s. Remove them from cached lists of "
        "published comments."
    )
    queue_entry_ids: list[strawberry.ID] = strawberry.field(
        description="`id`s of the decided comments' rows in `moderationQueue`. Remove the rows "
        "from cached queues."
    )
    products: list[Product] = strawberry.field(
        description="Products of these comments, each once. Their `statistics` are read after the "
        "decisions, so they include the decisions, except on servers whose counts lag.",
        metadata=facts(reads=listed(5, MOST_DECISIONS)),
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `reportComment`.")
class ReportCommentPayload:
    """The GraphQL type of what ``features.moderation.resolvers.report_comment`` returns."""

    reported_id: strawberry.ID | None = strawberry.field(
        description="`id` of the comment, as in the input; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class ModerationMutation:
    """Binds each mutation to its resolver."""

    approve_comment: ApproveCommentPayload | None = mutation(
        resolver=moderation.approve_comment,
        description="Publish a submission, or keep a published comment and close its reports. A "
        "published comment without open reports stays unchanged. Only for moderators.",
    )
    reject_comment: RejectCommentPayload | None = mutation(
        resolver=moderation.reject_comment,
        description="Reject a submission or a published comment, which is then no longer "
        "published. The author sees the reason. Only for moderators.",
    )
    decide_comments: DecideCommentsPayload | None = mutation(
        resolver=moderation.decide_comments,
        description="Decide on up to 25 comments. Each decision has the effect of "
        "`approveComment` or `rejectComment`. Only for moderators.",
        metadata=facts(reads=Reads(5 * MOST_DECISIONS, most_requests=20 * MOST_DECISIONS)),
    )
    report_comment: ReportCommentPayload | None = mutation(
        resolver=moderation.report_comment,
        description="Report another user's published comment to the moderators. A user's second "
        "report of the same comment changes nothing. After several reports, by default 5, the "
        "comment is hidden until a moderator decides. If a moderator has already approved this "
        "version of the comment, it stays visible.",
    )
