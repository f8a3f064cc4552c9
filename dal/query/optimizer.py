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
from typing import Any, NamedTuple

from dal.query.cost import (
    REQUEST,
    ROW,
    ReadEstimate,
    Selectivity,
    best_estimate,
    capacity_of_bytes,
    expected_capacity,
    least_cost,
)
from dal.query.plan import AccessPath, EqualityKey, Plan, Segment, filters_of
from dal.query.protocols import LocatedPage, TableStatistics
from dal.table.ranges import UNBOUNDED, Range


class PageSpan(NamedTuple):
    """The page to plan: its first ``limit`` rows within ``span``, in one direction."""

    span: Range
    limit: int
    descending: bool


class PathEstimate(NamedTuple):
    """What to ask the segments of a path for, in their order, and what that is expected to cost."""

    path: AccessPath
    cost: float
    """What paths are compared by, in RCU."""
    reads: Sequence[ReadEstimate]
    rows: Sequence[float]
    """The rows of each: all that are counted, or those that the page spanned when it was read."""
    selectivity: float
    """The part of these rows that passes the residual filter."""
    span: Range
    """What to read of the segments."""
    until: str | None = None
    """The position that the span was cut at."""


def cheapest_estimate(
    paths: Sequence[AccessPath],
    page: PageSpan,
    statistics: TableStatistics,
    located: LocatedPage | None,
) -> PathEstimate:
    """Return what to expect of a page by the path of the least cost, the first of several.

    Paths that cannot be the cheapest are not weighed to the end.
    """
    cheapest: PathEstimate | None = None
    for path in paths:
        least = math.inf if cheapest is None else cheapest.cost
        if located is None:
            estimate = _estimate_by_counts(path, page, statistics, least)
        else:
            estimate = _estimate_by_location(path, page, located, statistics, least)
        if estimate is not None and (cheapest is None or estimate.cost < least):
            cheapest = estimate
    assert cheapest is not None  # noqa: S101 - the first one has nothing to be dearer than
    return cheapest


def _estimate_by_counts(
    path: AccessPath, page: PageSpan, statistics: TableStatistics, cheapest: float
) -> PathEstimate | None:
    """Return what to expect by counts alone: the page's rows may stand anywhere among them."""
    bounded = path.query.within != UNBOUNDED
    part = statistics.fraction(path.query.within) if bounded else 1.0
    rows = [
        _scaled(statistics.cardinality(filters) / path.index.shards, part)
        for filters in path.filters
    ]
    total, selectivity = sum(rows), 1.0
    if path.residual and total:
        selectivity = statistics.cardinality(path.query.filters) * part / total
    if selectivity == 0:  # nothing is expected to pass: to read it all is what no path is for
        reads = [
            ReadEstimate(page.limit, math.inf, expected_capacity(held, statistics.row_bytes))
            for held in rows
        ]
        return PathEstimate(path, _cost(reads), reads, rows, 1 / max(1.0, total), page.span)
    selectivity = min(1.0, selectivity)
    expected = min(total, page.limit / selectivity)
    if least_cost(path.size, expected, statistics.row_bytes) >= cheapest:
        return None
    reads = [
        best_estimate(
            held / total if total else 1.0,
            selectivity,
            page.limit,
            statistics.row_bytes,
            _most(held) if bounded else math.ceil(held),
        )
        for held in rows
    ]
    return PathEstimate(path, _cost(reads), reads, rows, selectivity, page.span)


def _cost(reads: Sequence[ReadEstimate]) -> float:
    return sum(read.cost for read in reads)


def _scaled(rows: float, part: float) -> float:
    return math.ceil(rows) if part == 1.0 else rows * part


def _most(rows: float) -> int:
    """Return how many rows a range of time holds at most, as a rule: rows come in bursts."""
    return math.ceil(rows + 3 * math.sqrt(rows + 1))


def _estimate_by_location(
    path: AccessPath,
    page: PageSpan,
    located: LocatedPage,
    statistics: TableStatistics,
    cheapest: float,
) -> PathEstimate | None:
    """Return what to expect of a page whose rows were read before, by where they stood."""
    if path.size * (REQUEST + 0.5) + ROW * located.rows >= cheapest:
        return None
    reads, held, total = [], [], 0
    for segment in path.segments:
        rows, units = _held(path, segment.key, located, statistics)
        reads.append(ReadEstimate(rows + page.limit, units + REQUEST + ROW * rows, units))
        held.append(rows)
        total += rows
    selectivity = min(1.0, max(1, located.rows) / total) if total else 1.0
    span, until = located.span, located.until
    return PathEstimate(path, _cost(reads), reads, held, selectivity, span, until)


def _held(
    path: AccessPath, key: EqualityKey, located: LocatedPage, statistics: TableStatistics
) -> tuple[int, float]:
    """Return how many rows of a key the page spans in one shard, and the RCU of reading them.

    Rows that do not pass the residual may never have been read: they are then expected to be as
    frequent here as everywhere. At the end of a list those are read too that stand before the row
    which would have passed next.
    """
    shards = path.index.shards
    known = located.among(key)
    if known is not None:
        size = math.ceil(known.size / shards)
        return math.ceil(known.rows / shards), capacity_of_bytes(size)
    filters = filters_of(key)
    held = statistics.cardinality(filters)
    among = statistics.cardinality({**path.query.filters, **filters})
    passing = located.matching(key) + (located.until is None)
    rows = min(held, math.ceil(passing * held / max(1, among) / shards))
    return rows, expected_capacity(rows, statistics.row_bytes)


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
