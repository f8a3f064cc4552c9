"""The GraphQL types of a page's plan: how it was read, and which indexes were considered."""

from __future__ import annotations

import strawberry

from dal.query import trace
from dal.query.plan import ReasonCode
from resolvers import plans
from schema.types import show_enum

show_enum(
    trace.RowOutcome,
    "What the server did with a row it read.",
    {
        trace.RowOutcome.SHOWN: "Returned on the page.",
        trace.RowOutcome.FILTERED: "Dropped by a filter that the index does not cover.",
        trace.RowOutcome.AROUND: "Matches the filters but lies outside the page: read for a "
        "pagination flag, or in case the page needed more rows.",
        trace.RowOutcome.HEAD: "The list's head item, such as an organisation, which the "
        "server reads in the same Query as the rows.",
    },
)
show_enum(
    trace.Purpose,
    "Purpose of a step.",
    {
        trace.Purpose.PAGE: "Read the page.",
        trace.Purpose.REST: "Read the rest of the page, after the first plan's estimate was wrong.",
        trace.Purpose.FLAGS: "Compute the pagination flags.",
    },
    name="PlanPurpose",
)
REASONS = {code.name: code.value for code in ReasonCode}
"""The sentence of each reason code. The pages translate these sentences."""

show_enum(
    ReasonCode,
    "Why the optimizer chose or rejected an index.",
    {code: code.value.replace("{}", "…") for code in ReasonCode},
    name="PlanReason",
)


@strawberry.type(description="One contiguous key range of one partition that was read.")
class SegmentReading:
    """The GraphQL type of ``dal.query.trace.SegmentStatistics``."""

    partition_key: str = strawberry.field(description="Partition key in the index.")
    range: str = strawberry.field(
        description="Range of sort keys that the server queried. If the server remembers this page "
        "from an earlier read, the range ends at the page's last row."
    )
    limit: int = strawberry.field(description="`Limit` of the first Query.")
    items_read: int = strawberry.field(description="Number of rows DynamoDB returned.")
    refills: int = strawberry.field(
        description="Number of further Queries, sent because the first rows did not fill the page."
    )
    skipped: bool = strawberry.field(description="Whether the segment was not read.")
    skip_reason: str | None = strawberry.field(
        description="Why the segment was not read; null if it was."
    )


@strawberry.type(description="A row that was read for a page, returned or not.")
class RowReading:
    """The GraphQL type of ``dal.query.trace.RowRead``."""

    position: str = strawberry.field(
        description="Position in the list: the end of the sort key, usually time and id."
    )
    segment: int = strawberry.field(description="Number of the segment in `segments`, from 0.")
    refill: int = strawberry.field(
        description="0 if the segment's first Query returned the row, 1 for the first further "
        "Query, and so on."
    )
    outcome: trace.RowOutcome = strawberry.field(description="What the server did with the row.")


@strawberry.type(description="One executed step of a page's plan.")
class PlanStep:
    """The GraphQL type of ``dal.query.trace.Step``."""

    purpose: trace.Purpose = strawberry.field(description="Purpose of the step.")
    index: str = strawberry.field(description="Index that the step read, or `table`.")
    segments: int = strawberry.field(
        description="Number of entries of `segments` that belong to this step. `segments` lists "
        "the steps' segments in order."
    )


@strawberry.type(description="A key range that an alternative would read.")
class KeyRange:
    """The GraphQL type of ``dal.query.trace.KeyRange``."""

    partition_key: str = strawberry.field(description="Partition key in the index.")
    range: str = strawberry.field(description="Range of sort keys.")
    limit: int = strawberry.field(description="`Limit` of the first Query.")
    expected_rows: float | None = strawberry.field(
        description="Estimated number of rows that the first Query returns; null without "
        "statistics."
    )


@strawberry.type(description="An index the optimizer considered for a page.")
class PlanAlternative:
    """The GraphQL type of ``dal.query.trace.Alternative``."""

    index: str = strawberry.field(description="Index name, or `table`.")
    residual: list[str] = strawberry.field(
        description="Filters that the index does not cover; the server applies them to the rows "
        "read."
    )
    segments: list[trace.KeyRange] = strawberry.field(
        graphql_type=list[KeyRange],
        description="Key ranges to read; empty if the index cannot answer.",
    )
    expected_rows: float | None = strawberry.field(
        description="Estimated number of rows that the first Queries of its key ranges "
        "return; null without an estimate."
    )
    estimated_capacity: float | None = strawberry.field(
        description="Estimate in read capacity units."
    )
    cost: float | None = strawberry.field(
        description="Cost by which the optimizer compares indexes, in read capacity units: "
        "the estimated capacity, plus a charge for each Query and each row. Null "
        "without an estimate, or if the optimizer expects no matching row."
    )
    chosen: bool = strawberry.field(description="Whether the optimizer chose this index.")
    reason: str = strawberry.field(
        description="Why the index was chosen or rejected, as a sentence."
    )
    reason_code: ReasonCode = strawberry.field(description="The reason as a code, for translation.")
    reason_values: list[str] = strawberry.field(
        description="Names and numbers in `reason`, in order. Several names form one value, "
        "separated by commas."
    )


@strawberry.type(description="Cost of reading the page in another way.")
class ReadFigures:
    """The GraphQL type of ``dal.query.trace.ReadFigures``."""

    requests: int = strawberry.field(description="Number of DynamoDB requests.")
    items_read: float = strawberry.field(description="Number of rows DynamoDB would return.")
    capacity: float = strawberry.field(description="Read capacity units.")


@strawberry.type(description="How a page was read.")
class QueryPlan:
    """The GraphQL type of ``dal.query.trace.ExecutionStatistics``."""

    access_pattern: str = strawberry.field(
        description="Name of the access pattern in docs/access-patterns.md."
    )
    index: str = strawberry.field(description="Index that was read, or `table`.")
    segments: list[SegmentReading] = strawberry.field(
        description="Key ranges that were merged into the page."
    )
    requests: int = strawberry.field(description="Number of DynamoDB requests.")
    items_read: int = strawberry.field(
        description="Number of rows DynamoDB returned for all segments."
    )
    consumed_capacity: float | None = strawberry.field(
        resolver=plans.consumed_capacity,
        description="Read capacity units consumed; null if the endpoint does not report them.",
    )
    estimated_capacity: float | None = strawberry.field(
        description="Estimated read capacity units; null without statistics or alternatives."
    )
    residual: list[str] = strawberry.field(
        description="Filters that the index does not cover, applied to the rows read."
    )
    planning_requests: int = strawberry.field(
        description="Number of DynamoDB requests for statistics, which are cached for some seconds."
    )
    planning_capacity: float | None = strawberry.field(
        resolver=plans.planning_capacity,
        description="Read capacity units consumed for statistics; null if the endpoint does not "
        "report them.",
    )
    steps: list[trace.Step] = strawberry.field(
        resolver=plans.steps,
        graphql_type=list[PlanStep],
        description="Executed steps, in order: the page, the rest of the page if it was planned "
        "again, and the pagination flags.",
    )
    rows: list[trace.RowRead] = strawberry.field(
        resolver=plans.rows,
        graphql_type=list[RowReading],
        description="Every row that was read, in list order.",
    )
    alternatives: list[trace.Alternative] = strawberry.field(
        resolver=plans.alternatives,
        graphql_type=list[PlanAlternative],
        description="Indexes that the optimizer considered: the chosen index, the others by cost, "
        "then the indexes that cannot answer the query.",
    )
    full_pages: trace.ReadFigures | None = strawberry.field(
        resolver=plans.full_pages,
        graphql_type=ReadFigures | None,
        description="Cost of reading a full page from every partition of the index that covers all "
        "filters. Measured if this page was read in this way, otherwise estimated.",
    )
    ideal: trace.ReadFigures | None = strawberry.field(
        resolver=plans.ideal,
        graphql_type=ReadFigures | None,
        description="Cost of one Query that reads exactly the page's rows.",
    )
