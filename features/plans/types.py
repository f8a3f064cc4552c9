"""The GraphQL types of a page's plan: what the server read, and which indexes it considered."""

import strawberry

from dal.query.plan import MAX_SEGMENTS
from dal.query.statistics import Purpose
from features.plans import alternatives as compared
from features.plans import resolvers as plans
from features.plans import trace
from features.plans.reasons import ReasonCode
from schema.costs import listed
from schema.execution.cost import MAX_ANSWER_VALUES
from schema.execution.facts import ROWS_READ, facts
from schema.types import show_enum

show_enum(
    trace.RowOutcome,
    "What the server did with a row that it read.",
    SHOWN="Returned on the page.",
    FILTERED="Dropped, because the row does not match one of the filters in `residual`, which the "
    "server applies after the read.",
    AROUND="Matches the filters, but is not shown: the row is outside the page, or another segment "
    "returned the same row. The server reads rows outside the page to compute a pagination flag, "
    "or because it does not know before the read how many rows of the segment the page shows.",
    HEAD="Not a row of the list, but the object to which the list belongs, such as an "
    "organisation. The server reads this object in the same Query as the rows.",
)
show_enum(
    Purpose,
    "Purpose of a step.",
    PAGE="Read the page.",
    REST="Read the rest of the page by a new plan, because the first plan's estimate was wrong.",
    FLAGS="Compute the pagination flags.",
    name="PlanPurpose",
)
show_enum(
    ReasonCode,
    "Why the optimizer chose or rejected an index.",
    name="PlanReason",
    **{code.name: code.value.replace("{}", "…") for code in ReasonCode},
)


@strawberry.type(description="A segment: one contiguous key range of one partition.")
class SegmentReading:
    """The GraphQL type of ``dal.query.statistics.SegmentStatistics``."""

    partition_key: str = strawberry.field(description="Partition key in the index.")
    range: str = strawberry.field(
        description="Range of sort keys that the server queried. If the server remembers this page "
        "from an earlier read, the range ends at the page's last row."
    )
    limit: int = strawberry.field(description="`Limit` of the segment's first Query.")
    items_read: int = strawberry.field(description="Number of rows that DynamoDB returned.")
    refills: int = strawberry.field(
        description="Number of Queries after the first. The server sends further Queries if the "
        "rows of the first Query do not fill the page."
    )
    skipped: bool = strawberry.field(description="Whether the segment was not read.")
    skip_reason: str | None = strawberry.field(
        resolver=plans.skip_reason,
        description="Why the server did not read the segment; null if the server read it.",
    )


@strawberry.type(
    description="A row that the server read for a page. The page may or may not show the row."
)
class RowReading:
    """The GraphQL type of ``features.plans.trace.RowRead``."""

    position: str = strawberry.field(
        description="Position of the row in the list: the end of its sort key, usually time and id."
    )
    segment: int = strawberry.field(
        description="Index of the row's segment in `segments`, starting at 0."
    )
    refill: int = strawberry.field(
        description="Number of the Query that returned the row. The first Query of a segment "
        "has the number 0."
    )
    outcome: trace.RowOutcome = strawberry.field(description="What the server did with the row.")


@strawberry.type(description="One executed step of a page's plan.")
class PlanStep:
    """The GraphQL type of ``features.plans.trace.Step``."""

    purpose: Purpose = strawberry.field(description="Purpose of the step.")
    index: str = strawberry.field(description="Index that the step read, or `table`.")
    segments: int = strawberry.field(
        description="Number of segments of this step. `QueryPlan.segments` has the segments of "
        "all steps, in the order of the steps."
    )
    queries: list[str] = strawberry.field(
        description="Arguments of the first DynamoDB Query of each segment that the server read, "
        "as JSON, without the name of the table.",
        metadata=facts(reads=listed(5, MAX_SEGMENTS)),
    )


@strawberry.type(description="A key range that the server would read with an alternative plan.")
class KeyRange:
    """The GraphQL type of ``features.plans.alternatives.KeyRange``."""

    partition_key: str = strawberry.field(description="Partition key in the index.")
    range: str = strawberry.field(description="Range of sort keys.")
    limit: int = strawberry.field(description="`Limit` of the first Query.")
    expected_rows: float | None = strawberry.field(
        description="Estimated number of rows that the first Query returns; null without "
        "statistics."
    )


@strawberry.type(description="An index that the optimizer considered for a page.")
class PlanAlternative:
    """The GraphQL type of ``features.plans.alternatives.Alternative``."""

    index: str = strawberry.field(description="Index name, or `table`.")
    residual: list[str] = strawberry.field(
        description="Filters that the index does not cover. The server applies these filters to "
        "the rows that it reads."
    )
    segments: list[KeyRange] = strawberry.field(
        description="Key ranges to read; empty if the index cannot answer the query.",
        metadata=facts(reads=listed(5, MAX_SEGMENTS)),
    )
    expected_rows: float | None = strawberry.field(
        description="Estimated number of rows that the first Queries of all key ranges return "
        "together; null without an estimate."
    )
    estimated_capacity: float | None = strawberry.field(
        description="Estimated read capacity units; null without an estimate."
    )
    cost: float | None = strawberry.field(
        description="Cost by which the optimizer compares indexes, in read capacity units. It "
        "is the estimated capacity plus a charge for each Query and each row. Null without an "
        "estimate, or if the optimizer expects no matching row."
    )
    chosen: bool = strawberry.field(description="Whether the optimizer chose this index.")
    reason: str = strawberry.field(
        description="Why the index was chosen or rejected, as a sentence."
    )
    reason_code: ReasonCode = strawberry.field(description="The reason as a code, for translation.")
    reason_values: list[str] = strawberry.field(
        description="Names and numbers that occur in `reason`, in the same order. A list of "
        "names is one value, with commas between the names."
    )


@strawberry.type(description="Cost of reading the same page in another way, for comparison.")
class ReadFigures:
    """The GraphQL type of ``features.plans.trace.ReadFigures``."""

    requests: int = strawberry.field(description="Number of DynamoDB requests.")
    items_read: float = strawberry.field(description="Number of rows that DynamoDB would return.")
    capacity: float = strawberry.field(description="Read capacity units.")


@strawberry.type(description="How the server read a page.")
class QueryPlan:
    """The GraphQL type of ``dal.query.statistics.ExecutionStatistics``."""

    access_pattern: str = strawberry.field(
        description="Name of the access pattern in docs/access-patterns.md."
    )
    index: str = strawberry.field(
        description="Index that the server read in the first step, or `table`."
    )
    segments: list[SegmentReading] = strawberry.field(
        description="Segments of the page's plan. The server read the segments that are not "
        "`skipped`, and merged their rows into the page.",
        metadata=facts(reads=listed(5, MAX_ANSWER_VALUES)),
    )
    requests: int = strawberry.field(description="Number of DynamoDB requests.")
    items_read: int = strawberry.field(
        description="Number of rows that DynamoDB returned for all segments."
    )
    consumed_capacity: float | None = strawberry.field(
        resolver=plans.consumed_capacity,
        description="Read capacity units consumed; null if the endpoint does not report them.",
    )
    estimated_capacity: float | None = strawberry.field(
        description="Estimated read capacity units. Null if the page was planned without "
        "statistics, for example because one key range contains exactly the list's rows."
    )
    residual: list[str] = strawberry.field(
        description="Filters that the index does not cover. The server applied these filters to "
        "the rows that it read."
    )
    planning_requests: int = strawberry.field(
        description="Number of DynamoDB requests for statistics; 0 if all statistics are cached. "
        "The server caches statistics for some seconds."
    )
    planning_capacity: float | None = strawberry.field(
        resolver=plans.planning_capacity,
        description="Read capacity units consumed for statistics; null if the endpoint does not "
        "report them.",
    )
    steps: list[trace.Step] = strawberry.field(
        resolver=plans.steps,
        graphql_type=list[PlanStep],
        description="Executed steps, in order: the page by its first plan, the rest of the page "
        "by a new plan if one was necessary, and a Query for a pagination flag if one was "
        "necessary. A list sorted by rating or votes is read in stages, each with its own steps.",
        metadata=facts(reads=listed(2, MAX_ANSWER_VALUES)),
    )
    rows: list[trace.RowRead] = strawberry.field(
        resolver=plans.rows,
        graphql_type=list[RowReading],
        description="Every row that was read, in list order. A row that two segments returned "
        "occurs twice.",
        metadata=facts(sized=ROWS_READ),
    )
    alternatives: list[compared.Alternative] = strawberry.field(
        resolver=plans.alternatives,
        graphql_type=list[PlanAlternative],
        description="Indexes that the optimizer considered. The chosen index is first, then the "
        "other indexes by cost, then those that cannot answer the query.",
        metadata=facts(reads=listed(4, MAX_SEGMENTS)),
    )
    full_pages: trace.ReadFigures | None = strawberry.field(
        resolver=plans.full_pages,
        graphql_type=ReadFigures | None,
        description="Cost of a read without an optimizer: a full page from every partition that "
        "the filters select, in the index that covers the most filters. The cost is measured for "
        "each partition from which the server did read a full page, and estimated for the other "
        "partitions. Null if the page was read without a plan.",
    )
    ideal: trace.ReadFigures | None = strawberry.field(
        resolver=plans.ideal,
        graphql_type=ReadFigures | None,
        description="Cost of one Query that reads exactly the page's rows.",
    )
