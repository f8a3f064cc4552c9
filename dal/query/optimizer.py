"""The optimizer: estimates the cost of each access path of a page, and plans the cheapest one.

An access path is one index that can answer the page's query, with the segments (key ranges) to
read. The optimizer uses one of three methods for each page:

- Without statistics it chooses the path with the fewest fields in its residual filter (the filter
  that the executor applies to the rows read). The limit of each segment (the maximum number of rows
  of its first Query) is the number of rows of the page. If the segments are shards of one list, the
  limit is lower: the expected number of the page's rows in one shard, plus a margin. The executor
  reads no statistics if the path has one segment, and its residual filter only refines a field of
  the partition key (``en-GB`` in the partition of ``en``). If the page then drops many rows, the
  executor reads the counts, and plans the rest of the page.
- With counts it chooses the path with the least expected cost. It also chooses the limit of each
  segment by the expected cost. A higher limit reads rows that the page does not need, and a lower
  limit causes further Queries (refills).
- With row locations it also chooses the path with the least expected cost. A page has row locations
  if this process has read its rows before. They show how many of the page's rows each segment has,
  and where the page ends. The segments end at that position, so a high limit costs nothing.

Exact statistics do not affect the choice of the path. They prove that segments of the chosen plan
are empty, and the executor skips these segments.

All segments of a plan have the same total order of rows. So one position is enough to continue all
of them on the next page.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dal.query.cost import (
    REQUEST,
    ROW,
    ReadEstimate,
    best_estimate,
    capacity_of_bytes,
    expected_capacity,
    least_cost,
    spread,
)
from dal.query.plan import AccessPath, EqualityKey, Filters, Plan, Segment, filters_of
from dal.query.row_locations import LocatedPage, RowLocations
from dal.table.entity import Row
from dal.table.key_parts import INSTANT_LENGTH, parse_instant
from dal.table.ranges import UNBOUNDED, Range

MAX_DROPPED = 2_000
"""Maximum rows (about 140 RCU) that a page reads and drops, if its filter selects more than
``MAX_SEGMENTS`` partitions, or is a search that no index answers. Such a page reads a coarser
index, and drops the rows that do not pass the filter. Above the maximum, the optimizer plans the
rest of the page once more. If the new plan also exceeds the maximum, the page ends with an
error."""

CHECKED_ROWS = 200
"""Maximum rows of a page that are searched again, for an estimate. Searching a row takes up to 0.1
ms."""

SHARD_MARGIN = 5
"""The margin of a shard's limit, in standard deviations. With five, fewer than one page in a
thousand needs a refill."""

DISCARD_RATIO = 2
"""Maximum number of dropped rows, as a multiple of the number of rows that the page is expected to
read. Above the maximum, the executor plans the rest of the page again."""

_PROOF = 1.0 + REQUEST
"""The cost of reading exact statistics, in RCU."""

_EMPTY_READ = expected_capacity(1, 1)
_EMPTY_SEGMENT = _EMPTY_READ + REQUEST
"""The cost of reading an empty segment, in RCU."""


class PageSpan(NamedTuple):
    """The page to plan: the first ``limit`` rows within ``span``, in one direction."""

    span: Range
    limit: int
    descending: bool


class TableStatistics(NamedTuple):
    """Statistics about a query's rows.

    They may be some seconds old, so they cannot prove that a segment is empty.
    """

    counts: Callable[[Filters], int]
    """A function that returns the number of rows that pass the given filters, from the counts. It
    ignores filters by uncounted fields."""
    row_bytes: float
    """The mean size of a row, in bytes."""
    locations: RowLocations | None = None
    oldest: str = ""
    newest: str = ""
    """The positions of the oldest and the newest row, if the query has dates."""
    shares: Mapping[str, float] = {}
    """For each uncounted field, the estimated share of the rows with the value ``true``. For a
    search, the estimated share of the rows that match it."""
    matching: float = math.inf
    """The number of rows that pass all filters of the query, estimated from the rows that a plan
    has read; infinite before the first estimate."""

    def cardinality(self, filters: Filters) -> int:
        """Return the number of rows that pass the given filters.

        If a filter's field is not counted, the number is an estimate.
        """
        share = 1.0
        for name in self.shares.keys() & filters.keys():
            share *= 1.0 - self.shares[name] if "false" in filters[name] else self.shares[name]
        return math.ceil(self.counts(filters) * share)

    def corrected(self, plan: Plan, rows: Sequence[Row], passed: int) -> "TableStatistics":
        """Return the statistics, corrected by the rows that a plan has read.

        ``passed`` is the number of these rows that pass the plan's residual filter. The statistics
        have no row locations, because the rows are not where these expected them. The
        correction never assumes that no row passes, because a few rows cannot prove it.
        """
        if not plan.residual:
            return self._replace(locations=None)
        whole, shares = _share(passed, len(rows)), dict(self.shares)
        for name in shares.keys() & plan.residual.keys():
            passing = whole
            if len(plan.residual) > 1:
                some = rows[:CHECKED_ROWS] if name in plan.index.searches else rows
                passing = _share(len(plan.passing(some, [name])), len(some))
            shares[name] = 1.0 - passing if "false" in plan.residual[name] else passing
        known = self._replace(locations=None, shares=shares)
        held = sum(
            {one.key: known.cardinality(filters_of(one.key)) for one in plan.segments}.values()
        )
        return known._replace(matching=held * whole)

    def fraction(self, within: Range) -> float:
        """Return the expected fraction of the rows that is within a range of positions.

        The rows are assumed to be spread evenly over time. If ``oldest`` is empty, the fraction is
        1.0.
        """
        if not self.oldest:
            return 1.0
        first, last = _seconds(self.oldest), _seconds(self.newest)
        start = first if within.low is None else max(first, _seconds(within.low))
        end = last if within.high is None else min(last, _seconds(within.high))
        return min(1.0, max(0.0, end - start) / max(1.0, last - first))

    def located(self, keys: Sequence[EqualityKey], page: PageSpan) -> LocatedPage | None:
        """Return where the page's rows are; None if this process does not remember all of them.

        ``keys`` are the field values that the page's rows may have.
        """
        if self.locations is None:
            return None
        return self.locations.page(keys, page.span, descending=page.descending, count=page.limit)


def _share(some: int, of: int) -> float:
    """Estimate the share of rows with a value, of which ``of`` rows are a sample.

    The share is never 0 or 1, because a few rows cannot prove that no row or every row has it.
    """
    return (some + 0.5) / (of + 1)


def _seconds(position: str) -> float:
    return parse_instant(position[:INSTANT_LENGTH]).timestamp()


class PathEstimate(NamedTuple):
    """A limit for each segment of an access path, and the expected cost of the path."""

    path: AccessPath
    cost: float
    """The cost that the optimizer compares, in RCU."""
    reads: Sequence[ReadEstimate]
    rows: Sequence[float]
    """The number of rows of each segment. An estimate from counts includes all rows of the segment
    within the query's dates. An estimate from row locations includes only the rows within the
    page."""
    selectivity: float
    """The fraction of the rows counted in ``rows`` that passes the residual filter."""
    span: Range
    """The positions to read."""
    until: str | None = None
    """The position where the segments end, because the page is expected to end there. None if the
    segments end with ``span``."""


def optimize(
    paths: Sequence[AccessPath], page: PageSpan, statistics: TableStatistics | None
) -> Plan:
    """Return the plan with the least expected cost; without statistics, a plan of the first path.

    ``paths`` is the result of ``access_paths``.
    """
    if statistics is None:
        path = paths[0]
        if path.residual and path.refines and not path.instead_of:
            # If more rows than the page has do not pass, statistics are worth their cost.
            return replace(whole_pages(path, page), discard_limit=page.limit, large_refills=False)
        if path.size != path.index.shards or path.residual:
            return whole_pages(path, page)
        # The segments are shards of one list, and a hash spreads the rows evenly over shards.
        share = 1 / path.size
        mean, deviation = spread(page.limit, share)
        limit = min(page.limit, math.ceil(mean + SHARD_MARGIN * deviation))
        return _plan(path, page, [(limit, share)] * path.size)
    located = statistics.located(paths[0].keys, page)
    cheapest = cheapest_estimate(paths, page, statistics, located)
    total = max(1, sum(cheapest.rows))
    replans = cheapest.path.residual
    most = DISCARD_RATIO * page.limit / cheapest.selectivity if replans else math.inf
    limits = [
        (read.limit, held / total) for read, held in zip(cheapest.reads, cheapest.rows, strict=True)
    ]
    if cheapest.path.searches:
        # Above the discard limit, the page is planned again, or ends. So do not read more rows.
        most = min(most, MAX_DROPPED)
        limits = [
            (min(limit, math.ceil(share * (most + page.limit)) + 1), share)
            for limit, share in limits
        ]
    return _plan(
        cheapest.path,
        PageSpan(cheapest.span, page.limit, page.descending),
        limits,
        selectivity=cheapest.selectivity,
        discard_limit=MAX_DROPPED if cheapest.path.instead_of else most,
        unproven=sum([not statistics.cardinality(one) for one in cheapest.path.filters]),
        capacity=sum([read.capacity for read in cheapest.reads]),
        until=cheapest.until,
    )


def optimize_rest(
    paths: Sequence[AccessPath], page: PageSpan, statistics: TableStatistics | None, first: Plan
) -> Plan:
    """Return the plan for the rest of a page whose plan ``first`` has dropped too many rows."""
    # A path that also drops rows, and has more segments, could take too many Queries.
    usable = [
        path
        for path in paths
        if path.index is first.index or path.size <= len(first.segments) or not path.residual
    ]
    plan = optimize(usable, page, statistics)
    if usable[0].limited:
        return replace(plan, discard_limit=MAX_DROPPED)
    return replace(plan, discard_limit=math.inf, large_refills=True)


def whole_pages(path: AccessPath, page: PageSpan) -> Plan:
    """Return the plan that reads up to a whole page of rows from each segment of ``path``."""
    most = MAX_DROPPED if path.limited else math.inf
    limits = [(page.limit, None)] * path.size
    return _plan(path, page, limits, discard_limit=most, large_refills=not path.instead_of)


def worth_proving(plan: Plan) -> bool:
    """Return whether exact statistics are expected to save more than they cost."""
    return plan.unproven * _EMPTY_SEGMENT > _PROOF


def prove(plan: Plan, empty: Collection[EqualityKey]) -> Plan:
    """Return the plan, changed so that the executor skips the segments with a key in ``empty``."""
    segments = tuple(
        segment._replace(limit=0, empty=True) if segment.key in empty else segment
        for segment in plan.segments
    )
    skipped = sum(segment.empty for segment in segments)
    capacity = None if plan.capacity is None else plan.capacity - skipped * _EMPTY_READ
    return replace(plan, segments=segments, capacity=capacity)


def cheapest_estimate(
    paths: Sequence[AccessPath],
    page: PageSpan,
    statistics: TableStatistics,
    located: LocatedPage | None,
) -> PathEstimate:
    """Return the estimate of the cheapest path. Of equally cheap paths, the first path wins.

    Each path is compared with the cheapest path before it. If a path cannot be cheaper, it gets no
    full estimate.
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
    assert cheapest is not None  # noqa: S101 - the first path always gets an estimate
    return cheapest


def _estimate_by_counts(
    path: AccessPath, page: PageSpan, statistics: TableStatistics, cheapest: float
) -> PathEstimate | None:
    """Return an estimate from counts; None if the path costs at least ``cheapest``."""
    bounded = path.query.within != UNBOUNDED
    part = statistics.fraction(path.query.within) if bounded else 1.0
    rows = [statistics.cardinality(filters) / path.index.shards * part for filters in path.filters]
    if part == 1.0:
        rows = [math.ceil(held) for held in rows]
    total, selectivity = sum(rows), 1.0
    if path.residual and total:
        matching = min(statistics.cardinality(path.query.filters), statistics.matching)
        selectivity = matching * part / total
    if selectivity == 0:  # No row is expected to pass, so this path would read all rows.
        reads = [
            ReadEstimate(page.limit, math.inf, expected_capacity(held, statistics.row_bytes))
            for held in rows
        ]
        return PathEstimate(path, math.inf, reads, rows, 1 / max(1.0, total), page.span)
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
            # Comments arrive in bursts, so a time range may have more rows than an even spread
            # predicts.
            math.ceil(held + 3 * math.sqrt(held + 1)) if bounded else math.ceil(held),
        )
        for held in rows
    ]
    return PathEstimate(path, sum(one.cost for one in reads), reads, rows, selectivity, page.span)


def _estimate_by_location(
    path: AccessPath,
    page: PageSpan,
    located: LocatedPage,
    statistics: TableStatistics,
    cheapest: float,
) -> PathEstimate | None:
    """Return an estimate from row locations; None if the path costs at least ``cheapest``."""
    if path.size * (REQUEST + 0.5) + ROW * located.rows >= cheapest:
        return None
    reads, held = [], []
    for segment in path.segments:
        rows, capacity = _located_rows(path, segment.key, located, statistics)
        reads.append(ReadEstimate(rows + page.limit, capacity + REQUEST + ROW * rows, capacity))
        held.append(rows)
    cost, total = sum([read.cost for read in reads]), sum(held)
    selectivity = min(1.0, max(1, located.rows) / total) if total else 1.0
    return PathEstimate(path, cost, reads, held, selectivity, located.span, located.until)


def _located_rows(
    path: AccessPath, key: EqualityKey, located: LocatedPage, statistics: TableStatistics
) -> tuple[int, float]:
    """Return how many rows with ``key`` one shard has in the page's span, and the RCU to read them.

    If this process does not remember all these rows, the number is an estimate. The estimate
    assumes that the residual filter drops the same fraction of rows in the page as in the whole
    list. On the last page of a list, the Queries also read the dropped rows between the last
    passing row and the end of the list. To allow for these rows, the estimate assumes one more
    passing row.
    """
    shards = path.index.shards
    known = located.among(key)
    if known is not None:
        rows, size = known
        return math.ceil(rows / shards), capacity_of_bytes(math.ceil(size / shards))
    rows, passing = 0, located.matching(key) + (located.until is None)
    if passing:
        filters = filters_of(key)
        held = statistics.cardinality(filters)
        among = statistics.cardinality({**path.query.filters, **filters})
        rows = min(held, math.ceil(passing * held / max(1, among) / shards))
    return rows, expected_capacity(rows, statistics.row_bytes)


def _plan(
    path: AccessPath,
    page: PageSpan,
    limits: Sequence[tuple[int, float | None]],
    **expected: Any,
) -> Plan:
    """Return a plan. Each segment gets its limit and its share of the rows from ``limits``."""
    query = path.query
    segments = [
        Segment(one.partition, page.span, limit, one.prefix, one.key, one.head, share)
        for one, (limit, share) in zip(path.segments, limits, strict=True)
    ]
    return Plan(
        query.access_pattern,
        path.index,
        tuple(segments),
        page.descending,
        query.consistent,
        path.residual,
        **expected,
    )
