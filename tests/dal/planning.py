"""Makes plans in the same way as the executor."""

from collections.abc import Sequence

from dal.query.optimizer import PageSpan, TableStatistics, optimize
from dal.query.plan import Plan, Query, access_paths
from dal.table.index import Index
from dal.table.ranges import Range


def plan(
    indexes: Sequence[Index],
    query: Query,
    span: Range,
    *,
    descending: bool,
    limit: int,
    statistics: TableStatistics | None = None,
) -> Plan:
    page = PageSpan(span & query.within, limit, descending)
    return optimize(access_paths(indexes, query), page, statistics)
