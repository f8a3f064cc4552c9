"""Object types, shown straight from the domain objects: a field without a resolver is an attribute.

A field with a resolver is annotated with what the resolver returns and shows as its
``graphql_type``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Generic, TypeVar

import strawberry

from dal import model, pages, reading
from dal.statistics import Statistics
from resolvers import node_ids, plans, products
from schema.statistics import CommentStatistics

Row = TypeVar("Row")


@strawberry.interface(description="An object with an id of its own across the whole API.")
class Node:
    """Relay's Node interface."""

    id: strawberry.ID


@strawberry.type(description="What lies around a page; both flags are exact.")
class PageInfo:
    """Shows dal.pages.PageInfo."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@strawberry.type(description="What was read of one contiguous key range of one partition.")
class SegmentReading:
    """Shows dal.reading.SegmentReading."""

    partition_key: str
    range: str = strawberry.field(
        description="The sort keys that were read. They end with the page where its rows had been "
        "read before."
    )
    limit: int = strawberry.field(description="The rows asked for at first.")
    items_read: int
    refills: int = strawberry.field(description="How often it ran dry before the page was full.")
    skipped: bool = strawberry.field(description="Whether nothing needed to be read.")


@strawberry.type(description="How a page was read.")
class QueryPlan:
    """Shows dal.reading.Reading."""

    access_pattern: str
    index: str
    segments: list[SegmentReading]
    requests: int = strawberry.field(description="Calls of DynamoDB.")
    items_read: int
    consumed_capacity: float = strawberry.field(description="In read capacity units.")
    estimated_capacity: float | None = strawberry.field(
        description="What the planner expected; null where it had nothing to choose or to go by."
    )
    residual: list[str] = strawberry.field(
        description="The filters that no partition covers, applied to the rows read."
    )
    planning_requests: int = strawberry.field(
        description="Calls for statistics, which serve the pages of some seconds."
    )
    planning_capacity: float


@strawberry.type(description="A row of a list, and the cursor to go on from it.")
class Edge(Generic[Row]):
    """Shows dal.pages.Edge."""

    node: Row
    cursor: str


@strawberry.type(description="One page of a list.")
class Connection(Generic[Row]):
    """Shows dal.pages.Page."""

    edges: list[Edge[Row]]
    nodes: list[Row]
    page_info: PageInfo
    plan: reading.Reading | None = strawberry.field(
        resolver=plans.plan,
        graphql_type=QueryPlan | None,
        description="How the page was read; null unless the server runs with --explain.",
    )


@strawberry.type(
    description="What one person said of one product.",
)
class Comment(Node):
    """Shows dal.model.Comment."""

    @classmethod
    def is_type_of(cls, value: object, _: object) -> bool:
        """Tell the Node interface whose object ``value`` is."""
        return isinstance(value, model.Comment)

    id: strawberry.ID = strawberry.field(resolver=node_ids.comment_node_id)
    comment_id: str
    product: model.Product = strawberry.field(
        resolver=products.product_of, graphql_type=Annotated["Product", strawberry.lazy(__name__)]
    )
    title: str
    text: str
    username: str
    rating: int = strawberry.field(description="From 1 to 5.")
    language: str = strawberry.field(description="A BCP 47 tag.")
    created_at: datetime
    updated_at: datetime | None
    verified_purchase: bool = strawberry.field(
        description="Whether the author had received the product when commenting."
    )


@strawberry.type(description="One page of a list.")
class CommentConnection(Connection[Comment]):
    """Shows dal.pages.Page of comments."""

    total_count: int = strawberry.field(
        description="How many comments pass the filters, on all pages; exact."
    )


@strawberry.type(
    description="A product exists by name: any well-formed identifier answers.",
)
class Product(Node):
    """Shows dal.model.Product."""

    @classmethod
    def is_type_of(cls, value: object, _: object) -> bool:
        """Tell the Node interface whose object ``value`` is."""
        return isinstance(value, model.Product)

    id: strawberry.ID = strawberry.field(resolver=node_ids.product_node_id)
    product_id: str
    comments: pages.Page[model.Comment] = strawberry.field(
        resolver=products.comments,
        graphql_type=CommentConnection,
        description="The comments of the product, newest first; lists filter by any of their "
        "values, and an empty list selects nothing.",
    )
    statistics: Statistics = strawberry.field(
        resolver=products.statistics,
        graphql_type=CommentStatistics,
        description="Counts over all languages, or over those listed.",
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
    last_commented_at: datetime | None = strawberry.field(resolver=products.last_commented_at)
