"""The plan of a page: the cost of reading the page, and the contents of its trace.

The trace lists the steps, the rows read, and the indexes that the optimizer considered. If a page
was read without a trace, these lists are empty.
"""

from math import isnan

import strawberry

from dal.query.trace import Alternative, ExecutionStatistics, ReadFigures, RowRead, Step, Trace


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


def ideal(root: strawberry.Parent[ExecutionStatistics]) -> ReadFigures | None:
    """Return the cost of one Query that would read exactly the page's rows."""
    return _trace(root).ideal()


def _trace(stats: ExecutionStatistics) -> Trace:
    return stats.trace or Trace()
