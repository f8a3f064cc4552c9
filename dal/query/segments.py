"""Segments as sources of rows: one key range, asked anew when its rows run dry."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from dal.entities.entity import Row
from dal.instrumentation import READ_INSTRUMENTS
from dal.query.cost_model import Selectivity
from dal.query.execution_stats import ExecutionStatistics, SegmentStatistics
from dal.query.plan import Plan, Segment
from dal.query.protocols import RangeRead
from dal.table.items import Item
from dal.table.requests import QueryRequest, RunQuery


@dataclass(slots=True)
class PageProgress:
    """How many rows a page still lacks, and what was read; the segments of a page share it."""

    missing: int
    reads: list[RangeRead] = field(default_factory=list)


class SegmentReader:
    """The rows of a segment in the plan's direction, until its range ends.

    DynamoDB ends an answer at the limit or at 1 MB, possibly with no row at all; only the absence
    of a last key means that nothing is left. A refill asks for twice as much as the ask before, but
    not for more than the page can still take.
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

    async def more(self) -> Sequence[Row]:
        """Return the rows of the next answer that has any; none at the end."""
        instruments = READ_INSTRUMENTS.get()
        reading = self._next()
        if instruments is None:
            return await reading
        return await instruments.segment(self._segment, self._read, reading)

    async def _next(self) -> Sequence[Row]:
        rows: Sequence[Row] = ()
        while not (rows or self.ended):
            rows = await self._ask()
        return rows

    async def _ask(self) -> Sequence[Row]:
        plan, segment, span = self._plan, self._segment, self._unread
        answer = await self._run(
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
        self._stats.count(self._read, answer)
        key, values, position_of = plan.index.sort_key, dict(segment.key), segment.position_of
        rows = [Row(position_of(item[key]["S"]), item, values) for item in answer.items]
        self._start = answer.last_key
        self.ended = self._start is None
        if self._start is not None:
            end = position_of(self._start[key]["S"])
            span = self._unread.until(end, descending=plan.descending)
            self._unread = self._unread.beyond(end, descending=plan.descending)
        self._progress.reads.append(RangeRead(segment.key, span, rows, segment.partition))
        if self._stats.trace is not None:
            self._stats.note(self._read, rows, answer.capacity, ended=self.ended)
        return rows

    def _refill(self) -> int:
        """Return how many rows to ask a dry segment for: what the page may still take of it.

        A segment that runs dry again and again holds more than was expected: the ask doubles.
        """
        plan, share, missing = self._plan, self._segment.share, self._progress.missing
        most = math.ceil(missing / plan.selectivity)
        if share is None:
            return most
        mean, deviation = Selectivity(share, plan.selectivity).spread(missing)
        return min(most, max(1, math.ceil(mean + deviation)) << (self._read.requests - 1))
