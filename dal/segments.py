"""Segments as streams: the rows of one key range, fetched anew when they run dry."""

import math
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from dal.costs import Odds
from dal.items import Item
from dal.plans import Plan, Segment
from dal.reading import Reading, SegmentReading
from dal.requests import QueryRequest, RunQuery
from dal.timelines import Sighting


@dataclass(slots=True)
class Wanted:
    """How many rows the page still lacks, and what was seen; the streams of a page share it."""

    rows: int
    seen: list[Sighting] = field(default_factory=list)


async def segment_rows(
    run: RunQuery, plan: Plan, segment: Segment, reading: Reading, wanted: Wanted
) -> AsyncGenerator[tuple[str, Item], None]:
    """Yield ``(position, row)`` of a segment in the plan's direction until its range ends.

    DynamoDB ends an answer at the limit or at 1 MB, possibly with no row at all; only the absence
    of a last key means that nothing is left. A refill asks for twice as much as the ask before, but
    not for more than the page can still take.
    """
    account = SegmentReading(segment.partition, str(segment.keys), segment.limit, segment.skipped)
    reading.segments.append(account)
    if account.skipped:
        return
    start, limit, unread = None, segment.limit, segment.range
    while True:
        answer = await run(_request(plan, segment, limit, start))
        reading.count(account, answer)
        rows = [(_position(plan, segment, row), row) for row in answer.items]
        start, read = answer.last_key, unread
        if start is not None:
            end = _position(plan, segment, start)
            read = unread.until(end, descending=plan.descending)
            unread = unread.beyond(end, descending=plan.descending)
        wanted.seen.append(Sighting(segment.kind, read, rows))
        for row in rows:
            yield row
        if start is None:
            return
        limit = _refill(plan, segment, wanted.rows, account.requests)


def _position(plan: Plan, segment: Segment, row: Item) -> str:
    return segment.position_of(row[plan.index.sort_key]["S"])


def _refill(plan: Plan, segment: Segment, wanted: int, asked: int) -> int:
    """Return how many rows to ask a dry segment for: what the page may still take of it.

    A segment that runs dry again and again holds more than was expected: the ask doubles.
    """
    most = math.ceil(wanted / plan.passing)
    if segment.share is None:
        return most
    mean, deviation = Odds(segment.share, plan.passing).spread(wanted)
    return max(1, min(most, math.ceil(mean + deviation) << (asked - 1)))


def _request(plan: Plan, segment: Segment, limit: int, start: Item | None) -> QueryRequest:
    return QueryRequest(
        index=plan.index.name,
        partition=(plan.index.partition_key, segment.partition),
        sort_key=plan.index.sort_key,
        range=segment.keys,
        descending=plan.descending,
        limit=limit,
        start=start,
        consistent=plan.consistent,
    )
