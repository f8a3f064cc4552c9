"""The client of one table.

Each request runs inside a deadline. Throttling, lost answers and transaction conflicts are retried
with exponential backoff and full jitter until then. Items go in and out as AttributeValue maps.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import Any

from dal import errors
from dal.account import note_answer, note_request
from dal.client.concurrency import batched, in_parallel
from dal.client.conditional_write import write
from dal.client.embedded import open_embedded
from dal.client.gate import Gate
from dal.client.pace import Pace
from dal.client.retries import retry
from dal.client.service import Sdk, Service
from dal.client.streams import Streams
from dal.client.wire import quick
from dal.instrumentation import STORE_INSTRUMENTS
from dal.table.items import Item
from dal.table.requests import QueryAnswer, QueryRequest, Spend, query_arguments

logger = logging.getLogger(__name__)

_ACCOUNT = {"ReturnConsumedCapacity": "TOTAL"}
"""What makes an answer tell its cost, and a whole one from an empty one."""

_GET_BATCH = 100

_WRITE_BATCH = 25
"""The most that BatchGetItem and BatchWriteItem take."""


@dataclass(frozen=True, slots=True)
class TableAddress:
    """Where the table is; without ``endpoint_url``, Amazon DynamoDB by the usual AWS settings."""

    table: str = "marginalia"
    endpoint_url: str | None = None
    embedded: bool = False
    """An embedded engine asks for no credentials, so fixed ones are sent."""
    eventual: frozenset[str] = frozenset()
    """Local indexes that this table has as global ones, which cannot be read consistently."""


@asynccontextmanager
async def connect(address: TableAddress) -> AsyncIterator["Table"]:
    """Open a client for the table; its connections close with the context."""
    async with _opened(address) as sdk, quick(sdk) as service:
        table = Table(service, address.table)
        table.eventual = address.eventual
        try:
            yield table
        finally:
            await table.drain()


def _opened(address: TableAddress) -> AbstractAsyncContextManager[Sdk]:
    if address.embedded and address.endpoint_url is not None:
        return open_embedded(address.endpoint_url)
    from dal.client.sdk import open_sdk  # noqa: PLC0415 - an embedded engine starts without it

    return open_sdk("dynamodb", address.endpoint_url, embedded=False)


class Table:
    """The one table: requests by key, by index, and conditional writes."""

    def __init__(self, client: Service, name: str) -> None:
        self._client = client
        self.name = name
        self._gate = Gate()
        self._id: str | None = None
        self.pace = Pace()
        """What writes of many items keep to."""
        self.eventual: frozenset[str] = frozenset()
        """Indexes that are declared as local and are global here."""
        self.unfinished: set[Callable[[], Awaitable[None]]] = set()
        """What is to be done before the client closes."""
        self.read_pace = Pace(reads=True)
        """What scans keep to."""
        self.damage: errors.StoreDamagedError | None = None
        """Set once any request has met damaged data, which stays."""

    def through(self, wrap: Callable[[Service], Service]) -> "Table":
        """Return another client of the same table, whose requests go to what ``wrap`` returns."""
        return Table(wrap(self._client), self.name)

    async def id(self) -> str:
        """Return what tells this table from others of its name, before it and after it."""
        if self._id is None:
            table = (await self.call("describe_table"))["Table"]
            self._id = str(table.get("TableId") or table["CreationDateTime"])
        return self._id

    async def query(self, request: QueryRequest) -> QueryAnswer:
        """Run one Query; eventually consistent unless the request says otherwise."""
        if request.consistent and request.index.name in self.eventual:
            request = replace(request, consistent=False)
        return _rows(await self.call("query", **query_arguments(request)))

    async def count(self, request: QueryRequest, spend: Spend) -> int:
        """Return how many rows ``request`` selects, up to its limit, without fetching them."""
        arguments = query_arguments(request) | {"Select": "COUNT"}
        counted: int = 0
        while True:
            answer = await self.call("query", **arguments)
            counted += answer["Count"]
            spend(_capacity(answer))
            last_key = answer.get("LastEvaluatedKey")
            if last_key is None or counted >= request.limit:
                return counted
            arguments |= {"ExclusiveStartKey": last_key, "Limit": request.limit - counted}

    async def scan(self, segment: int, segments: int, start: Item | None) -> QueryAnswer:
        """Return up to 1 MB of one of the table's ``segments``, as it is now, after a last key."""
        after = {} if start is None else {"ExclusiveStartKey": start}
        answer = await self.call(
            "scan",
            Segment=segment,
            TotalSegments=segments,
            ConsistentRead=True,
            **_ACCOUNT,
            **after,
        )
        return _rows(answer)

    async def get(self, key: Item) -> Item | None:
        """Return the item under a primary key, as the latest acknowledged write left it."""
        answer = await self.call("get_item", Key=key, ConsistentRead=True, **_ACCOUNT)
        return answer.get("Item")

    async def get_many(self, keys: Sequence[Item]) -> list[Item]:
        """Return the items that exist under distinct primary keys, in any order, 100 a request."""
        found = await in_parallel([self._get_batch(batch) for batch in batched(keys, _GET_BATCH)])
        return [item for items in found for item in items]

    async def _get_batch(self, keys: Sequence[Item]) -> list[Item]:
        items: list[Item] = []
        left: dict[str, Any] = {"Keys": list(keys), "ConsistentRead": True}

        async def get_left() -> None:
            answer = await self.once("batch_get_item", RequestItems={self.name: left}, **_ACCOUNT)
            items.extend(answer["Responses"].get(self.name, []))
            left.update(answer["UnprocessedKeys"].get(self.name, {"Keys": []}))
            if left["Keys"]:
                raise errors.ThrottledError("DynamoDB is busy: try again in a moment.")

        await retry(get_left, "batch_get_item")
        return items

    async def write(self, actions: Sequence[dict[str, Any]]) -> None:
        """Do all of ``actions`` in one transaction, or none of them.

        An action is an entry of TransactWriteItems without its table name. A single Put or Delete
        runs without a transaction (``conditional_write``). Raises ConditionFailedError with the
        indexes of the actions that failed, and StoreUnavailableError if the outcome is unknown.
        """
        try:
            await write(self.once, self.name, actions)
        except errors.UnknownOperationError:
            raise errors.NoTransactionsError from None

    async def update(self, update: Item) -> None:
        """Change one item by the arguments of UpdateItem, for half of what a transaction consumes.

        Raises ConditionFailedError, also where an earlier attempt did it and its answer was lost.
        """
        await self.call("update_item", **update, **_ACCOUNT)

    async def put_many(self, items: Sequence[Item]) -> None:
        """Write items of distinct keys over what is there, 25 a request, a few at a time."""
        gate = asyncio.Semaphore(4)

        async def put(batch: Sequence[Item]) -> None:
            async with gate, self.pace.turn():
                await self._put_batch(batch)

        await in_parallel([put(batch) for batch in batched(items, _WRITE_BATCH)])

    async def _put_batch(self, batch: Sequence[Item]) -> None:
        left: list[Any] = [{"PutRequest": {"Item": item}} for item in batch]

        async def put_left() -> None:
            answer = await self.once("batch_write_item", RequestItems={self.name: left}, **_ACCOUNT)
            left[:] = answer.get("UnprocessedItems", {}).get(self.name, [])
            if left:
                raise errors.ThrottledError("DynamoDB is busy: try again in a moment.")

        await retry(put_left, "batch_write_item")

    async def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Do an operation on this table, with retries; raises DalError."""
        attempt = partial(self.once, operation, TableName=self.name, **arguments)
        return await retry(attempt, operation)

    async def once(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Do an operation of the service without retries; raises DalError."""
        return await self._gate.call(operation, partial(self._send, operation, arguments))

    @property
    def circuit_open(self) -> bool:
        """Whether requests fail at once, because the store has not answered for a while."""
        return self._gate.circuit_open

    async def drain(self) -> None:
        """Do what is left to be done, and wait for the writes that were sent for who has left."""
        try:
            for finish in list(self.unfinished):
                await finish()
        finally:
            await self._gate.drain()

    async def _send(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        note_request()
        told = STORE_INSTRUMENTS.get()
        send = partial(self._client.call, operation, arguments)
        try:
            answer = await (send() if told is None else told.call(operation, arguments, send))
        except errors.StoreDamagedError as error:
            self._note_damage(error)
            raise
        note_answer(operation, answer)
        return answer

    def _note_damage(self, error: errors.StoreDamagedError) -> None:
        if self.damage is None:
            self.damage = error
            logger.critical("%s", error)


def _rows(answer: dict[str, Any]) -> QueryAnswer:
    return QueryAnswer(answer["Items"], answer.get("LastEvaluatedKey"), _capacity(answer))


def _capacity(answer: dict[str, Any]) -> float:
    """Return what an answer says that it consumed; ``nan`` where the endpoint does not tell."""
    told = answer.get("ConsumedCapacity")
    return nan if told is None else float(told["CapacityUnits"])


# --- DynamoDB Streams: a service of its own, with a client of its own ---


@asynccontextmanager
async def connect_streams(address: TableAddress) -> AsyncIterator[Streams]:
    """Open a client for the streams of tables; deadline, retries and errors are as for tables."""
    from dal.client.sdk import open_sdk  # noqa: PLC0415 - pages need no streams

    # The embedded engine's shard ids and sequence numbers are shorter than AWS says they are.
    async with open_sdk(
        "dynamodbstreams",
        address.endpoint_url,
        embedded=address.embedded,
        parameter_validation=False,
    ) as sdk:
        once = Table(sdk, address.table).once

        async def call(operation: str, **arguments: Any) -> dict[str, Any]:
            return await retry(partial(once, operation, **arguments), operation)

        yield Streams(call)
