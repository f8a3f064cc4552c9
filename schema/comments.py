"""The GraphQL types of comments and their authors."""

from collections.abc import Awaitable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated, Any, ClassVar, TypeAlias

import strawberry

from dal import model
from dal.model.comment_fields import MAX_ASPECTS
from dal.model.rules import MAX_PHOTOS
from dal.query import pagination
from features.live import resolvers as live
from features.moderation import resolvers as moderation
from features.votes import resolvers as votes
from resolvers import comments, json_ld, products, shop_aspects, users
from resolvers.selection import CommentOrder
from schema.costs import COUNTS, NOTHING, ONCE_A_PAGE, PAGE, ROW, listed, mutation, public
from schema.execution.facts import Reads, facts
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum

_JSON_LD = (
    'Insert the text unchanged into `<script type="application/ld+json">`. URLs of this server '
    "are missing if the server does not know its public address."
)
_OWN_VOTE, _OWN_VOTES = replace(ROW, once=True), replace(ONCE_A_PAGE, once=True)


_HELPFUL_COUNTS: list[Any] = [
    partial(public, resolver=comments.helpful_count),
    partial(
        strawberry.field,
        resolver=votes.helpful_count,
        metadata=facts(reads=Reads(0, once=True), public=True),
    ),
]
"""The last one declares ``helpfulCount``. The field is public, because all clients without
credentials get the same number, and shared caches store no response to other clients."""


show_enum(
    CommentOrder,
    "Sort order of a product's comments. Of comments with the same rating or number of votes, "
    "the newest is first.",
    NEWEST="Newest first.",
    OLDEST="Oldest first.",
    HIGHEST_RATING="Highest rating first.",
    LOWEST_RATING="Lowest rating first.",
    MOST_HELPFUL="Most helpful votes first. The server can sort only about 2,000 comments if the "
    "list is filtered by date, or if only a small part of the product's comments match the "
    "filters. A longer list then fails with UNSUPPORTED_FILTER.",
)


show_enum(
    model.CommentSource,
    "Where a comment comes from.",
    SITE="The author wrote the comment on the shop's site.",
    INVITATION="The author wrote the comment after an invitation.",
    IMPORT="The comment is from a file of other software, which does not state how the author "
    "wrote it.",
)


@strawberry.type(
    description="The public data of a user who may have written comments. Every valid user name "
    "has an author; `isKnown` shows whether the author has comments."
)
class Author(Node):
    """The GraphQL type of ``dal.model.Author``."""

    shows: ClassVar = model.Author
    shared: ClassVar = True
    username: str = public(
        description="Unique user name, which is the user's id. The user name never changes."
    )
    is_known: bool | None = strawberry.field(
        resolver=users.author_is_known,
        description="Whether the author has published comments.",
        metadata=facts(reads=ROW, public=True),
    )
    name: str = strawberry.field(
        resolver=users.name_of,
        description=(
            "Display name of the author. Below a comment or ticket, the name when the comment "
            "or ticket was written. Elsewhere, the name on the author's newest published "
            "comment, or the user name if there is none."
        ),
        metadata=facts(reads=ROW, public=True),
    )
    comments: "pagination.Page[model.Comment] | None" = strawberry.field(
        resolver=users.author_comments,
        graphql_type=Annotated["AuthorCommentConnection", strawberry.lazy(__name__)] | None,
        description="The author's published comments on all products, sorted by date.",
        metadata=facts(reads=PAGE, public=True),
    )


@strawberry.type(description="The shop's reply to a comment.")
class Reply:
    """The GraphQL type of ``dal.model.Reply``."""

    text: str = public(description="Plain text, not HTML. Maximum 2,000 characters.")
    created_at: datetime = public(
        description="Time at which the shop wrote the reply. If the shop replaces the reply, the "
        "time changes."
    )


@strawberry.type(description="A customer's photo of a product.")
class Photo:
    """The GraphQL type of ``dal.model.Photo``."""

    url: str = public(
        description="HTTPS URL of the photo, on any host, or the photo's path on this server. "
        "Maximum 2,048 characters."
    )
    alt: str = public(
        description="Description of the photo for users who cannot see it. Plain text; may be "
        "empty. Maximum 200 characters."
    )


@strawberry.type(description="A customer's rating of one aspect of a product.")
class AspectRating:
    """The GraphQL type of ``dal.model.AspectRating``."""

    name: str = public(description="Name of the aspect, such as `fit`.")
    rating: int = public(description="Rating from 1 to 5.")


@strawberry.type(
    description="A customer's comment on a product.",
)
class Comment(Node):
    """The GraphQL type of ``dal.model.Comment``."""

    shows: ClassVar = model.Comment
    shared: ClassVar = True
    comment_id: strawberry.ID = public(
        description="Comment id, as in the URL of the comment's page."
    )
    product: model.Product = public(
        resolver=products.product_of,
        graphql_type=Annotated["Product", strawberry.lazy("schema.products")],
        description="The product that the comment is about. To update displayed counts after a "
        "mutation, select the product's `statistics` in the payload.",
    )
    title: str = public(description="Title; may be empty. Maximum 200 characters.")
    text: str = public(description="Plain text, not HTML; may be empty. Maximum 10,000 characters.")
    username: str = public(description="User name of the author, which is the author's id.")
    author_name: str = public(
        description="Display name of the author when the comment was added. Edits do not change it."
    )
    author: model.Author = strawberry.field(
        resolver=users.author_of,
        graphql_type=Author,
        description="The author.",
        metadata=facts(public=True, below={"name": NOTHING}),
    )
    rating: int = public(description="Rating from 1 to 5.")
    language: str = public(description="Language, as a BCP 47 tag.")
    created_at: datetime = public(
        description="Time at which the comment was added. It never changes. Lists in date order "
        "are sorted by this time."
    )
    updated_at: datetime | None = public(
        description="Time of the last edit; null if the comment was never edited."
    )
    verified_purchase: bool = public(
        description="Whether the author had received an order with the product before adding "
        "the comment."
    )
    reply: Reply | None = public(
        description="The shop's reply; null if there is none. Edits of the comment do not "
        "remove the reply.",
    )
    photos: list[Photo] = strawberry.field(
        description="Photos, in the author's order. Maximum 10.",
        metadata=facts(reads=listed(2, MAX_PHOTOS), public=True),
    )
    source: model.CommentSource = public(
        description="Where the comment comes from. Edits do not change it."
    )
    incentivized: bool = public(
        description="Whether the author received something for writing the comment, such as a "
        "discount. Laws in the USA and the EU require shops to show it to readers. Edits do not "
        "change it."
    )
    incentive: str | None = public(
        resolver=comments.incentive,
        description="What the author received, in the shop's words: plain text of 200 characters "
        "at most. Null if `incentivized` is false, or if the shop has not stated it.",
    )
    aspects: list[model.AspectRating] = strawberry.field(
        resolver=shop_aspects.of_comment,
        graphql_type=list[AspectRating],
        description="Ratings of the shop's aspects, in the shop's order. Maximum 6. Aspects that "
        "the author has not rated are missing.",
        metadata=facts(reads=listed(2, MAX_ASPECTS), public=True),
    )
    helpful_count: int = _HELPFUL_COUNTS[-1](
        description="Number of users who found the comment helpful. The signed-in user's own vote "
        "is counted at once, and other votes within seconds.",
    )
    viewer_found_helpful: "Awaitable[bool] | bool | None" = strawberry.field(
        resolver=votes.viewer_found_helpful,
        graphql_type=bool | None,
        description="Whether the signed-in user has marked the comment as helpful; null if no "
        "user is signed in.",
        metadata=facts(
            reads=_OWN_VOTE,
            under={"CommentConnection.nodes": _OWN_VOTES, "CommentEdge.node": _OWN_VOTES},
        ),
    )
    json_ld: str | None = strawberry.field(
        resolver=json_ld.of_comment,
        description="JSON-LD for search engines: a schema.org `Review` with its product. "
        + _JSON_LD,
        metadata=facts(reads=COUNTS, public=True),
    )


@strawberry.type(description="A page of an author's comments.")
class AuthorCommentConnection(Connection[Comment]):
    """The GraphQL type of ``dal.query.pagination.Page`` of one author's comments."""


@strawberry.type(description="A page of comments.")
class CommentConnection(Connection[Comment]):
    """The GraphQL type of ``dal.query.pagination.Page`` of comments."""

    event_cursor: str | None = strawberry.field(
        resolver=live.event_cursor,
        description="Event cursor from just before the server read the page. Pass it as `after` "
        "to `commentEvents` to receive all later changes without reading the list again. A "
        "change during the read may be on the page and also arrive as an event. Lists may lag "
        "behind writes for a moment. So a comment that was added just before the read may be "
        "missing both on the page and in the events. Null for the comments of a group, and if the "
        "server offers no subscriptions.",
    )

    total_count: int | None = strawberry.field(
        description="Number of comments on all pages together, exact and up to date with every "
        "filter except `createdFrom` and `createdBefore`. With these, and while the server has no "
        "exact counts, the number is known only if the query has neither `after` nor `before`, and "
        "this page contains all comments of the list; otherwise it is null.",
        metadata=facts(reads=COUNTS, public=True),
    )

    json_ld: str | None = strawberry.field(
        resolver=json_ld.of_page,
        description="JSON-LD for search engines: a schema.org `Product` with its "
        "`AggregateRating`, and the page's comments as `Review`s. For a group, one `Product` for "
        "each product with comments on the page. Search engines expect the web page to show the "
        "same comments. Null if the page has no comments. " + _JSON_LD,
        metadata=facts(reads=COUNTS, public=True),
    )


CHANGED_PRODUCT = (
    "The comment's product. Its `statistics` are read after the write, so they include the write, "
    "except on servers whose counts lag. Select them to update displayed counts. Null on errors."
)
"""The description of ``product`` in the payloads of writes of comments."""

_ChangedProduct: TypeAlias = Annotated[
    model.Product | None,
    strawberry.field(
        graphql_type=Annotated["Product", strawberry.lazy("schema.products")] | None,
        description=CHANGED_PRODUCT,
    ),
]


@strawberry.type(description="Result of `addComment`.")
class AddCommentPayload:
    """The GraphQL type of what ``resolvers.comments.add_comment`` returns."""

    comment: Comment | None = strawberry.field(
        description="The published comment; null on errors, and if the comment waits for a "
        "moderator."
    )
    comment_edge: Edge[Comment] | None = strawberry.field(
        description="The comment's edge. Insert the edge into cached lists instead of reading them "
        "again, because lists may lack the change for a moment. Null if `comment` is null."
    )
    submission: object = strawberry.field(
        graphql_type=Annotated["Submission", strawberry.lazy("features.moderation.types")] | None,
        description="The comment, if it waits for a moderator; otherwise null. Lists do not "
        "show a waiting comment.",
    )
    product: _ChangedProduct
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `updateComment`.")
class UpdateCommentPayload(AddCommentPayload):
    """The GraphQL type of what ``resolvers.comments.update_comment`` returns."""

    unpublished_id: strawberry.ID | None = strawberry.field(
        resolver=moderation.unpublished_id,
        description="Global `id` of the `Comment`, if the edit waits for a moderator; otherwise "
        "null. Remove the comment from cached lists.",
    )


@strawberry.type(description="Result of `deleteComment`.")
class DeleteCommentPayload:
    """The GraphQL type of what ``resolvers.comments.delete_comment`` returns."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="Global `id` of the deleted comment or submission; null on errors."
    )
    product: _ChangedProduct
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `replyToComment`.")
class ReplyToCommentPayload:
    """The GraphQL type of what ``resolvers.comments.reply_to_comment`` returns."""

    comment: Comment | None = strawberry.field(
        description="The comment with its reply; null on errors."
    )
    product: _ChangedProduct
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `removeReply`.")
class RemoveReplyPayload(ReplyToCommentPayload):
    """The GraphQL type of what ``resolvers.comments.remove_reply`` returns."""

    comment: Comment | None = strawberry.field(
        description="The comment without a reply; null on errors."
    )


@strawberry.type
class CommentMutation:
    """Binds each mutation to its resolver."""

    add_comment: AddCommentPayload | None = mutation(
        resolver=comments.add_comment,
        description="Add a comment. Its author is the signed-in user.",
    )
    update_comment: UpdateCommentPayload | None = mutation(
        resolver=comments.update_comment,
        description="Edit a comment. Only for its author and moderators.",
    )
    delete_comment: DeleteCommentPayload | None = mutation(
        resolver=comments.delete_comment,
        description="Delete a comment. Only for its author and moderators.",
    )
    reply_to_comment: ReplyToCommentPayload | None = mutation(
        resolver=comments.reply_to_comment,
        description="Reply to a published comment in the name of the shop. A new reply replaces "
        "an earlier reply. Only for users with the role `merchant`.",
    )
    remove_reply: RemoveReplyPayload | None = mutation(
        resolver=comments.remove_reply,
        description="Remove the shop's reply from a published comment. If the comment has no "
        "reply, nothing changes. Only for users with the role `merchant`.",
    )
