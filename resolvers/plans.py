"""The plan of a page beyond what every page counts: its rows, and what else was weighed."""

import strawberry

from dal.query.plan import PlanBasis
from dal.query.trace import (
    Alternative,
    ExecutionStatistics,
    Purpose,
    ReadFigures,
    ReasonCode,
    RowOutcome,
    RowRead,
    Step,
    Trace,
)
from resolvers.enums import show_enum

TRACED = ("steps", "rows", "alternatives", "fullPages", "ideal")
"""The fields that a page is traced for."""

show_enum(
    RowOutcome,
    "What the server did with a row it read.",
    {
        RowOutcome.SHOWN: "Returned on the page.",
        RowOutcome.FILTERED: "Dropped by a filter that the index does not cover.",
        RowOutcome.AROUND: "Matches the filters but lies outside the page: read for a pagination "
        "flag, or in case the page needed more rows.",
        RowOutcome.HEAD: "The item at the start of the list, read with its rows.",
    },
)
show_enum(
    Purpose,
    "Purpose of a step.",
    {
        Purpose.PAGE: "Read the page.",
        Purpose.REST: "Read the rest of the page, after the first plan's estimate was wrong.",
        Purpose.FLAGS: "Compute the pagination flags.",
    },
    name="PlanPurpose",
)
show_enum(
    ReasonCode,
    "Why the optimizer chose or rejected an index.",
    {code: code.value.replace("{}", "…") for code in ReasonCode},
    name="PlanReason",
)
show_enum(
    PlanBasis,
    "Statistics that a page is planned with.",
    {
        PlanBasis.ROW_LOCATIONS: "All statistics, the default: counts and the positions of rows "
        "read before.",
        PlanBasis.COUNTS: "Counts per rating and language only, as for rows that were not read "
        "before.",
        PlanBasis.NOTHING: "No statistics: take the index that leaves the least to filter, and "
        "read a full page of each of its partitions.",
        PlanBasis.FULL_PAGES: "A full page of every partition of the index that leaves the least "
        "to filter, without an optimizer.",
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
