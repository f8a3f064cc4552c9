"""The plan of a page beyond what every page counts: its rows, and what else was weighed."""

import strawberry

from dal.query.execution_stats import ExecutionStatistics
from dal.query.plan_basis import PlanBasis
from dal.query.reasons import ReasonCode
from dal.query.trace import Alternative, Purpose, ReadFigures, RowOutcome, RowRead, Step, Trace
from resolvers.enums import show_enum

TRACED = ("steps", "rows", "alternatives", "fullPages", "ideal")
"""The fields that a page is traced for."""

show_enum(
    RowOutcome,
    "What became of a row that was read.",
    {
        RowOutcome.SHOWN: "It is on the page.",
        RowOutcome.FILTERED: "A filter that its partition does not cover dropped it.",
        RowOutcome.AROUND: "It passes the filters and lies beyond the page, or at its cursor: it "
        "tells whether there are more, or was asked for in case the page needed it.",
        RowOutcome.HEAD: "It is the item at the list's beginning, read with the rows.",
    },
)
show_enum(
    Purpose,
    "What a plan is carried out for.",
    {
        Purpose.PAGE: "The page.",
        Purpose.REST: "The rest of the page: what was expected of the first plan did not hold.",
        Purpose.FLAGS: "Whether rows lie around the page.",
    },
    name="PlanPurpose",
)
show_enum(
    ReasonCode,
    "Why the optimizer chose an index for a page, or why not.",
    {code: code.value.replace("{}", "…") for code in ReasonCode},
    name="PlanReason",
)
show_enum(
    PlanBasis,
    "What a page is planned by.",
    {
        PlanBasis.ROW_LOCATIONS: "All that is known, as if nobody had asked: counts, and where the "
        "rows of earlier pages stood.",
        PlanBasis.COUNTS: "How many comments there are of each rating and language: as for rows "
        "that nobody has read yet.",
        PlanBasis.NOTHING: "No statistics: the index that leaves the least to filter, and a full "
        "page of each of its partitions, or a share of it where their shards share a partition.",
        PlanBasis.FULL_PAGES: "Nothing at all: every partition of the index that leaves the least "
        "to filter is asked for a full page, each of its shards too.",
    },
)


def steps(root: strawberry.Parent[ExecutionStatistics]) -> list[Step]:
    """Return the plans that were carried out."""
    return _trace(root).steps


def rows(root: strawberry.Parent[ExecutionStatistics]) -> list[RowRead]:
    """Return every row that was read."""
    return _trace(root).rows()


def alternatives(root: strawberry.Parent[ExecutionStatistics]) -> list[Alternative]:
    """Return what the optimizer weighed."""
    return list(_trace(root).alternatives)


def full_pages(root: strawberry.Parent[ExecutionStatistics]) -> ReadFigures | None:
    """Return what a full page of every partition takes."""
    return _trace(root).full_pages()


def ideal(root: strawberry.Parent[ExecutionStatistics]) -> ReadFigures | None:
    """Return what one Query of just the page's rows takes."""
    return _trace(root).ideal()


def _trace(stats: ExecutionStatistics) -> Trace:
    """Return the trace; a page that was read without one, such as by a prefetch, has none."""
    return stats.trace or Trace()
