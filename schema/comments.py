"""Comments and their products, shown straight from the domain objects."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

import strawberry

from dal import model
from dal.analytics import questions
from dal.query import pagination
from dal.statistics import counts
from resolvers import analytics, authors, comments, products, users
from schema.analytics import Trend
from schema.connections import Connection, Edge, Node
from schema.statistics import CommentStatistics
from schema.user_errors import USER_ERRORS, UserError


@strawberry.type(
    description="The public part of a user. An author exists for every valid user name, and is not "
    "a Node."
)
class Author:
    """Shows dal.model.User to everybody."""

    username: str = strawberry.field(description="Unique user name, as used to sign in.")
    comments: pagination.Page[model.Comment] | None = strawberry.field(
        resolver=authors.comments,
        graphql_type=Annotated["CommentConnection", strawberry.lazy(__name__)] | None,
        description="The author's comments on all products, by date.",
    )


@strawberry.type(
    description="A customer's comment on a product.",
)
class Comment(Node):
    """Shows dal.model.Comment."""

    shows: ClassVar = model.Comment
    comment_id: str = strawberry.field(
        description="Comment id, as in the URL of the comment's page."
    )
    product: model.Product = strawberry.field(
        resolver=products.product_of,
        graphql_type=Annotated["Product", strawberry.lazy(__name__)],
        description="The product commented on. In a mutation's payload its statistics include the "
        "change.",
    )
    title: str = strawberry.field(description="Title; may be empty. Maximum 200 characters.")
    text: str = strawberry.field(description="Plain text, not HTML. Maximum 10,000 characters.")
    username: str = strawberry.field(description="User name of the author.")
    author: model.User = strawberry.field(
        resolver=users.user_of,
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


@strawberry.type(description="One page of a list.")
class CommentConnection(Connection[Comment]):
    """Shows dal.query.pagination.Page of comments."""

    total_count: int | None = strawberry.field(
        description="Exact number of comments that match the filters, on all pages. Null with "
        "dates, since comments are not counted by time, unless the product has none; null for an "
        "author's comments; null while counters are rebuilt or follow the table's stream."
    )


@strawberry.type(
    description="A product. A product exists for every valid product id.",
)
class Product(Node):
    """Shows dal.model.Product."""

    shows: ClassVar = model.Product
    product_id: str = strawberry.field(description="The shop's product id.")
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
        "filters, dates and orders.",
    )
    statistics: counts.CommentStatistics | None = strawberry.field(
        resolver=products.statistics,
        graphql_type=CommentStatistics | None,
        description="Counts over all languages, or over those listed. Null until counters exist, "
        "as before the first rebuild in stream mode.",
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
    last_commented_at: datetime | None = strawberry.field(
        resolver=products.last_commented_at,
        description="Creation time of the newest comment; null without comments.",
    )
    trend: questions.Trend | None = strawberry.field(
        resolver=analytics.trend,
        graphql_type=Trend | None,
        description="Comments over time, from the analytics store. Null with the error UNAVAILABLE "
        "if the store is missing or unreachable. May lag `statistics`.",
    )


@strawberry.type(description="Result of `updateProduct`.")
class UpdateProductPayload:
    """Shows resolvers.products.ProductPayload."""

    product: Product | None = strawberry.field(description="The updated product; null on errors.")
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `addComment`.")
class AddCommentPayload:
    """Shows resolvers.comments.CommentPayload."""

    comment: Comment | None = strawberry.field(description="The stored comment; null on errors.")
    comment_edge: Edge[Comment] | None = strawberry.field(
        description="Edge to insert into a cached list, since an index may lag a write."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `updateComment`.")
class UpdateCommentPayload(AddCommentPayload):
    """Shows resolvers.comments.CommentPayload."""


@strawberry.type(description="Result of `deleteComment`.")
class DeleteCommentPayload:
    """Shows resolvers.comments.DeletePayload."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="Global id of the deleted comment; null on errors."
    )
    product: Product | None = strawberry.field(
        description="The product commented on. Its statistics no longer include the comment."
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


@strawberry.type
class ProductMutation:
    """Binds each mutation to its resolver."""

    update_product: products.ProductPayload | None = strawberry.mutation(
        resolver=products.update_product,
        graphql_type=UpdateProductPayload | None,
        description="Set a product's title, picture and URL. For staff.",
    )
