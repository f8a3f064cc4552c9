"""Alternatives: the indexes of an entity, and why the optimizer chose or rejected each for a page.

Only a page whose plan the request selects has alternatives. The optimizer does not keep the
costs that it compared, so this module calculates the cost of each index again, with the optimizer's
functions. It sends no request.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dal.query.optimizer import PageSpan, PathEstimate, TableStatistics, cheapest_estimate
from dal.query.plan import (
    MAX_SEGMENTS,
    AccessPath,
    Plan,
    Query,
    refusal,
)
from dal.table.index import Index
from dal.table.ranges import Range
from features.plans.reasons import Reason, ReasonCode, ReasonValue


class KeyRange(NamedTuple):
    """One segment of an alternative; ``expected_rows`` is None without statistics."""

    partition_key: str
    range: str
    limit: int
    expected_rows: float | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """An index, and the reason why the optimizer chose or rejected it.

    The numbers of rows and RCU are None without statistics, and for an index that cannot answer the
    query.
    """

    index: str
    residual: Sequence[str]
    segments: Sequence[KeyRange]
    expected_rows: float | None
    """The expected number of rows that the first Queries of all segments return."""
    estimated_capacity: float | None
    cost: float | None
    """The cost that the optimizer compares, in RCU: the capacity, plus a weight for each Query and
    each row. Also None if no row is expected to pass the residual filter."""
    chosen: bool
    why: Reason

    @property
    def reason(self) -> str:
        """The reason as a sentence."""
        return str(self.why)

    @property
    def reason_code(self) -> ReasonCode:
        """The reason's code."""
        return self.why.code

    @property
    def reason_values(self) -> list[str]:
        """The names and numbers of the reason's sentence."""
        return self.why.values


@dataclass(frozen=True, slots=True)
class FullPages:
    """A plan that reads a full page from every partition, for comparison with the page's plan.

    Of all indexes that can answer the query, the plan uses the index with the fewest fields in the
    residual filter.
    """

    index: str
    limit: int
    rows: Sequence[float]
    """The expected number of rows that the plan reads from each partition."""
    row_bytes: float | None
    """The mean size of a row; None without statistics."""


def alternatives(
    indexes: Sequence[Index],
    paths: Sequence[AccessPath],
    page: PageSpan,
    statistics: TableStatistics | None,
    plan: Plan,
) -> list[Alternative]:
    """Return an alternative for every index.

    The chosen index comes first. The other indexes that can answer the query follow, the cheapest
    first. The indexes that cannot answer it come last. ``paths`` is the result of ``access_paths``,
    and ``plan`` is the page's plan.
    """
    if statistics is None:
        considered = [_by_rule(path, page, paths, plan) for path in paths]
    else:
        considered = list(_by_cost(paths, page, statistics, plan))
    considered.sort(key=lambda one: (not one.chosen, math.inf if one.cost is None else one.cost))
    query, used = paths[0].query, [path.index for path in paths]
    excluded = [
        Alternative(
            _name(index), (), (), None, None, None, chosen=False, why=exclusion(index, query)
        )
        for index in indexes
        if all(index is not one for one in used)
    ]
    return [*considered, *excluded]


def full_pages(path: AccessPath, page: PageSpan, statistics: TableStatistics | None) -> FullPages:
    """Return how many rows a plan would read if it read a whole page from each partition.

    ``path`` is the path of this plan: the access path with the fewest fields in its residual
    filter.
    """
    rows: list[float] = [page.limit] * path.size
    if statistics is not None:
        part = statistics.fraction(page.span) / path.index.shards
        held = [statistics.cardinality(filters) * part for filters in path.filters]
        rows = [min(page.limit, one) for one in held]
    row_bytes = None if statistics is None else statistics.row_bytes
    return FullPages(_name(path.index), page.limit, rows, row_bytes)


def exclusion(index: Index, query: Query) -> Reason:
    """Return the reason why ``access_paths`` returns no path for ``index``."""
    refused = refusal(index, query)
    if refused is not None:
        return Reason(ReasonCode[refused.code], refused.named)
    return Reason(ReasonCode.TOO_MANY_RANGES, (AccessPath(index, query).size, MAX_SEGMENTS))


def _by_rule(
    path: AccessPath, page: PageSpan, paths: Sequence[AccessPath], plan: Plan
) -> Alternative:
    """Return the alternative of a path, for a plan that was made without statistics.

    In that case the optimizer chose the first of ``paths``.
    """
    chosen, best = path is paths[0], paths[0]
    limits = [one.limit for one in plan.segments] if chosen else [page.limit] * path.size
    if not chosen:
        fewer = len(path.uncovered) > len(best.uncovered)
        code = ReasonCode.UNWEIGHED_ROWS if fewer else ReasonCode.UNWEIGHED_RANGES
        reason = Reason(code, (_name(best.index),))
    elif best.size == 0 or page.limit == 0 or page.span.empty:
        reason = Reason(ReasonCode.NOTHING_TO_READ)
    elif len(paths) == 1:
        reason = Reason(ReasonCode.ONLY_INDEX)
    elif best.size <= 1 and not best.residual:
        reason = Reason(ReasonCode.NOTHING_TO_WEIGH)
    else:
        reason = Reason(ReasonCode.NOTHING_KNOWN)
    return _alternative(path, page.span, limits, reason, chosen=chosen)


def _by_cost(
    paths: Sequence[AccessPath], page: PageSpan, statistics: TableStatistics, plan: Plan
) -> Iterator[Alternative]:
    located = statistics.located(paths[0].keys, page)
    estimates = [cheapest_estimate([path], page, statistics, located) for path in paths]
    best = next(one for one in estimates if one.path.index is plan.index)
    if len(paths) == 1:
        why_chosen = ReasonCode.ONLY_INDEX
    elif located is None:
        why_chosen = ReasonCode.LEAST_BY_COUNTS
    else:
        why_chosen = ReasonCode.LEAST_BY_LOCATIONS
    for one in estimates:
        chosen = one is best
        limits = [read.limit for read in one.reads]
        reason = Reason(why_chosen) if chosen else _why_not(one, best)
        yield _alternative(one.path, one.span, limits, reason, chosen=chosen, estimate=one)


def _alternative(
    path: AccessPath,
    span: Range,
    limits: Sequence[int],
    reason: Reason,
    *,
    chosen: bool,
    estimate: PathEstimate | None = None,
) -> Alternative:
    expected: Sequence[float | None] = [None] * len(limits)
    rows = capacity = cost = None
    if estimate is not None:
        returned = [float(min(pair)) for pair in zip(limits, estimate.rows, strict=True)]
        expected, rows = returned, sum(returned)
        capacity = sum(read.capacity for read in estimate.reads)
        cost = estimate.cost if math.isfinite(estimate.cost) else None
    ranges = [
        KeyRange(one.partition, str(one._replace(range=span).sort_keys), limit, most)
        for one, limit, most in zip(path.segments, limits, expected, strict=True)
    ]
    residual = sorted(path.residual)
    return Alternative(_name(path.index), residual, ranges, rows, capacity, cost, chosen, reason)


def _why_not(one: PathEstimate, best: PathEstimate) -> Reason:
    """Return the reason why the optimizer chose the path ``best`` and not the path ``one``."""
    if not math.isfinite(one.cost):
        return Reason(ReasonCode.NONE_PASSES)
    ranges: tuple[ReasonValue, ...] = ()
    if one.path.size > best.path.size:
        ranges = (one.path.size, best.path.size)
    rows: tuple[ReasonValue, ...] = ()
    if round(dropped := _dropped(one)) > round(_dropped(best)):
        rows = (round(dropped), sorted(one.path.residual))
    if not (ranges or rows):
        same = one.cost == best.cost
        return Reason(ReasonCode.NO_CHEAPER if same else ReasonCode.MORE_TO_READ)
    code = ReasonCode.MORE_RANGES if ranges else ReasonCode.MORE_ROWS
    return Reason(ReasonCode.MORE_OF_BOTH if ranges and rows else code, (*ranges, *rows))


def _dropped(one: PathEstimate) -> float:
    """Return how many rows the residual filter is expected to drop.

    Only the rows that the first Query of each segment reads are included.
    """
    read = sum(min(read.limit, rows) for read, rows in zip(one.reads, one.rows, strict=True))
    return read * (1 - one.selectivity)


def _name(index: Index) -> str:
    return index.name or "table"
