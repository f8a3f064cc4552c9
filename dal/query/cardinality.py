"""Cardinality: how many rows of a page each segment of an access path is expected to hold.

Counts tell how many rows a segment has: what a page spans of it is a matter of chance, and its
limit needs a margin. Where a page's rows were read before, their locations tell what each segment
holds of it and where the page ends. The segments are bounded there, so that no row beyond it is
read, and a generous limit costs nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dal.query.access_paths import AccessPath
from dal.query.cost_model import (
    REQUEST,
    ROW,
    ReadEstimate,
    Selectivity,
    best_estimate,
    capacity_of_bytes,
    expected_capacity,
)
from dal.query.protocols import LocatedPage, TableStatistics
from dal.query.query import EqualityKey, filters_of
from dal.table.ranges import UNBOUNDED, Range


@dataclass(frozen=True, slots=True)
class PageSpan:
    """The page to plan: its first ``limit`` rows within ``span``, in one direction."""

    span: Range
    limit: int
    descending: bool


@dataclass(frozen=True, slots=True)
class PathEstimate:
    """What to ask the segments of a path for, in their order."""

    reads: Sequence[ReadEstimate]
    rows: Sequence[float]
    """The rows of each: all that are counted, or those that the page spanned when it was read."""
    selectivity: float
    """The part of these rows that passes the residual filter."""
    span: Range
    """What to read of the segments."""
    until: str | None = None
    """The position that the span was cut at."""


def estimate_by_counts(
    path: AccessPath, page: PageSpan, counts: Sequence[int], statistics: TableStatistics
) -> PathEstimate:
    """Return what to expect of a page by counts alone: its rows may stand anywhere among them."""
    bounded = path.query.within != UNBOUNDED
    part = statistics.fraction(path.query.within) if bounded else 1.0
    rows = [_scaled(count / path.index.shards, part) for count in counts]
    total, selectivity = sum(rows), 1.0
    if path.residual and total:
        selectivity = statistics.cardinality(path.query.filters) * part / total
    if selectivity == 0:  # nothing is expected to pass: to read it all is what no path is for
        reads = [
            ReadEstimate(page.limit, math.inf, expected_capacity(held, statistics.row_bytes))
            for held in rows
        ]
        return PathEstimate(reads, rows, 1 / max(1.0, total), page.span)
    selectivity = min(1.0, selectivity)
    reads = [
        best_estimate(
            Selectivity(held / total if total else 1.0, selectivity),
            page.limit,
            statistics.row_bytes,
            most=_most(held) if bounded else math.ceil(held),
        )
        for held in rows
    ]
    return PathEstimate(reads, rows, selectivity, page.span)


def _scaled(rows: float, part: float) -> float:
    return math.ceil(rows) if part == 1.0 else rows * part


def _most(rows: float) -> int:
    """Return how many rows a range of time holds at most, as a rule: rows come in bursts."""
    return math.ceil(rows + 3 * math.sqrt(rows + 1))


def estimate_by_location(
    path: AccessPath,
    page: PageSpan,
    keys: Sequence[EqualityKey],
    located: LocatedPage,
    statistics: TableStatistics,
) -> PathEstimate:
    """Return what to expect of a page whose rows were read before, by where they stood.

    Fewer rows than a page are all there are.
    """
    found = located.rows
    until = found[-1].position if len(found) == page.limit else None
    span = page.span if until is None else page.span.until(until, descending=page.descending)
    held = [_held(path, key, located, span, statistics) for key in keys]
    reads = [
        ReadEstimate(rows + page.limit, cost=units + REQUEST + ROW * rows, capacity=units)
        for rows, units in held
    ]
    total = sum(rows for rows, _ in held)
    selectivity = min(1.0, max(1, len(found)) / total) if total else 1.0
    return PathEstimate(reads, [rows for rows, _ in held], selectivity, span, until)


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
