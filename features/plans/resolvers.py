"""The plan of a page: the cost of reading the page, and the contents of its trace.

The trace lists the steps, the rows read, and the indexes that the optimizer considered. If a page
was read without a trace, these lists are empty.
"""

from math import isnan

import strawberry

from dal.query.statistics import ExecutionStatistics, SegmentStatistics
from features.plans.alternatives import Alternative
from features.plans.trace import ReadFigures, RowRead, Step, Trace
from resolvers.selection import ObservedPages

_NAMES = ("steps", "rows", "alternatives", "fullPages", "ideal")
TRACED = ObservedPages(tuple(("plan", name) for name in _NAMES), Trace)
"""Pages have a trace if the request selects one of these fields of the plan."""

EMPTY_RANGE = "The key range is empty."
EMPTY_BY_COUNTS = "No rows, according to the counts."
"""The reason for skipping a segment that the counts show to be empty."""


def skip_reason(root: strawberry.Parent[SegmentStatistics]) -> str | None:
    """Return why a segment was not read; None if it was read."""
    if not root.skipped:
        return None
    return EMPTY_RANGE if root.sort_keys.empty else EMPTY_BY_COUNTS


def consumed_capacity(root: strawberry.Parent[ExecutionStatistics]) -> float | None:
    """Return the capacity that the page consumed; None if the endpoint does not report it."""
    return None if isnan(root.consumed_capacity) else root.consumed_capacity


def planning_capacity(root: strawberry.Parent[ExecutionStatistics]) -> float | None:
    """Return the capacity that reads of statistics consumed; None if it is not reported."""
    return None if isnan(root.planning_capacity) else root.planning_capacity


def steps(root: strawberry.Parent[ExecutionStatistics]) -> list[Step]:
    """Return the executed steps of the page's plan."""
    return _trace(root).steps


def rows(root: strawberry.Parent[ExecutionStatistics]) -> list[RowRead]:
    """Return every row that was read for the page, including rows that the page does not show."""
    return _trace(root).rows()


def alternatives(root: strawberry.Parent[ExecutionStatistics]) -> list[Alternative]:
    """Return the indexes that the optimizer considered."""
    return list(_trace(root).alternatives)


def full_pages(root: strawberry.Parent[ExecutionStatistics]) -> ReadFigures | None:
    """Return the cost of reading a full page from every partition that the filters select.

    Return None without a trace or a plan.
    """
    return _trace(root).full_pages()


def ideal(root: strawberry.Parent[ExecutionStatistics]) -> ReadFigures:
    """Return the cost of one Query that would read exactly the page's rows."""
    return _trace(root).ideal()


def _trace(stats: ExecutionStatistics) -> Trace:
    return stats.instruments if isinstance(stats.instruments, Trace) else Trace()
