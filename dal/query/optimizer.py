"""The optimizer: chooses the access path of a page, and how many rows to ask of each segment.

It chooses once. Without statistics the path with the least residual is taken, and each segment is
asked for the whole page, or for a shard's part of it. With statistics the path of the least
expected cost is taken, and each segment is asked for what it is expected to hold of the page. Exact
statistics choose nothing: they prove segments of the chosen plan empty. All segments of a plan
share one total order, so one position resumes them all.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from dal.query.access_paths import AccessPath
from dal.query.cardinality import PageSpan, cheapest_estimate
from dal.query.cost_model import REQUEST, Selectivity, expected_capacity
from dal.query.plan import Plan, Segment
from dal.query.protocols import TableStatistics
from dal.query.query import EqualityKey

SHARD_MARGIN = 5
"""Deviations that a shard is asked for beyond its share: one page of some thousand needs more."""

DISCARD_RATIO = 2
"""A residual read goes on to this many times the rows expected; then the rest is planned anew."""

_PROOF = 1.0 + REQUEST
_EMPTY_READ = expected_capacity(1, 1)
_EMPTY_SEGMENT = _EMPTY_READ + REQUEST
"""What it costs to prove which segments are empty, and to read one that is."""


def optimize(
    paths: Sequence[AccessPath], page: PageSpan, statistics: TableStatistics | None
) -> Plan:
    """Return the plan of the least expected cost; ``paths`` are as ``access_paths`` sorts them."""
    if statistics is None:
        return _without_statistics(paths[0], page)
    located = statistics.located(
        paths[0].keys, page.span, descending=page.descending, count=page.limit
    )
    cheapest = cheapest_estimate(paths, page, statistics, located)
    total = max(1, sum(cheapest.rows))
    asks = [
        (read.limit, held / total) for read, held in zip(cheapest.reads, cheapest.rows, strict=True)
    ]
    goes_on = cheapest.path.residual and not paths[0].residual  # there is another way
    return _plan(
        cheapest.path,
        PageSpan(cheapest.span, page.limit, page.descending),
        asks,
        selectivity=cheapest.selectivity,
        discard_limit=DISCARD_RATIO * page.limit / cheapest.selectivity if goes_on else math.inf,
        unproven=sum(not statistics.cardinality(one) for one in cheapest.path.filters),
        capacity=sum(read.capacity for read in cheapest.reads),
        until=cheapest.until,
    )


def whole_pages(path: AccessPath, page: PageSpan) -> Plan:
    """Return the plan that asks each segment of ``path`` for the whole page, as the articles do."""
    return _plan(path, page, [(page.limit, None)] * path.size)


def worth_proving(plan: Plan) -> bool:
    """Return whether exact statistics may save more than they cost."""
    return plan.unproven * _EMPTY_SEGMENT > _PROOF


def prove(plan: Plan, empty: Collection[EqualityKey]) -> Plan:
    """Return the same plan, skipping the segments whose keys are proved to have no row."""
    segments = tuple(
        segment._replace(limit=0, empty=True) if segment.key in empty else segment
        for segment in plan.segments
    )
    skipped = sum(segment.empty for segment in segments)
    capacity = None if plan.capacity is None else plan.capacity - skipped * _EMPTY_READ
    return replace(plan, segments=segments, capacity=capacity)


def _without_statistics(path: AccessPath, page: PageSpan) -> Plan:
    share, limit = _share_of_shard(path, page)
    return _plan(path, page, [(limit, share)] * path.size)


def _share_of_shard(path: AccessPath, page: PageSpan) -> tuple[float | None, int]:
    """Return what part of the rows each segment holds, where that is known without statistics.

    It is where the segments differ by their shard only: a hash spreads rows evenly. The limit
    beside it is seldom too small.
    """
    if path.size != path.index.shards or path.residual:
        return None, page.limit
    share = 1 / path.size
    mean, deviation = Selectivity(share).spread(page.limit)
    return share, min(page.limit, math.ceil(mean + SHARD_MARGIN * deviation))


def _plan(
    path: AccessPath,
    page: PageSpan,
    asks: Sequence[tuple[int, float | None]],
    **expected: Any,
) -> Plan:
    """Return a plan that asks each segment for a limit, as it holds a share of the rows."""
    query = path.query
    segments = tuple(
        Segment(one.partition, page.span, limit, one.prefix, one.key, one.head, share)
        for one, (limit, share) in zip(path.segments, asks, strict=True)
    )
    return Plan(
        query.access_pattern,
        path.index,
        segments,
        page.descending,
        query.consistent,
        path.residual,
        **expected,
    )
