"""Relay's Node, Edge and Connection, and the plan of a page.

A field without a resolver is an attribute of the domain object. A field with a resolver is
annotated with what the resolver returns and shows as its ``graphql_type``.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

import strawberry

from dal.query import execution_stats
from resolvers import connections, node_ids

Row = TypeVar("Row")


@strawberry.interface(description="An object with an id of its own across the whole API.")
class Node:
    """Relay's Node interface; each of its types names the domain objects that it shows."""

    shows: ClassVar[type]

    @classmethod
    def is_type_of(cls, value: object, _: object) -> bool:
        """Tell whose object ``value`` is."""
        return isinstance(value, cls.shows)

    id: strawberry.ID = strawberry.field(
        resolver=node_ids.node_id,
        description="Names the object across all types, for caches, for `node` and for mutations. "
        "Do not take it apart.",
    )


@strawberry.type(description="What lies around a page; both flags are exact.")
class PageInfo:
    """Shows dal.query.pagination.PageInfo."""

    has_next_page: bool = strawberry.field(description="Whether rows follow the page.")
    has_previous_page: bool = strawberry.field(description="Whether rows precede the page.")
    start_cursor: str | None = strawberry.field(
        description="The cursor of the first row, to go on as `before`; null on an empty page."
    )
    end_cursor: str | None = strawberry.field(
        description="The cursor of the last row, to go on as `after`; null on an empty page."
    )


@strawberry.type(description="What was read of one contiguous key range of one partition.")
class SegmentReading:
    """Shows dal.query.execution_stats.SegmentStatistics."""

    partition_key: str = strawberry.field(
        description="The partition, as DynamoDB has it in the index."
    )
    range: str = strawberry.field(
        description="The sort keys that were read. They end with the page where its rows had been "
        "read before."
    )
    limit: int = strawberry.field(description="The rows asked for at first.")
    items_read: int = strawberry.field(description="The rows that DynamoDB returned.")
    refills: int = strawberry.field(description="How often it ran dry before the page was full.")
    skipped: bool = strawberry.field(description="Whether nothing needed to be read.")


@strawberry.type(description="How a page was read.")
class QueryPlan:
    """Shows dal.query.execution_stats.ExecutionStatistics."""

    access_pattern: str = strawberry.field(
        description="The name of the question, as docs/access-patterns.md lists them."
    )
    index: str = strawberry.field(description="The index that was read, or `table`.")
    segments: list[SegmentReading] = strawberry.field(
        description="The key ranges that the page was merged from."
    )
    requests: int = strawberry.field(description="Calls of DynamoDB.")
    items_read: int = strawberry.field(
        description="The rows that DynamoDB returned, of all segments."
    )
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
    planning_capacity: float = strawberry.field(
        description="What these calls took, in read capacity units."
    )


@strawberry.type(description="A row of a list, and the cursor to go on from it.")
class Edge(Generic[Row]):
    """Shows dal.query.pagination.Edge."""

    node: Row = strawberry.field(description="What stands in this row.")
    cursor: str = strawberry.field(
        description="Where the row stands: `after` or `before` it another page begins."
    )


@strawberry.type(description="One page of a list.")
class Connection(Generic[Row]):
    """Shows dal.query.pagination.Page."""

    edges: list[Edge[Row]] = strawberry.field(
        resolver=connections.edges, description="The rows of the page, each with its cursor."
    )
    nodes: list[Row] = strawberry.field(
        resolver=connections.nodes, description="The rows of the page alone."
    )
    page_info: PageInfo = strawberry.field(
        description="What lies around the page. Flags are worked out only if they are selected."
    )
    plan: execution_stats.ExecutionStatistics | None = strawberry.field(
        resolver=connections.plan,
        graphql_type=QueryPlan | None,
        description="How the page was read; null unless the server runs with --explain.",
    )
