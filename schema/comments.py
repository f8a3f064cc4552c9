"""The GraphQL types of comments, their authors and products, live events and the leaderboard."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

import strawberry

from dal import model
from dal.analytics import questions
from dal.live import changes
from dal.model.votes import Highlights
from dal.query import pagination
from dal.query.plan import PlanBasis
from dal.statistics import counts
from resolvers import analytics, comments, json_ld, products, users, votes
from resolvers.selection import CommentOrder
from schema.statistics import CommentStatistics, Trend
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum

_JSON_LD = (
    'Insert the text as it is into `<script type="application/ld+json">`. URLs are left out '
    "if the server does not know its public address."
)

show_enum(
    CommentOrder,
    "Sort order of a product's comments. Comments with equal ratings or votes are sorted newest "
    "first.",
    {
        CommentOrder.NEWEST: "Newest first.",
        CommentOrder.OLDEST: "Oldest first.",
        CommentOrder.HIGHEST_RATING: "Highest rating first.",
        CommentOrder.LOWEST_RATING: "Lowest rating first.",
        CommentOrder.MOST_HELPFUL: "Comments with the most helpful votes first. With dates, or "
        "with filters that few comments of the product match, the server sorts at most 2,000 "
        "comments. If more comments match, the field is null with the error UNSUPPORTED_FILTER.",
    },
)
show_enum(
    PlanBasis,
    "Statistics that the optimizer may use to plan a page.",
    {
        PlanBasis.ROW_LOCATIONS: "All statistics, the default: counts and the positions of rows "
        "read before.",
        PlanBasis.COUNTS: "Counts per rating and language only, without the positions of rows.",
        PlanBasis.NOTHING: "No statistics: read the index that covers the most filters, and a full "
        "page of each of its partitions.",
        PlanBasis.FULL_PAGES: "No optimizer: read a full page of every partition of the index that "
        "covers the most filters.",
    },
)


@strawberry.type(
    description="The public part of a user. An author exists for every valid user name."
)
class Author(Node):
    """The GraphQL type of ``dal.model.Author``."""

    shows: ClassVar = model.Author
    username: str = strawberry.field(description="Unique user name: the user's id. Never changes.")
    is_known: bool | None = strawberry.field(
        resolver=users.author_is_known,
        description="Whether the author has comments. Computed only when selected.",
    )
    name: str = strawberry.field(
        resolver=users.name_of,
        description=(
            "Display name of the author. Below a comment or ticket, the name when the comment "
            "or ticket was written. Elsewhere, the name on the author's newest comment, or "
            "the user name if the author has no comments."
        ),
    )
    comments: pagination.Page[model.Comment] | None = strawberry.field(
        resolver=users.author_comments,
        graphql_type=Annotated["AuthorCommentConnection", strawberry.lazy(__name__)] | None,
        description="The author's comments on all products, by date.",
    )


@strawberry.type(description="The shop's reply to a comment.")
class Reply:
    """The GraphQL type of ``dal.model.Reply``."""

    text: str = strawberry.field(description="Plain text, not HTML. Maximum 2,000 characters.")
    created_at: datetime = strawberry.field(
        description="Time at which the shop wrote the reply. Replacing the reply sets a new time."
    )


@strawberry.type(description="A customer's photo of a product.")
class Photo:
    """The GraphQL type of ``dal.model.Photo``."""

    url: str = strawberry.field(description="URL: https, on any host. Maximum 2,048 characters.")
    alt: str = strawberry.field(
        description="What the photo shows; plain text, may be empty. Maximum 200 characters."
    )


@strawberry.type(
    description="A customer's comment on a product.",
)
class Comment(Node):
    """The GraphQL type of ``dal.model.Comment``."""

    shows: ClassVar = model.Comment
    comment_id: strawberry.ID = strawberry.field(
        description="Comment id, as in the URL of the comment's page."
    )
    product: model.Product = strawberry.field(
        resolver=products.product_of,
        graphql_type=Annotated["Product", strawberry.lazy(__name__)],
        description="The product commented on. In a mutation's payload its statistics include the "
        "change.",
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
        resolver=users.author_of,
        graphql_type=Author,
        description="The author.",
    )
    rating: int = strawberry.field(description="Rating from 1 to 5.")
    language: str = strawberry.field(description="Language, as a BCP 47 tag.")
    created_at: datetime = strawberry.field(
        description="Creation time; lists are sorted by it. Never changes."
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
        description="The shop's reply; null if there is none. Editing the comment does not "
        "remove it.",
    )
    photos: list[model.Photo] = strawberry.field(
        graphql_type=list[Photo], description="Photos, in the author's order. Maximum 10."
    )
    helpful_count: int = strawberry.field(
        description="Number of users who found the comment helpful. Includes a new vote "
        "within seconds."
    )
    viewer_found_helpful: bool | None = strawberry.field(
        resolver=votes.viewer_found_helpful,
        description="Whether the JWT's user has marked the comment as helpful; null without a JWT.",
    )
    json_ld: str | None = strawberry.field(
        resolver=json_ld.of_comment,
        description="JSON-LD for search engines: schema.org's Review, with its product. "
        + _JSON_LD,
    )


@strawberry.type(
    description="A page of an author's comments. It has no total count and no event cursor."
)
class AuthorCommentConnection(Connection[Comment]):
    """The GraphQL type of ``dal.query.pagination.Page`` of one author's comments."""


@strawberry.type(description="One page of a list.")
class CommentConnection(Connection[Comment]):
    """The GraphQL type of ``dal.query.pagination.Page`` of comments."""

    event_cursor: str | None = strawberry.field(
        description="Event cursor from before the rows were read. Pass it as `after` to "
        "`commentEvents` to receive every later change without reading the list "
        "again. A change made during the read may be on the page and also arrive "
        "as an event. A comment stored a moment before the read may be neither on "
        "the page nor in the events, because a list may lag behind writes for a "
        "moment. Null for a group, and if the server offers no subscriptions."
    )

    total_count: int | None = strawberry.field(
        description="Exact number of comments that match the filters, on all pages. Null if the "
        "server has no exact counts: while it rebuilds its counters, or if it counts from the "
        "table's stream. Null with `verifiedOnly` or `hasPhotos`. With date filters, 0 if no "
        "comment matches the other filters, otherwise null."
    )

    json_ld: str | None = strawberry.field(
        resolver=json_ld.of_page,
        description="JSON-LD for search engines: schema.org's Product with its AggregateRating, "
        "and the page's comments as Reviews. Search engines expect the same comments to be "
        "visible on the web page. Null without comments. " + _JSON_LD,
    )


@strawberry.type(
    description="A product. A product exists for every valid product id.",
)
class Product(Node):
    """The GraphQL type of ``dal.model.Product``."""

    shows: ClassVar = model.Product
    product_id: strawberry.ID = strawberry.field(description="The shop's product id.")
    is_known: bool | None = strawberry.field(
        resolver=products.is_known,
        description="Whether the product has comments, or the shop has set its title, picture or "
        "URL. Computed only when selected.",
    )
    title: str | None = strawberry.field(
        resolver=products.title, description="Title; null if the shop has set none."
    )
    picture_url: str | None = strawberry.field(
        resolver=products.picture_url,
        description="URL of a picture: https, or a path on this server. Null if the shop has set "
        "none.",
    )
    url: str | None = strawberry.field(
        resolver=products.url,
        description="URL of the product in the shop: https, or a path on this server. Null if the "
        "shop has set none.",
    )
    comments: pagination.Page[model.Comment] | None = strawberry.field(
        resolver=products.comments,
        graphql_type=CommentConnection | None,
        description="Comments on the product, filtered and sorted. Cursors stay valid under other "
        "filters and dates. NEWEST and OLDEST accept each other's cursors; otherwise, a cursor of "
        "another order fails with BAD_CURSOR. In an order by rating or votes, a comment whose "
        "rating or votes change while you read the pages may be missing, or be on two pages. Every "
        "other comment is on exactly one page.",
    )
    statistics: counts.CommentStatistics | None = strawberry.field(
        resolver=products.statistics,
        graphql_type=CommentStatistics | None,
        description="Counts of comments in the given languages, by default in all languages. "
        "Null until the server has counted the comments for the first time.",
    )
    group: model.ProductGroup | None = strawberry.field(
        resolver=products.group,
        graphql_type=Annotated["ProductGroup", strawberry.lazy("schema.groups")] | None,  # noqa: F821 - a cyclic import
        description="The group of the product's variants; null if the shop has set none.",
    )
    most_recent_positive: model.Comment | None = strawberry.field(
        resolver=products.most_recent_positive,
        graphql_type=Comment | None,
        description="The newest comment rated 4 or 5.",
    )
    most_recent_negative: model.Comment | None = strawberry.field(
        resolver=products.most_recent_negative,
        graphql_type=Comment | None,
        description="The newest comment rated 1 or 2.",
    )
    highlights: Highlights | None = strawberry.field(
        resolver=votes.highlights,
        graphql_type=Annotated["ProductHighlights", strawberry.lazy("schema.votes")] | None,  # noqa: F821 - a cyclic import
        description="The comments with the most helpful votes.",
    )
    last_commented_at: datetime | None = strawberry.field(
        resolver=products.last_commented_at,
        description="Creation time of the newest comment; null without comments.",
    )
    trend: questions.Trend | None = strawberry.field(
        resolver=analytics.trend,
        graphql_type=Trend | None,
        description="Comments over time, from the analytics store. Null with the error "
        "NOT_AVAILABLE if the server has no analytics store, and with UNAVAILABLE "
        "if the server cannot reach the store. May be older than `statistics`.",
    )


@strawberry.type(description="One page of a list.")
class ProductConnection(Connection[Product]):
    """The GraphQL type of ``dal.query.pagination.Page`` of products."""


@strawberry.type(description="A product's rank by number of comments rated 5.")
class ProductRank:
    """The GraphQL type of ``dal.model.ProductRank``."""

    product: Product = strawberry.field(description="The product.")
    count: int = strawberry.field(description="Number of comments rated 5.")
    rank: int | None = strawberry.field(
        description="Rank, starting at 1. Products with equal counts are ranked by descending "
        "product id. Null on pages that begin after the first 1,000 products."
    )


@strawberry.type(description="One page of a list.")
class LeaderboardConnection(Connection[ProductRank]):
    """The GraphQL type of ``dal.query.pagination.Page`` of products' ranks."""


show_enum(
    changes.CommentEventKind,
    "Kind of a comment event.",
    {
        changes.CommentEventKind.READY: "First event of a subscription without `after`. Read the "
        "list after this event, because the server sends only later changes.",
        changes.CommentEventKind.ADDED: "A comment entered the list: the comment is new, or an "
        "edit made it match the filters. Insert the comment at the position of its cursor, which "
        "is not always the top of the list.",
        changes.CommentEventKind.CHANGED: "A comment in the list was edited. Its position is "
        "unchanged.",
        changes.CommentEventKind.DELETED: "A comment left the list: the comment was deleted, "
        "or no longer matches the filters after an edit.",
        changes.CommentEventKind.RELOAD: "Events before this one may be missing: reload the list. "
        "The subscription continues.",
    },
)


@strawberry.type(description="A change of a product's list of comments.")
class CommentEvent:
    """The GraphQL type of ``dal.live.changes.CommentEvent``."""

    kind: changes.CommentEventKind = strawberry.field(
        description="Kind of event. It determines which of the other fields are set.",
    )
    cursor: str = strawberry.field(
        description="Event cursor: pass it to `commentEvents` as `after` to resume after this "
        "event. Not the cursor of a row."
    )
    comment_edge: pagination.Edge[model.Comment] | None = strawberry.field(
        graphql_type=Edge[Comment] | None,
        description="The current comment and its cursor in the list. Set for ADDED and CHANGED.",
    )
    deleted_id: strawberry.ID | None = strawberry.field(
        resolver=comments.deleted_id,
        description="Global id of the comment that left the list. Set for DELETED.",
    )
    edge_cursor: str | None = strawberry.field(
        description="Cursor of the comment in the list. Set for ADDED, CHANGED and DELETED."
    )


@strawberry.type(description="Result of `updateProduct`.")
class UpdateProductPayload:
    """The GraphQL type of ``resolvers.products.ProductPayload``."""

    product: Product | None = strawberry.field(description="The updated product; null on errors.")
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `addComment`.")
class AddCommentPayload:
    """The GraphQL type of ``resolvers.comments.CommentPayload``."""

    comment: Comment | None = strawberry.field(
        description="The published comment; null on errors, and if the comment waits for a "
        "moderator."
    )
    comment_edge: Edge[Comment] | None = strawberry.field(
        description="Edge to insert into a cached list. A new read of the list may not "
        "include the write yet. Null if `comment` is null."
    )
    submission: object = strawberry.field(
        graphql_type=Annotated["Submission", strawberry.lazy("schema.moderation")] | None,  # noqa: F821 - a cyclic import
        description="The comment, if it waits for a moderator; otherwise null. Lists do not "
        "include the comment. After an edit, remove it from cached lists.",
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `updateComment`.")
class UpdateCommentPayload(AddCommentPayload):
    """The GraphQL type of ``resolvers.comments.CommentPayload``."""


@strawberry.type(description="Result of `deleteComment`.")
class DeleteCommentPayload:
    """The GraphQL type of ``resolvers.comments.DeletePayload``."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="Global id of the deleted comment; null on errors."
    )
    product: Product | None = strawberry.field(
        description="The product commented on. Its statistics no longer include the comment."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `replyToComment`.")
class ReplyToCommentPayload:
    """The GraphQL type of ``resolvers.comments.ReplyPayload``."""

    comment: Comment | None = strawberry.field(
        description="The comment with its reply; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `removeReply`.")
class RemoveReplyPayload:
    """The GraphQL type of ``resolvers.comments.ReplyPayload``."""

    comment: Comment | None = strawberry.field(
        description="The comment without a reply; null on errors."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class CommentMutation:
    """Binds each mutation to its resolver."""

    add_comment: comments.CommentPayload | None = strawberry.mutation(
        resolver=comments.add_comment,
        graphql_type=AddCommentPayload | None,
        description="Add a comment as the JWT's user.",
    )
    update_comment: comments.CommentPayload | None = strawberry.mutation(
        resolver=comments.update_comment,
        graphql_type=UpdateCommentPayload | None,
        description="Edit a comment. For its author and moderators.",
    )
    delete_comment: comments.DeletePayload | None = strawberry.mutation(
        resolver=comments.delete_comment,
        graphql_type=DeleteCommentPayload | None,
        description="Delete a comment. For its author and moderators.",
    )
    reply_to_comment: comments.ReplyPayload | None = strawberry.mutation(
        resolver=comments.reply_to_comment,
        graphql_type=ReplyToCommentPayload | None,
        description="Set the shop's reply to a published comment. It replaces an earlier reply. "
        "For users with the role `merchant`.",
    )
    remove_reply: comments.ReplyPayload | None = strawberry.mutation(
        resolver=comments.remove_reply,
        graphql_type=RemoveReplyPayload | None,
        description="Remove the shop's reply from a published comment. Changes nothing without a "
        "reply. For users with the role `merchant`.",
    )


@strawberry.type
class ProductMutation:
    """Binds each mutation to its resolver."""

    update_product: products.ProductPayload | None = strawberry.mutation(
        resolver=products.update_product,
        graphql_type=UpdateProductPayload | None,
        description="Set a product's title, picture and URL. For staff.",
    )
