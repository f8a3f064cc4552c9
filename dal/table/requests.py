"""One Query as plain data, as the arguments that DynamoDB takes, and run to its end."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from dal.table.index import Index
from dal.table.items import Item
from dal.table.ranges import UNBOUNDED, Range, just_above, just_below

Spend: TypeAlias = Callable[[float], None]
"""Takes note of one Query that reads no row of a page, and of its RCU."""


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """One Query: up to ``limit`` rows of one partition's range, from ``start`` (a last key) on.

    Only the table itself and local indexes can be read ``consistent``ly.
    """

    index: Index
    partition: str
    range: Range = UNBOUNDED
    descending: bool = False
    limit: int = 1_000
    start: Item | None = None
    consistent: bool = False


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The rows of one Query; ``last_key`` is None once the range has no more of them.

    ``capacity`` is in RCU, and ``nan`` where the endpoint does not tell it, as are sums with it.
    """

    items: Sequence[Item]
    last_key: Item | None
    capacity: float


RunQuery: TypeAlias = Callable[[QueryRequest], Awaitable[QueryAnswer]]
"""A table's ``query``, or what stands for it."""


async def answers(run: RunQuery, request: QueryRequest) -> AsyncIterator[QueryAnswer]:
    """Yield the answers of a Query until its range has no more rows; its limit is of each."""
    while True:
        answer = await run(request)
        yield answer
        if answer.last_key is None:
            return
        request = replace(request, start=answer.last_key)


def query_arguments(request: QueryRequest) -> dict[str, Any]:
    """Return Query's arguments, the table name aside; never a FilterExpression."""
    condition, values = _sort_condition(request.range)
    names = {"#p": request.index.partition_key}
    if condition:
        names["#s"] = request.index.sort_key
    arguments = {
        "KeyConditionExpression": f"#p = :p{condition}",
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {":p": {"S": request.partition}, **values},
        "ScanIndexForward": not request.descending,
        "Limit": request.limit,
        "ReturnConsumedCapacity": "TOTAL",
    }
    if request.index.name is not None:
        arguments["IndexName"] = request.index.name
    if request.consistent:
        arguments["ConsistentRead"] = True
    if request.start is not None:
        arguments["ExclusiveStartKey"] = request.start
    return arguments


def _sort_condition(span: Range) -> tuple[str, dict[str, Item]]:
    """Return the sort key's part of a key condition, which takes one comparison at most.

    BETWEEN includes both its ends, so an open end becomes its neighbour.
    """
    low, high = span.low, span.high
    if low is not None and high is not None:
        low = just_above(low) if span.low_open else low
        high = just_below(high) if span.high_open else high
        return " AND #s BETWEEN :l AND :h", {":l": {"S": low}, ":h": {"S": high}}
    if low is not None:
        return f" AND #s {'>' if span.low_open else '>='} :l", {":l": {"S": low}}
    if high is not None:
        return f" AND #s {'<' if span.high_open else '<='} :h", {":h": {"S": high}}
    return "", {}
