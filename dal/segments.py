"""Segments as streams: the rows of one key range, fetched a limit at a time when they run dry."""

from collections.abc import AsyncGenerator, Awaitable, Callable

from dal.items import Item
from dal.planner import Plan, Segment
from dal.reading import Reading, SegmentReading
from dal.requests import QueryAnswer, QueryRequest

RunQuery = Callable[[QueryRequest], Awaitable[QueryAnswer]]


async def segment_rows(
    run: RunQuery, plan: Plan, segment: Segment, reading: Reading
) -> AsyncGenerator[tuple[str, Item], None]:
    """Yield ``(position, row)`` of a segment in the plan's direction until its range ends.

    DynamoDB ends an answer at the limit or at 1 MB, possibly with no row at all; only the absence
    of a last key means that nothing is left.
    """
    account = SegmentReading(
        segment.partition, str(segment.range), segment.limit, segment.range.empty
    )
    reading.segments.append(account)
    if account.skipped:
        return
    start = None
    while True:
        answer = await run(_request(plan, segment, start))
        reading.count(account, answer)
        for row in answer.items:
            yield row[plan.index.sort_key]["S"], row
        start = answer.last_key
        if start is None:
            return


def _request(plan: Plan, segment: Segment, start: Item | None) -> QueryRequest:
    return QueryRequest(
        index=plan.index.name,
        partition=(plan.index.partition_key, segment.partition),
        sort_key=plan.index.sort_key,
        range=segment.range,
        descending=plan.descending,
        limit=segment.limit,
        start=start,
    )
