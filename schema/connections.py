"""Relay's Node, Edge and Connection, and the plan of a page.

A field without a resolver is an attribute of the domain object. A field with a resolver is
annotated with what the resolver returns and shows as its ``graphql_type``.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

import strawberry

from dal.query import execution_stats, trace
from dal.query.reasons import ReasonCode
from resolvers import connections, node_ids, plans

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
    skip_reason: str | None = strawberry.field(
        description="Why not; null where something was read."
    )


@strawberry.type(description="A row that was read for a page, shown or not.")
class RowReading:
    """Shows dal.query.trace.RowRead."""

    position: str = strawberry.field(
        description="Where it stands in the list: what its sort key ends in, the time and the id "
        "as a rule."
    )
    segment: int = strawberry.field(
        description="Which of the plan's segments it came from, from 0 on."
    )
    refill: int = strawberry.field(
        description="0 if the segment's first Query brought it, else which refill did."
    )
    outcome: trace.RowOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="A plan that was carried out for a page.")
class PlanStep:
    """Shows dal.query.trace.Step."""

    purpose: trace.Purpose = strawberry.field(description="What for.")
    index: str = strawberry.field(description="The index that it read, or `table`.")
    segments: int = strawberry.field(
        description="How many of the plan's segments are its: those of all steps follow each other."
    )


@strawberry.type(description="A key range of a partition that an alternative would have read.")
class KeyRange:
    """Shows dal.query.trace.KeyRange."""

    partition_key: str = strawberry.field(
        description="The partition, as DynamoDB has it in the index."
    )
    range: str = strawberry.field(description="The sort keys.")
    limit: int = strawberry.field(description="The rows that would have been asked for at first.")
    expected_rows: float | None = strawberry.field(
        description="The rows expected of that; null where nothing is known of them."
    )


@strawberry.type(description="An index that the optimizer weighed for a page, or could not use.")
class PlanAlternative:
    """Shows dal.query.trace.Alternative."""

    index: str = strawberry.field(description="The index, or `table`.")
    residual: list[str] = strawberry.field(
        description="The filters that its partitions leave to the rows read."
    )
    segments: list[trace.KeyRange] = strawberry.field(
        graphql_type=list[KeyRange],
        description="The key ranges to read; none where it cannot answer.",
    )
    expected_rows: float | None = strawberry.field(
        description="The rows that its first Queries were expected to return; null where it was "
        "not weighed."
    )
    estimated_capacity: float | None = strawberry.field(
        description="What it was expected to take, in read capacity units."
    )
    cost: float | None = strawberry.field(
        description="What the optimizer compares: the capacity and, in the same units, what each "
        "Query and each row takes besides. Null where it was not weighed, and where no row is "
        "expected to pass."
    )
    chosen: bool = strawberry.field(description="Whether the page was read by it.")
    reason: str = strawberry.field(description="Why it was chosen, or why not, in a sentence.")
    reason_code: ReasonCode = strawberry.field(
        description="What the sentence says: for whoever says it in another language."
    )
    reason_values: list[str] = strawberry.field(
        description="The names and numbers in the sentence, in its order; several names are one "
        "value, with commas between them."
    )


@strawberry.type(description="What another way of reading the page takes.")
class ReadFigures:
    """Shows dal.query.trace.ReadFigures."""

    requests: int = strawberry.field(description="Calls of DynamoDB.")
    items_read: float = strawberry.field(description="The rows that DynamoDB would return.")
    capacity: float = strawberry.field(description="In read capacity units.")


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
    consumed_capacity: float | None = strawberry.field(
        resolver=connections.consumed_capacity,
        description="In read capacity units; null where the endpoint does not tell.",
    )
    estimated_capacity: float | None = strawberry.field(
        description="What the planner expected; null where it had nothing to choose or to go by."
    )
    residual: list[str] = strawberry.field(
        description="The filters that no partition covers, applied to the rows read."
    )
    planning_requests: int = strawberry.field(
        description="Calls for statistics, which serve the pages of some seconds."
    )
    planning_capacity: float | None = strawberry.field(
        resolver=connections.planning_capacity,
        description="What these calls took, in read capacity units; null where the endpoint does "
        "not tell.",
    )
    steps: list[trace.Step] = strawberry.field(
        resolver=plans.steps,
        graphql_type=list[PlanStep],
        description="What was carried out, in order: the plan of the page, one for the rest where "
        "that was planned anew, and those that tell what lies around the page.",
    )
    rows: list[trace.RowRead] = strawberry.field(
        resolver=plans.rows,
        graphql_type=list[RowReading],
        description="Every row that was read, in the list's order.",
    )
    alternatives: list[trace.Alternative] = strawberry.field(
        resolver=plans.alternatives,
        graphql_type=list[PlanAlternative],
        description="What the optimizer weighed: the chosen index, the others by their cost, and "
        "those that cannot answer.",
    )
    full_pages: trace.ReadFigures | None = strawberry.field(
        resolver=plans.full_pages,
        graphql_type=ReadFigures | None,
        description="What it takes to ask every partition of the exact index for a full page: "
        "measured where this page asked for as much, else estimated.",
    )
    ideal: trace.ReadFigures | None = strawberry.field(
        resolver=plans.ideal,
        graphql_type=ReadFigures | None,
        description="What one Query takes that reads exactly the page's rows.",
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
        description="How the page was read; null unless the server explains its plans.",
    )
