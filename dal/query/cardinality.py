"""Cardinality: how many rows of a page each segment of an access path is expected to hold.

Counts tell how many rows a segment has: what a page spans of it is a matter of chance, and its
limit needs a margin. Where a page's rows were read before, their locations tell what each segment
holds of it and where the page ends. The segments are bounded there, so that no row beyond it is
read, and a generous limit costs nothing.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from dal.query.access_paths import AccessPath
from dal.query.cost_model import (
    REQUEST,
    ROW,
    ReadEstimate,
    best_estimate,
    capacity_of_bytes,
    expected_capacity,
    least_cost,
)
from dal.query.protocols import LocatedPage, TableStatistics
from dal.query.query import EqualityKey, filters_of
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
