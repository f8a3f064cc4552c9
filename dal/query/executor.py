"""The executor: plans a query, reads the plan's segments, and merges their rows into one list.

The executor reads all segments in parallel. Each segment is one key range of one partition. A k-way
merge puts the rows in order. If one read fails, the executor cancels the other reads, and the page
fails.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

from cachetools import LRUCache

from dal.dynamodb.concurrency import in_parallel
from dal.query.cost import spread
from dal.query.optimizer import (
    PageSpan,
    TableStatistics,
    optimize,
    optimize_rest,
    prove,
    whole_pages,
    worth_proving,
)
from dal.query.plan import (
    WITHOUT_STATISTICS,
    AccessPath,
    EqualityKey,
    Plan,
    PlanBasis,
    Query,
    Segment,
    access_paths,
    too_many_segments,
    too_rare,
)
from dal.query.row_locations import RangeRead
from dal.query.statistics import READ_INSTRUMENTS, ExecutionStatistics, Purpose, SegmentStatistics
from dal.table.entity import Row
from dal.table.index import BY_DATE, Index, QueryRequest, RunQuery
from dal.table.items import Item
from dal.table.ranges import Range

KEPT_SEGMENTS = 20_000
"""Maximum number of segments in the cache of access paths. Each needs about 1 kB of memory."""


KEPT_QUERIES = 1_000
"""Maximum number of queries that need statistics although their first path refines."""

MIN_REFILL, MAX_REFILL = 8, 10_000
"""Minimum and maximum limit of a refill of a plan with a residual filter. Eight usual rows have
about 4 KB, for which DynamoDB charges as much as for one row. 10,000 rows have more than the 1 MB
of a response."""


_DROPPED_AT_ONCE = 100
"""The number of dropped rows after which other requests run. A search takes up to 0.1 ms for each
row."""

_GROWTH = 15
"""The rows of a further refill of a plan with a residual filter, as a multiple of the rows that the
page has read. Four Queries then read 4,000 rows, even if the first one is a refill of eight."""


@dataclass(slots=True)
class PageProgress:
    """The rows that a page has found, the number of missing rows, and the results of its Queries.

    All segments of the page share this object.
    """

    missing: int
    rows: list[Row] = field(default_factory=list)
    reads: list[RangeRead] = field(default_factory=list)
    filtered: list[Row] = field(default_factory=list)
    """The rows to which the residual filter of the first plan was applied."""
    dropped: int = 0
    """The number of rows dropped by a residual filter since other requests last ran."""
    further: Callable[[int], None] | None = None
    """See ``Executor.further``."""


class SegmentReader:
    """Reads the rows of one segment, in the plan's direction.

    DynamoDB ends a response at the limit or at 1 MB, and the response may contain no row. The
    segment has ended only if the response has no ``LastEvaluatedKey``. If it has not ended, and the
    page needs more rows, another Query (a refill) follows.

    The limit of a refill is the expected number of the page's missing rows in this segment, plus
    one standard deviation. Each further refill doubles the limit. The maximum is the number of rows
    that the whole page must still read. If the segment's share of the page is unknown, the limit is
    always this maximum.

    With a residual filter, these numbers are estimates that can be too low by any factor. So each
    further refill, and each refill of a plan for the rest of a page, reads many times the rows that
    the page has read, and at most about one response of 1 MB.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
    """

    def __init__(
        self,
        run: RunQuery,
        plan: Plan,
        segment: Segment,
        stats: ExecutionStatistics,
        progress: PageProgress,
    ) -> None:
        self._run, self._plan, self._segment = run, plan, segment
        self._stats, self._progress = stats, progress
        self._sort_keys = segment.sort_keys
        self._read = SegmentStatistics(
            segment.partition, self._sort_keys, segment.limit, segment.skipped
        )
        stats.segments.append(self._read)
        self.ended = self._read.skipped
        self._start: Item | None = None
        self._unread = segment.range

    def more(self) -> Coroutine[Any, Any, Sequence[Row]]:
        """Send Queries until a response has rows. Return these rows; no row at the end."""
        instruments, reading = READ_INSTRUMENTS.get(), self._next()
        if instruments is None:
            return reading
        return instruments.segment(self._segment, self._read, reading)

    async def _next(self) -> Sequence[Row]:
        plan, segment = self._plan, self._segment
        key, values, position_of = plan.index.sort_key, dict(segment.key), segment.position_of
        rows: list[Row] = []
        while not (rows or self.ended):
            if self._read.requests and self._progress.further is not None:
                self._progress.further(1)
            response = await self._run(
                QueryRequest(
                    plan.index,
                    segment.partition,
                    self._sort_keys,
                    plan.descending,
                    self._refill() if self._read.requests else segment.limit,
                    self._start,
                    plan.consistent,
                )
            )
            if segment.head or segment.prefix:
                rows = [Row(position_of(item[key]["S"]), item, values) for item in response.items]
            else:
                rows = [_new(Row, (item[key]["S"], item, values)) for item in response.items]
            self._stats.count(self._read, response, rows)
            span, self._start = self._unread, response.last_key
            self.ended = self._start is None
            if self._start is not None:
                end = position_of(self._start[key]["S"])
                span = self._unread.until(end, descending=plan.descending)
                self._unread = self._unread.beyond(end, descending=plan.descending)
            self._progress.reads.append(RangeRead(segment.key, span, rows))
        return rows

    def _refill(self) -> int:
        """Return the limit of the next refill."""
        plan, share, missing = self._plan, self._segment.share, self._progress.missing
        expected = most = math.ceil(missing / plan.selectivity)
        if share is not None:
            mean, deviation = spread(missing, share, plan.selectivity)
            expected = min(most, max(1, math.ceil(mean + deviation)))
        # If one refill was not enough, the segment has more of the page's rows than expected, or
        # the residual filter drops more rows than expected. So further refills are larger.
        further = self._read.requests - 1
        if plan.residual:
            # The segments together read no more rows than the page may drop before it is planned
            # again.
            droppable = (plan.discard_limit + missing) / len(plan.segments)
            if further or plan.large_refills:
                expected = math.ceil(_GROWTH * self._stats.items_read / len(plan.segments))
            return max(MIN_REFILL, math.ceil(min(expected, droppable, MAX_REFILL)))
        return most if share is None else min(most, expected << further)


class StatisticsProvider(Protocol):
    """Provides statistics about a query's rows.

    ``inexact`` and ``empty`` add the cost of reading the statistics to ``spent``.
    """

    async def inexact(self, query: Query, spent: ExecutionStatistics) -> TableStatistics | None:
        """Return statistics that may be some seconds old; None if there are none."""

    async def empty(
        self, query: Query, keys: Sequence[EqualityKey], spent: ExecutionStatistics
    ) -> Collection[EqualityKey]:
        """Return those of ``keys`` that no row has, according to exact statistics."""

    def observe(self, query: Query, reads: Sequence[RangeRead]) -> None:
        """Remember where a page found its rows, for later plans."""


def _segments(paths: Sequence[AccessPath]) -> int:
    return sum(path.size for path in paths)


@dataclass(frozen=True, slots=True)
class Executor:
    """Plans queries on one entity's indexes, and reads rows by these plans."""

    run: RunQuery
    indexes: Sequence[Index]
    statistics: StatisticsProvider | None = None
    further: Callable[[int], None] | None = None
    """Receives the number of Queries before a refill, or before the Queries of the plan for the
    rest of a page. It can raise an error, which ends the read."""
    _paths: LRUCache[Query, Sequence[AccessPath]] = field(
        default_factory=partial(LRUCache, KEPT_SEGMENTS, _segments)
    )
    _dropping: LRUCache[Query, bool] = field(default_factory=partial(LRUCache, KEPT_QUERIES))
    """Queries whose first path refines, but whose pages dropped many rows."""

    async def first(
        self,
        query: Query,
        span: Range,
        stats: ExecutionStatistics,
        *,
        descending: bool,
        count: int,
        plan_by: PlanBasis | None = None,
    ) -> list[Row]:
        """Return at most the first ``count`` rows of ``query`` within ``span``.

        Raises TooManySegmentsError if the page would have to read too many segments, or if its
        residual filter drops too many rows.
        """
        try:
            paths = self._paths[query]
        except KeyError:
            paths = self._paths[query] = access_paths(self.indexes, query)
        page = PageSpan(query.within & span, count, descending)
        known, decided = None, paths[0].size <= 1 and paths[0].refines
        if not decided or query in self._dropping:  # statistics can change the plan
            known = await self._known(query, page, stats, plan_by)
        plan = self._plan(paths, page, stats, known, plan_by)
        if self.statistics is not None and worth_proving(plan):
            keys = [segment.key for segment in plan.segments]
            plan = prove(plan, await self.statistics.empty(query, keys, stats))
        stats.begin(stats.purpose, plan)
        progress = PageProgress(count, further=self.further)
        if (reached := await self._collect(plan, stats, progress)) is not None:
            rest = page.span.beyond(reached, descending=descending)
            page = PageSpan(rest, progress.missing, descending)
            if known is None and decided:
                self._dropping[query] = True
                known = await self._known(query, page, stats, plan_by)
            if known is not None:
                passed = count - progress.missing
                known = known.corrected(plan, progress.filtered, passed)
            plan = optimize_rest(paths, page, known, plan)
            if self.further is not None:
                self.further(len(plan.segments))
            stats.begin(Purpose.REST, plan)
            if await self._collect(plan, stats, progress) is not None:
                most = paths[0].instead_of
                raise too_many_segments(most) if most else too_rare()
        # Row locations are positions by date.
        if self.statistics is not None and plan.index.order is BY_DATE:
            self.statistics.observe(query, progress.reads)
        return progress.rows

    async def _known(
        self,
        query: Query,
        page: PageSpan,
        stats: ExecutionStatistics,
        plan_by: PlanBasis | None,
    ) -> TableStatistics | None:
        """Return statistics, if there are any, and if a plan of the page may use them."""
        unused = plan_by in WITHOUT_STATISTICS or page.limit == 0 or page.span.empty
        if self.statistics is None or unused:
            return None
        known = await self.statistics.inexact(query, stats)
        if known is not None and plan_by is PlanBasis.COUNTS:
            known = known._replace(locations=None)
        return known

    def _plan(
        self,
        paths: Sequence[AccessPath],
        page: PageSpan,
        stats: ExecutionStatistics,
        known: TableStatistics | None,
        plan_by: PlanBasis | None,
    ) -> Plan:
        """Return the page's plan, before segments are proved empty."""
        if plan_by is PlanBasis.FULL_PAGES:
            plan = whole_pages(paths[0], page)
        else:
            plan = optimize(paths, page, known)
        if stats.instruments is not None:
            stats.instruments.planned(self.indexes, paths, page, known, plan)
        return plan

    def _collect(
        self, plan: Plan, stats: ExecutionStatistics, progress: PageProgress
    ) -> Awaitable[str | None]:
        """Read the missing rows, and report the read to ``READ_INSTRUMENTS``.

        Return the position after which the rest of the page must be planned again. Return None if
        the page is full or the list has ended.
        """
        instruments, reading = READ_INSTRUMENTS.get(), self._merge(plan, stats, progress)
        return reading if instruments is None else instruments.plan(plan, stats.segments, reading)

    async def _merge(
        self, plan: Plan, stats: ExecutionStatistics, progress: PageProgress
    ) -> str | None:
        """Read and merge the segments.

        Return the position after which the rest of the page must be planned again. Return None if
        the page is full or the list has ended. Planning again is necessary in two cases:

        - The residual filter has dropped more rows than the discard limit.
        - The plan has an expected end (``until``), and the page is not full there.
        """
        discardable, progress.filtered = plan.discard_limit, []
        readers = [SegmentReader(self.run, plan, one, stats, progress) for one in plan.segments]
        # The rows of a single segment are in order.
        merged: Source = (
            readers[0] if len(readers) == 1 else Merge(readers, descending=plan.descending)
        )
        while progress.missing:
            batch = await merged.more()
            if not batch:
                return plan.until
            start = 0
            while start < len(batch):
                # No more rows than are missing can pass, so no row is filtered in vain.
                some = batch[start : start + min(progress.missing, _DROPPED_AT_ONCE)]
                passing = plan.passing(some) if plan.residual else some
                progress.rows += passing
                progress.missing -= len(passing)
                if progress.missing == 0:
                    return None
                start += len(some)
                dropped = len(some) - len(passing)
                discardable -= dropped
                progress.dropped += dropped
                if progress.dropped >= _DROPPED_AT_ONCE:
                    progress.dropped = 0
                    await asyncio.sleep(0)  # let other requests run
            if plan.residual:
                progress.filtered += batch
            if discardable < 0 and not merged.ended:
                return batch[-1].position
        return None


_position = itemgetter(0)
_new = tuple.__new__  # ``Row`` itself takes twice the time


class Source(Protocol):
    """A source of rows in batches. The rows are sorted in the direction of the merge."""

    async def more(self) -> Sequence[Row]:
        """Return the next batch of rows; an empty batch at the end."""

    @property
    def ended(self) -> bool:
        """Whether the source has no further rows."""


class Merge:
    """The k-way merge: returns the rows of all sources in order, and one row for each position.

    If a field of a row changes, the row moves to another segment. Reads at that moment can return
    the row from both segments, at the same position. The merge then returns only one of the two
    rows.
    """

    def __init__(self, sources: Sequence[Source], *, descending: bool) -> None:
        self._first, self._descending = (max if descending else min), descending
        self._dry = sources
        """Sources from which the merge has returned every row that it has read. The merge reads
        from them next."""
        self._open: list[tuple[str, Source]] = []
        """The other sources that may have further rows, each with the position of the last row
        that the merge has read from it."""
        self._waiting: list[Row] = []
        """Rows that cannot be returned yet, because a source may still have an earlier row."""

    @property
    def ended(self) -> bool:
        """Whether the merge has returned all rows."""
        return not (self._dry or self._open)

    async def more(self) -> Sequence[Row]:
        """Return the next rows in order; no row at the end.

        Only the sources that may have the next row are read, in parallel.
        """
        batches = await in_parallel([source.more() for source in self._dry])
        for source, rows in zip(self._dry, batches, strict=True):
            if not source.ended:
                self._open.append((rows[-1].position, source))
        if len(batches) == 1 and not self._waiting:
            merged = list(batches[0])
        else:
            merged = sorted(chain(self._waiting, *batches), key=_position, reverse=self._descending)
            merged = list({row[0]: row for row in merged}.values())
        if not self._open:
            self._dry, self._waiting = (), []
            return merged
        bound = self._first(self._open, key=_position)[0]
        self._dry = [source for last, source in self._open if last == bound]
        self._open = [one for one in self._open if one[0] != bound]
        end = next(number for number, row in enumerate(merged, 1) if row[0] == bound)
        self._waiting = merged[end:]
        return merged[:end]
