"""Cardinality: how many rows of a page each segment of an access path is expected to hold.

Counts tell how many rows a segment has: what a page spans of it is a matter of chance, and its
limit needs a margin. Where a page's rows were read before, their locations tell what each segment
holds of it and where the page ends. The segments are bounded there, so that no row beyond it is
read, and a generous limit costs nothing.
"""

import math
from collections.abc import Iterator, Sequence
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
    reads: Sequence[ReadEstimate]
    rows: Sequence[float]
    """The rows of each: all that are counted, or those that the page spanned when it was read."""
    selectivity: float
    """The part of these rows that passes the residual filter."""
    span: Range
    """What to read of the segments."""
    until: str | None = None
    """The position that the span was cut at."""

    @property
    def cost(self) -> float:
        """What paths are compared by, in RCU."""
        return sum(read.cost for read in self.reads)


def estimates(
    paths: Sequence[AccessPath],
    page: PageSpan,
    statistics: TableStatistics,
    located: LocatedPage | None,
) -> Iterator[PathEstimate]:
    """Yield what to expect of a page by each path, but not by those that cannot be the cheapest."""
    cheapest = math.inf
    for path in paths:
        if located is None:
            estimate = _estimate_by_counts(path, page, statistics, cheapest)
        else:
            estimate = _estimate_by_location(path, page, located, statistics, cheapest)
        if estimate is not None:
            cheapest = min(cheapest, estimate.cost)
            yield estimate


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
        return PathEstimate(path, reads, rows, 1 / max(1.0, total), page.span)
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
    return PathEstimate(path, reads, rows, selectivity, page.span)


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
    """Return what to expect of a page whose rows were read before, by where they stood.

    Fewer rows than a page are all there are.
    """
    if path.size * (REQUEST + 0.5) + ROW * len(located.rows) >= cheapest:
        return None
    found = located.rows
    until = found[-1].position if len(found) == page.limit else None
    span = page.span if until is None else page.span.until(until, descending=page.descending)
    held = [_held(path, segment.key, located, span, statistics) for segment in path.segments]
    reads = [
        ReadEstimate(rows + page.limit, units + REQUEST + ROW * rows, units) for rows, units in held
    ]
    total = sum(rows for rows, _ in held)
    selectivity = min(1.0, max(1, len(found)) / total) if total else 1.0
    return PathEstimate(path, reads, [rows for rows, _ in held], selectivity, span, until)


def _held(
    path: AccessPath,
    key: EqualityKey,
    located: LocatedPage,
    span: Range,
    statistics: TableStatistics,
) -> tuple[int, float]:
    """Return how many rows of a key the page spans, and the RCU of reading them.

    Rows that do not pass the residual may never have been read: they are then expected to be as
    frequent here as everywhere.
    """
    known = located.among(key, span)
    if known is not None:
        return len(known), capacity_of_bytes(sum(row.size for row in known))
    filters = filters_of(key)
    matching = sum(key <= row.values for row in located.rows)
    among = statistics.cardinality({**path.query.filters, **filters})
    rows = math.ceil(matching * statistics.cardinality(filters) / max(1, among))
    return rows, expected_capacity(rows, statistics.row_bytes)
