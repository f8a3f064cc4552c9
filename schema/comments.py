"""Comments and their products, shown straight from the domain objects."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

import strawberry

from analytics import questions
from dal import model
from dal.query import pagination
from dal.statistics import counts
from resolvers import analytics, authors, comments, products, users
from schema.analytics import Trend
from schema.connections import Connection, Edge, Node
from schema.errors import USER_ERRORS, UserError
from schema.statistics import CommentStatistics


@strawberry.type(
    description="What everybody may know of somebody who wrote something. It is no Node: an author "
    "exists by name, and any well-formed name answers."
)
class Author:
    """Shows dal.model.User to everybody."""

    username: str = strawberry.field(
        description="The name under which the person signs in and writes; unique."
    )
    comments: pagination.Page[model.Comment] | None = strawberry.field(
        resolver=authors.comments,
        graphql_type=Annotated["CommentConnection", strawberry.lazy(__name__)] | None,
        description="The author's comments on any product, by date.",
    )


@strawberry.type(
    description="What one person said of one product.",
)
class Comment(Node):
    """Shows dal.model.Comment."""

    shows: ClassVar = model.Comment
    comment_id: str = strawberry.field(
        description="Its own id, which its address on the pages holds too."
    )
    product: model.Product = strawberry.field(
        resolver=products.product_of,
        graphql_type=Annotated["Product", strawberry.lazy(__name__)],
        description="What it is on. In the payload of a mutation its statistics count the "
        "comment already.",
    )
    title: str = strawberry.field(description="A line to stand above the text; may be empty.")
    text: str = strawberry.field(
        description="Plain text as it was written, of up to 10,000 characters: not HTML."
    )
    username: str = strawberry.field(description="Who wrote it.")
    author: model.User = strawberry.field(
        resolver=users.user_of,
        graphql_type=Author,
        description="Who wrote it, as an object that a component can have a fragment on.",
    )
    rating: int = strawberry.field(description="From 1 to 5.")
    language: str = strawberry.field(description="A BCP 47 tag.")
    created_at: datetime = strawberry.field(
        description="When it was added; lists go by this, and it never changes."
    )
    updated_at: datetime | None = strawberry.field(
        description="When it was last changed; null if it never was."
    )
    verified_purchase: bool = strawberry.field(
        description="Whether the author had received the product when commenting."
    )


@strawberry.type(description="One page of a list.")
class CommentConnection(Connection[Comment]):
    """Shows dal.query.pagination.Page of comments."""

    total_count: int | None = strawberry.field(
        description="How many comments pass the filters, on all pages; exact. It is null with "
        "dates, unless there is no comment, as comments are not counted by time; and while "
        "counters are rebuilt or follow the table's stream, as they lag then. Of an author's it is "
        "always null."
    )


@strawberry.type(
    description="A product exists by name: any well-formed identifier answers.",
)
class Product(Node):
    """Shows dal.model.Product."""

    shows: ClassVar = model.Product
    product_id: str = strawberry.field(description="The shop's own id of it.")
    title: str | None = strawberry.field(
        resolver=products.title, description="What the shop calls it; null where it has not said."
    )
    picture_url: str | None = strawberry.field(
        resolver=products.picture_url,
        description="A picture of it: an https address, or a path below the server's root. Null "
        "where the shop has set none.",
    )
    url: str | None = strawberry.field(
        resolver=products.url,
        description="Where the shop shows it: an https address, or a path below the server's root. "
        "Null where it has set none.",
    )
    comments: pagination.Page[model.Comment] | None = strawberry.field(
        resolver=products.comments,
        graphql_type=CommentConnection | None,
        description="The comments of the product. Lists filter by any of their values, and an "
        "empty list selects nothing. Cursors stay good under other filters, dates and orders.",
    )
    statistics: counts.CommentStatistics | None = strawberry.field(
        resolver=products.statistics,
        graphql_type=CommentStatistics | None,
        description="Counts over all languages, or over those listed; null where nobody has "
        "counted any yet, as before the first rebuild in stream mode.",
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
        description="When the newest comment was added; null without comments.",
    )
    trend: questions.Trend | None = strawberry.field(
        resolver=analytics.trend,
        graphql_type=Trend | None,
        description="The comments over time, from the analytics store: null, and UNAVAILABLE, "
        "where the server has none or it is away. It may lag behind `statistics`.",
    )


@strawberry.type(description="What became of a change of a product.")
class UpdateProductPayload:
    """Shows resolvers.products.ProductPayload."""

    product: Product | None = strawberry.field(
        description="As it is now; null if nothing was changed."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="What became of a new comment.")
class AddCommentPayload:
    """Shows resolvers.comments.CommentPayload."""

    comment: Comment | None = strawberry.field(description="As it is stored; null if it is not.")
    comment_edge: Edge[Comment] | None = strawberry.field(
        description="Ready to be inserted in a list: an index may lag a write."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="What became of a change of a comment.")
class UpdateCommentPayload(AddCommentPayload):
    """Shows resolvers.comments.CommentPayload."""


@strawberry.type(description="What became of a deletion.")
class DeleteCommentPayload:
    """Shows resolvers.comments.DeletePayload."""

    deleted_id: strawberry.ID | None = strawberry.field(
        description="The global id of the comment that is gone: take it out of every list."
    )
    product: Product | None = strawberry.field(
        description="What the comment was on; its statistics are those without it."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class CommentMutation:
    """Binds each mutation to its resolver."""

    add_comment: comments.CommentPayload | None = strawberry.mutation(
        resolver=comments.add_comment,
        graphql_type=AddCommentPayload | None,
        description="Comment on a product as the user of the JWT.",
    )
    update_comment: comments.CommentPayload | None = strawberry.mutation(
        resolver=comments.update_comment,
        graphql_type=UpdateCommentPayload | None,
        description="Change a comment as its author or as a moderator.",
    )
    delete_comment: comments.DeletePayload | None = strawberry.mutation(
        resolver=comments.delete_comment,
        graphql_type=DeleteCommentPayload | None,
        description="Delete a comment as its author or as a moderator.",
    )


@strawberry.type
class ProductMutation:
    """Binds each mutation to its resolver."""

    update_product: products.ProductPayload | None = strawberry.mutation(
        resolver=products.update_product,
        graphql_type=UpdateProductPayload | None,
        description="Set a product's title, picture and address, as staff.",
    )
