"""Fakes that fail, lag or change when a test wants it, as no real engine does."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dal.counts import mode
from dal.dynamodb.responses import dal_error, unreachable
from dal.dynamodb.wire import Service
from dal.entities import INDEXES
from dal.table.errors import DalError, StoreRefusedError
from dal.table.index import Index, QueryRequest, QueryResponse
from dal.table.items import Item
from dal.table.ranges import Range


@dataclass
class FakeEngine:
    """DynamoDB's Query over items in memory. An instance is a ``dal.query.executor.RunQuery``.

    Requests are numbered from 0. ``most_rows`` ends a response early, as DynamoDB does at 1 MB.
    With ``hollow``, a response without rows but with a last key precedes each real response.
    ``faults`` are raised by the requests with their number. ``delays`` are seconds by partition.
    ``changes`` are called when the request with their number arrives.
    """

    items: dict[tuple[str, str], Item] = field(default_factory=dict)
    most_rows: int | None = None
    hollow: bool = False
    faults: Mapping[int, Exception] = field(default_factory=dict)
    delays: Mapping[str, float] = field(default_factory=dict)
    changes: Mapping[int, Callable[[], None]] = field(default_factory=dict)
    indexes: Sequence[Index] = INDEXES
    requests: list[QueryRequest] = field(default_factory=list)
    rows_answered: int = 0
    running: int = 0
    most_running: int = 0
    _hollow_keys: list[Item] = field(default_factory=list)

    def put(self, *items: Item) -> None:
        for item in items:
            self.items[_primary(item)] = item

    def delete(self, item: Item) -> None:
        self.items.pop(_primary(item), None)

    @property
    def asked(self) -> Counter[str]:
        """The number of requests to each partition."""
        return Counter(request.partition for request in self.requests)

    async def __call__(self, request: QueryRequest) -> QueryResponse:
        number = len(self.requests)
        self.requests.append(request)
        self.changes.get(number, lambda: None)()
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            await asyncio.sleep(self.delays.get(request.partition, 0))
        finally:
            self.running -= 1
        if number in self.faults:
            raise self.faults[number]
        return self._answer(request)

    def _answer(self, request: QueryRequest) -> QueryResponse:
        _refuse_what_dynamodb_refuses(request)
        if self.hollow and request.start not in self._hollow_keys:
            self._hollow_keys.append(request.start or _edge_key(request))
            return QueryResponse([], self._hollow_keys[-1], 0.5)
        left = self._rows_left(request)
        most = min(request.limit, self.most_rows or request.limit)
        rows = left[:most]
        # As in DynamoDB, a response that reaches the limit has a last key, even if no row follows.
        ended = len(rows) < request.limit and len(rows) == len(left)
        last_key = None if ended else _keys_of(rows[-1], request)
        self.rows_answered += len(rows)
        return QueryResponse(rows, last_key, 0.5)

    def _projected(self, item: Item, request: QueryRequest) -> Item:
        """Return an item's row in the request's index.

        In the table itself, the row is the whole item.
        """
        if request.index.name is None:
            return dict(item)
        kinds = [index for index in self.indexes if index.name == request.index.name]
        shown = {name for index in kinds for name in index.attributes}
        return {name: value for name, value in item.items() if name in shown}

    def _rows_left(self, request: QueryRequest) -> list[Item]:
        index = request.index
        rows = [
            self._projected(item, request)
            for item in self.items.values()
            if item.get(index.partition_key) == {"S": request.partition}
            and index.sort_key in item
            and within(request.range, item[index.sort_key]["S"])
        ]
        rows.sort(key=lambda row: _place(row, request), reverse=request.descending)
        if request.start is None:
            return rows
        start = _place(request.start, request)
        return [row for row in rows if _follows(_place(row, request), start, request)]


def _primary(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]


def within(span: Range, key: str) -> bool:
    """Return whether a sort key is in a range. As in DynamoDB, keys compare as bytes."""
    at = key.encode()
    if span.low is not None and (at < span.low.encode() or (span.low_open and key == span.low)):
        return False
    return span.high is None or (
        at < span.high.encode() or (key == span.high and not span.high_open)
    )


def _place(row: Item, request: QueryRequest) -> tuple[bytes, bytes]:
    return row[request.index.sort_key]["S"].encode(), row["PK"]["S"].encode()


def _follows(place: tuple[bytes, bytes], start: tuple[bytes, bytes], request: QueryRequest) -> bool:
    return place < start if request.descending else place > start


def _keys_of(item: Item, request: QueryRequest) -> Item:
    index = request.index
    return {name: item[name] for name in ("PK", "SK", index.partition_key, index.sort_key)}


def _edge_key(request: QueryRequest) -> Item:
    """Return a last key that precedes every row in the order of the request."""
    edge = {"S": "\U0010ffff" if request.descending else ""}
    keys = {request.index.partition_key: {"S": request.partition}, request.index.sort_key: edge}
    return {"PK": edge, "SK": edge, **keys}


def _refuse_what_dynamodb_refuses(request: QueryRequest) -> None:
    attribute = request.index.partition_key
    if request.limit < 1:
        raise StoreRefusedError("Limit must be greater than or equal to 1.")
    if request.range.empty:
        raise StoreRefusedError("BETWEEN's upper bound is below its lower bound.")
    if request.start is not None and request.start[attribute] != {"S": request.partition}:
        raise StoreRefusedError("The provided starting key is outside the query boundaries.")


Answer = dict[str, Any]
Operation = Callable[..., Awaitable[Answer]]
Fault = Callable[[Operation, Answer], Awaitable[Answer]]


class FaultyClient:
    """A service with one fault in each of its first calls. Later calls reach the engine.

    Reads of the maintenance mode and of the table's id may happen between any calls. They have no
    fault and are not recorded.
    """

    def __init__(self, client: Service, *faults: Fault) -> None:
        self._client = client
        self._faults = list(faults)
        self.endpoint_url = client.endpoint_url
        self.calls: list[tuple[str, Answer]] = []

    async def call(self, operation: str, arguments: Answer) -> Answer:
        if arguments.get("Key") == mode.KEY or operation == "describe_table":
            return await self._client.call(operation, arguments)
        self.calls.append((operation, deepcopy(arguments)))
        if self._faults:
            return await self._faults.pop(0)(partial(self._real, operation), arguments)
        return await self._client.call(operation, arguments)

    async def _real(self, operation: str, **arguments: Any) -> Answer:
        return await self._client.call(operation, arguments)


def client_error(code: str, status: int = 400, reasons: tuple[str, ...] = ()) -> DalError:
    return dal_error(error_response(code, status, reasons))


def error_response(code: str, status: int = 400, reasons: tuple[str, ...] = ()) -> Answer:
    return {
        "Error": {"Code": code, "Message": f"{code} happened"},
        "ResponseMetadata": {"HTTPStatusCode": status},
        "CancellationReasons": [{"Code": reason} for reason in reasons],
    }


def refuse(error: Exception) -> Fault:
    """Return a fault that raises ``error`` and does not execute the operation."""

    async def fault(real: Operation, arguments: Answer) -> Answer:
        raise error

    return fault


async def let_pass(real: Operation, arguments: Answer) -> Answer:
    """A fault that only executes the operation."""
    return await real(**arguments)


def anybody(_: object) -> None:
    """Permit every user to change a comment."""


async def lose_answer(real: Operation, arguments: Answer) -> Answer:
    """A fault that executes the operation, and loses its response."""
    await real(**arguments)
    raise unreachable("http://lost")
