"""The client of one table: reads by key, Queries, Scans, and conditional writes.

After throttling, a lost response, a transaction conflict or expired credentials, a request is
retried until its deadline. Items are maps from attribute names to AttributeValues.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf, nan
from typing import Any

from dal.dynamodb.account import (
    OPEN,
    RESPONSE_RCU,
    ROW_RCU,
    WRITES,
    WRITING,
)
from dal.dynamodb.concurrency import Pace, batched, in_parallel
from dal.dynamodb.errors import (
    CircuitOpenError,
    ConditionFailedError,
    NoTransactionsError,
    StoreDamagedError,
    StoreUnavailableError,
    ThrottledError,
    UnknownOperationError,
)
from dal.dynamodb.gate import Gate
from dal.dynamodb.instrumentation import STORE_INSTRUMENTS
from dal.dynamodb.retries import Response, retry
from dal.dynamodb.wire import EmbeddedSdk, Sdk, Service, open_wire
from dal.table.index import QueryRequest, QueryResponse, Spend, query_all, query_arguments
from dal.table.items import Action, Item, key_of

logger = logging.getLogger(__name__)

_CAPACITY = {"ReturnConsumedCapacity": "TOTAL"}
"""Lets DynamoDB report the consumed capacity. The client also uses the report to recognise
DynamoDB's responses, because a proxy may respond with an empty object."""

# The maximum numbers of keys in BatchGetItem, and of items in BatchWriteItem:
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
GET_BATCH = 100
_WRITE_BATCH = 25

_DELETED_AT_ONCE = 100
"""Number of items that ``delete_all`` deletes in parallel."""

_IDEMPOTENT: Mapping[str, str] = {"Put": "put_item", "Delete": "delete_item"}
"""The actions that can safely be repeated. Maps each action to the operation that executes the
action without a transaction."""


@dataclass(frozen=True, slots=True)
class TableAddress:
    """A table's name and endpoint.

    If ``endpoint_url`` is None, the AWS settings determine the endpoint.
    """

    table: str = "marginalia"
    endpoint_url: str | None = None
    embedded: bool = False
    """Whether an embedded engine serves the table. Requests to it use fixed credentials."""


@asynccontextmanager
async def connect(address: TableAddress) -> AsyncIterator["Table"]:
    """Open a client of the table.

    At the end of the ``with`` block, wait for unfinished writes, then close the client's
    connections.
    """
    async with AsyncExitStack() as stack:
        sdk: Sdk
        if address.embedded and address.endpoint_url is not None:
            open_embedded = partial(_open_sdk, address.endpoint_url, embedded=True)
            sdk = EmbeddedSdk(address.endpoint_url, open_embedded, stack)
        else:
            opening = _open_sdk(address.endpoint_url, embedded=False)
            sdk = await stack.enter_async_context(opening)
        table = Table(await stack.enter_async_context(open_wire(sdk)), address.table)
        try:
            yield table
        finally:
            await table.drain()


def _open_sdk(endpoint_url: str | None, *, embedded: bool) -> AbstractAsyncContextManager[Sdk]:
    from dal.dynamodb.sdk import open_sdk  # noqa: PLC0415 - takes a tenth of the start time

    return open_sdk("dynamodb", endpoint_url, embedded=embedded)


class Table:
    """A client of one table."""

    def __init__(self, service: Service, name: str) -> None:
        self.service = service
        self.name = name
        self._gate = Gate(self._send)
        self.once = self._gate.call
        """Sends an operation without retries. Unlike ``call``, this function does not add the
        table's name to the arguments. Raises DalError."""
        self._id: str | None = None
        self.pace = Pace()
        """Limits the WCU per second of bulk writes."""
        self.read_pace = Pace(reads=True)
        """Limits the RCU per second of scans."""
        self.unfinished: set[Callable[[], Awaitable[None]]] = set()
        """Functions that finish work in the background. ``drain`` awaits their calls before the
        client closes."""
        self.writes = 0
        """The number of successful write requests. The number increases before the caller learns
        that its write succeeded. If the number has increased since a read began, the read's rows
        may lack a successful write, so later requests must not share the read."""
        self.damage: StoreDamagedError | None = None
        """The first error that reported a damaged data file. It is kept because the file stays
        damaged."""

    async def id(self) -> str:
        """Return the table's id.

        A table that is created again with the same name has another id.
        """
        if self._id is None:
            table = (await self.call("describe_table"))["Table"]
            self._id = str(table.get("TableId") or table["CreationDateTime"])
        return self._id

    async def query(self, request: QueryRequest) -> QueryResponse:
        """Send one Query and return its rows. ``request.consistent`` makes the read consistent."""
        return _rows(await self.call("query", **query_arguments(request)))

    async def count(self, request: QueryRequest, spend: Spend) -> int:
        """Return how many rows ``request`` selects, but at most its limit.

        No rows are transferred. ``spend`` receives the capacity of each response.
        """
        arguments = query_arguments(request) | {"Select": "COUNT"}
        counted: int = 0
        while True:
            response = await self.call("query", **arguments)
            counted += response["Count"]
            spend(_capacity(response))
            last_key = response.get("LastEvaluatedKey")
            if last_key is None or counted >= request.limit:
                return counted
            arguments |= {"ExclusiveStartKey": last_key, "Limit": request.limit - counted}

    async def scan(self, segment: int, segments: int, start: Item | None) -> QueryResponse:
        """Return one page of a scan segment: up to 1 MB, read consistently.

        The page begins after the key ``start``, or at the segment's beginning if ``start`` is None.
        """
        after = {} if start is None else {"ExclusiveStartKey": start}
        response = await self.call(
            "scan",
            Segment=segment,
            TotalSegments=segments,
            ConsistentRead=True,
            **_CAPACITY,
            **after,
        )
        return _rows(response)

    async def get(self, key: Item) -> Item | None:
        """Return the item with a primary key; None if it does not exist. The read is consistent."""
        response = await self.call("get_item", Key=key, ConsistentRead=True, **_CAPACITY)
        return response.get("Item")

    async def get_many(self, keys: Sequence[Item], *, consistent: bool = True) -> list[Item]:
        """Return the existing items with these distinct primary keys, in any order."""
        rcu, reads = ROW_RCU / (1 if consistent else 2), []
        for batch in batched(keys, GET_BATCH):
            work = {"Keys": list(batch), "ConsistentRead": consistent}
            send = partial(self._in_batches, "batch_get_item", work)
            reads.append(_read(len(batch) * rcu, send))
        return [item for items in await in_parallel(reads) for item in items]

    async def _in_batches(self, operation: str, work: Any) -> list[Item]:
        """Send BatchGetItem or BatchWriteItem until nothing is left, and return the items read."""
        left, items = {self.name: work}, list[Item]()

        async def send_left() -> None:
            nonlocal left
            response = await self.once(operation, RequestItems=left, **_CAPACITY)
            items.extend(response.get("Responses", {}).get(self.name, []))
            left = response.get("UnprocessedKeys") or response.get("UnprocessedItems") or {}
            if left:
                raise ThrottledError("DynamoDB is busy: try again in a moment.")

        await retry(send_left, operation, self._gate.bound)
        return items

    async def write(self, actions: Sequence[Action]) -> None:
        """Execute all ``actions`` in one transaction, or none of them.

        A single Put or Delete is sent without a transaction, at half the cost. Raises DalError, in
        particular:

        - ConditionFailedError, with the positions of the actions whose condition failed.
        - StoreUnavailableError, if the write was not sent or its outcome is unknown.
        - NoTransactionsError, if the endpoint does not support transactions.

        After a lost response, this method sends the write again. The condition of the second
        attempt can then fail because the first attempt succeeded. A request token does not always
        prevent this: a single write has no token, and the embedded engine loses all tokens when it
        is killed. So after a lost response and a failed condition, this method reads the items. If
        they are as the write leaves them, the write has succeeded. Otherwise this method raises
        StoreUnavailableError: the outcome is unknown, because later writes may have changed the
        items.
        """
        named = [
            {kind: {"TableName": self.name, **action} for kind, action in entry.items()}
            for entry in actions
        ]
        arguments: dict[str, Any]
        if len(named) == 1 and named[0].keys() <= _IDEMPOTENT.keys():
            ((kind, arguments),) = named[0].items()
            operation = _IDEMPOTENT[kind]
        else:
            operation = "transact_write_items"
            # All attempts have the same request token, so DynamoDB executes the transaction once.
            arguments = {"TransactItems": named, "ClientRequestToken": secrets.token_hex(16)}
        lost: StoreUnavailableError | None = None

        async def attempt() -> None:
            nonlocal lost
            try:
                await self.once(operation, **arguments, **_CAPACITY)
            except StoreUnavailableError as error:
                if not isinstance(error, CircuitOpenError):  # the request was sent
                    lost = error
                raise
            except ConditionFailedError:
                if lost is None or not await self._is_done(actions):
                    raise

        try:
            await retry(attempt, operation, self._gate.bound)
        except ConditionFailedError:
            if lost is not None:
                raise lost from None
            raise
        except UnknownOperationError:
            raise NoTransactionsError from None

    async def _is_done(self, actions: Sequence[Action]) -> bool:
        """Return whether the items of all Puts and Deletes are as these actions leave them.

        Other actions are not checked, because a transaction writes all items or none. Return False
        if there is no Put and no Delete.
        """
        done = False
        for entry in actions:
            ((kind, action),) = entry.items()
            if kind in _IDEMPOTENT:
                item: Item | None = action.get("Item")
                key = action["Key"] if item is None else key_of(item)
                response = await self.once(
                    "get_item", TableName=self.name, Key=key, ConsistentRead=True, **_CAPACITY
                )
                done = response.get("Item") == item
                if not done:
                    break
        return done

    async def update(self, update: Item) -> None:
        """Change one item with UpdateItem, which consumes half the capacity of a transaction.

        After a lost response, ConditionFailedError may mean that an earlier attempt succeeded.
        """
        await self.call("update_item", **update, **_CAPACITY)

    async def put_many(self, items: Sequence[Item]) -> None:
        """Put items with distinct keys, and replace existing items.

        Send up to four requests at a time.
        """
        gate = asyncio.Semaphore(4)

        async def put(batch: Sequence[Item]) -> None:
            async with gate, self.pace.turn():
                work = [{"PutRequest": {"Item": item}} for item in batch]
                await self._in_batches("batch_write_item", work)

        await in_parallel([put(batch) for batch in batched(items, _WRITE_BATCH)])

    async def delete_all(self, request: QueryRequest) -> None:
        """Delete all items that a Query on the table returns. The Query is consistent."""
        some = replace(request, limit=_DELETED_AT_ONCE, consistent=True)
        async for response in query_all(self.query, some):
            deletes = [{"Delete": {"Key": key_of(item)}} for item in response.items]
            await in_parallel([self.write([delete]) for delete in deletes])

    def call(self, operation: str, **arguments: Any) -> Coroutine[Any, Any, dict[str, Any]]:
        """Send an operation on this table, with retries. Raises DalError."""
        attempt = partial(self.once, operation, TableName=self.name, **arguments)
        if operation in WRITES:
            return retry(attempt, operation, self._gate.bound)
        rows = 1 if "Key" in arguments else arguments.get("Limit", inf)
        most = min(rows * ROW_RCU, RESPONSE_RCU) / (1 if arguments.get("ConsistentRead") else 2)
        return _read(most, partial(retry, attempt, operation, self._gate.bound))

    @property
    def circuit_open(self) -> bool:
        """Whether requests fail without being sent, because DynamoDB has not answered for a while.

        Some requests are sent nevertheless, as probes (see ``CircuitBreaker``).
        """
        return self._gate.breaker.open

    async def drain(self) -> None:
        """Call and await the functions in ``unfinished``, then await all responses to writes."""
        try:
            for finish in list(self.unfinished):
                await finish()
        finally:
            await self._gate.drain()

    async def _send(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        account, instruments = OPEN.get(), STORE_INSTRUMENTS.get()
        account.requests += 1
        try:
            if instruments is None:
                response = await self.service.call(operation, arguments)
            else:
                send = partial(self.service.call, operation, arguments)
                response = await instruments.call(operation, arguments, send)
        except StoreDamagedError as error:
            if self.damage is None:
                self.damage = error
                logger.critical("%s", error)
            raise
        if operation in WRITES:
            self.writes += 1
        account.add(operation, response)
        return response


async def _read(most: float, send: Callable[[], Awaitable[Response]]) -> Response:
    """Count a read, send it, and return its response.

    ``most`` is the read's maximum RCU, and ``send`` sends it with its retries. Raises
    QueryTooCostlyError at the account's limit.
    """
    account, limited = OPEN.get(), not WRITING.get()
    while account.reserved and account.rcu + account.reserved + most >= 2 * account.most_rcu:
        account.released = account.released or asyncio.Event()
        await account.released.wait()
    if limited:
        account.check(1)
    account.reads += 1
    account.reserved += most
    try:
        response = await send()
    finally:
        account.reserved -= most
        if account.released is not None:
            account.released.set()
            account.released = None
    if limited and account.rcu > account.most_rcu:
        account.check(0)
    return response


def _rows(response: dict[str, Any]) -> QueryResponse:
    return QueryResponse(response["Items"], response.get("LastEvaluatedKey"), _capacity(response))


def _capacity(response: dict[str, Any]) -> float:
    """Return the capacity that a response reports; ``nan`` if it reports none."""
    capacity = response.get("ConsumedCapacity")
    return nan if capacity is None else float(capacity["CapacityUnits"])
