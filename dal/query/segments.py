"""Segments as streams: the rows of one key range, fetched anew when they run dry."""

import math
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from dal.entities.entity import Row
from dal.query.cost_model import Selectivity
from dal.query.execution_stats import ExecutionStatistics, SegmentStatistics
from dal.query.plan import Plan, Segment
from dal.query.protocols import RangeRead
from dal.table.item import Item
from dal.table.requests import QueryRequest, RunQuery


@dataclass(slots=True)
class PageProgress:
    """How many rows a page still lacks, and what was read; the segments of a page share it."""

    missing: int
    reads: list[RangeRead] = field(default_factory=list)


async def segment_rows(
    run: RunQuery,
    plan: Plan,
    segment: Segment,
    stats: ExecutionStatistics,
    progress: PageProgress,
) -> AsyncGenerator[Row, None]:
    """Yield the rows of a segment in the plan's direction until its range ends.

    DynamoDB ends an answer at the limit or at 1 MB, possibly with no row at all; only the absence
    of a last key means that nothing is left. A refill asks for twice as much as the ask before, but
    not for more than the page can still take.
    """
    segment_stats = SegmentStatistics(
        segment.partition, str(segment.sort_keys), segment.limit, segment.skipped
    )
    stats.segments.append(segment_stats)
    if segment_stats.skipped:
        return
    start, limit, unread, values = None, segment.limit, segment.range, dict(segment.key)
    while True:
        answer = await run(_request(plan, segment, limit, start))
        stats.count(segment_stats, answer)
        rows = [Row(_position(plan, segment, item), item, values) for item in answer.items]
        start, read = answer.last_key, unread
        if start is not None:
            end = _position(plan, segment, start)
            read = unread.until(end, descending=plan.descending)
            unread = unread.beyond(end, descending=plan.descending)
        progress.reads.append(RangeRead(segment.key, read, rows))
        for row in rows:
            yield row
        if start is None:
            return
        limit = _refill(plan, segment, progress.missing, segment_stats.requests)


def _position(plan: Plan, segment: Segment, item: Item) -> str:
    return segment.position_of(item[plan.index.sort_key]["S"])


def _refill(plan: Plan, segment: Segment, missing: int, asked: int) -> int:
    """Return how many rows to ask a dry segment for: what the page may still take of it.

    A segment that runs dry again and again holds more than was expected: the ask doubles.
    """
    most = math.ceil(missing / plan.selectivity)
    if segment.share is None:
        return most
    mean, deviation = Selectivity(segment.share, plan.selectivity).spread(missing)
    return max(1, min(most, math.ceil(mean + deviation) << (asked - 1)))


def _request(plan: Plan, segment: Segment, limit: int, start: Item | None) -> QueryRequest:
    return QueryRequest(
        plan.index,
        segment.partition,
        segment.sort_keys,
        plan.descending,
        limit,
        start,
        plan.consistent,
    )
