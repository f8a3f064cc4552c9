"""The client of one table: the only module that calls DynamoDB.

Each request runs inside a deadline. Throttling, lost answers and transaction conflicts are retried
with exponential backoff and full jitter until then; botocore's own retries are off, so that there
is one policy. Items go in and out as AttributeValue maps.
"""

import asyncio
import logging
import os
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import aioboto3
from aiobotocore.session import get_session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, WaiterError
from botocore.exceptions import ConnectionError as BotoConnectionError

from dal import errors
from dal.table.account import note_answer, note_request
from dal.table.answers import check_answer
from dal.table.concurrency import batched, in_parallel
from dal.table.error_codes import dal_error
from dal.table.gate import CONNECTIONS, Gate
from dal.table.item import Item
from dal.table.requests import QueryAnswer, QueryRequest, Spend, query_arguments
from dal.table.retries import DEADLINE, retry
from dal.table.streams import Streams

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


@asynccontextmanager
async def connect(connection: TableAddress) -> AsyncIterator["Table"]:
    """Open a client for the table; the connection pool closes with the context."""
    async with _opened(connection, "dynamodb") as client:
        client.meta.events.register("before-parse.dynamodb", check_answer)
        table = Table(client, connection.table)
        try:
            yield table
        finally:
            await table.drain()


@asynccontextmanager
async def _opened(connection: TableAddress, service: str, **settings: Any) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(_client(connection, service, settings))
        except (BotoCoreError, ValueError) as error:
            raise errors.StoreRefusedError(_sentence(error)) from error
        yield client


def _client(connection: TableAddress, service: str, settings: dict[str, Any]) -> Any:
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=1.5,
        read_timeout=DEADLINE,
        max_pool_connections=CONNECTIONS,
        **settings,
    )
    if not connection.embedded:
        return aioboto3.Session().client(
            service, endpoint_url=connection.endpoint_url, config=config
        )
    # An engine on this machine depends on no proxy, profile or settings file of its surroundings.
    nothing: tuple[Any, ...] = (None, [], os.devnull, None)
    local = get_session(
        {"profile": (None, [], None, None), "config_file": nothing, "credentials_file": nothing}
    )
    return aioboto3.Session(botocore_session=local).client(
        service,
        endpoint_url=connection.endpoint_url,
        config=config.merge(Config(proxies={})),
        region_name="local",
        aws_access_key_id="embedded",
        aws_secret_access_key="embedded",  # noqa: S106 - the engine asks for one and takes any
    )


class Table:
    """The one table: requests by key, by index, and conditional writes."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self.name = name
        self._gate = Gate()
        self.damage: errors.StoreDamagedError | None = None
        """Set once any request has met damaged data, which stays."""

    async def query(self, request: QueryRequest) -> QueryAnswer:
        """Run one Query; eventually consistent unless the request says otherwise."""
        return _rows(await self.call("query", **query_arguments(request)))

    async def count(self, request: QueryRequest, spend: Spend) -> int:
        """Return how many rows ``request`` selects, up to its limit, without fetching them."""
        arguments = query_arguments(request) | {"Select": "COUNT"}
        counted: int = 0
        while True:
            answer = await self.call("query", **arguments)
            counted += answer["Count"]
            spend(answer["ConsumedCapacity"]["CapacityUnits"])
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

        An action is an entry of TransactWriteItems without its table name. One request token
        covers the retries, so a write that was done but whose answer was lost is not done twice.
        Raises ConditionFailedError with the indexes of the actions whose condition did not hold.
        """
        transaction = {
            "TransactItems": [
                {kind: {"TableName": self.name, **action} for kind, action in entry.items()}
                for entry in actions
            ],
            "ClientRequestToken": str(uuid.uuid4()),
            **_ACCOUNT,
        }
        operation = "transact_write_items"
        await retry(partial(self.once, operation, **transaction), operation)

    async def put_many(self, items: Sequence[Item]) -> None:
        """Write items of distinct keys over what is there, 25 a request, a few at a time."""
        gate = asyncio.Semaphore(4)

        async def put(batch: Sequence[Item]) -> None:
            async with gate:
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

    async def wait_until_active(self) -> None:
        """Wait for a minute at most; StoreUnavailableError then."""
        try:
            await self._client.get_waiter("table_exists").wait(
                TableName=self.name, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
            )
        except WaiterError as error:
            raise errors.StoreUnavailableError(
                f"The table {self.name} does not become active: look at it in DynamoDB."
            ) from error

    async def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Do an operation on this table, with retries; raises DalError."""
        attempt = partial(self.once, operation, TableName=self.name, **arguments)
        return await retry(attempt, operation)

    async def once(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Do an operation of the service without retries; raises DalError."""
        return await self._gate.call(operation, partial(self._send, operation, arguments))

    async def drain(self) -> None:
        """Wait for the writes that were sent for clients who left."""
        await self._gate.drain()

    async def _send(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        note_request()
        try:
            answer: dict[str, Any] = await getattr(self._client, operation)(**arguments)
        except ClientError as error:
            raise self._noted(dal_error(error.response)) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise errors.StoreUnavailableError(
                f"DynamoDB does not answer at {self._client.meta.endpoint_url}: "
                "check that it runs and can be reached."
            ) from error
        except BotoCoreError as error:
            raise errors.StoreRefusedError(_sentence(error)) from error
        note_answer(operation, answer)
        return answer

    def _noted(self, error: errors.DalError) -> errors.DalError:
        if isinstance(error, errors.StoreDamagedError) and self.damage is None:
            self.damage = error
            logger.critical("%s", error)
        return error


def _rows(answer: dict[str, Any]) -> QueryAnswer:
    return QueryAnswer(
        answer["Items"],
        answer.get("LastEvaluatedKey"),
        answer["ConsumedCapacity"]["CapacityUnits"],
    )


def _sentence(error: BotoCoreError | ValueError) -> str:
    return f"The AWS settings do not work: {error}"


# --- DynamoDB Streams: a service of its own, with a client of its own ---


@asynccontextmanager
async def connect_streams(connection: TableAddress) -> AsyncIterator[Streams]:
    """Open a client for the streams of tables; deadline, retries and errors are as for tables."""
    # The embedded engine's shard ids and sequence numbers are shorter than AWS says they are.
    async with _opened(connection, "dynamodbstreams", parameter_validation=False) as client:
        once = Table(client, connection.table).once

        async def call(operation: str, **arguments: Any) -> dict[str, Any]:
            return await retry(partial(once, operation, **arguments), operation)

        yield Streams(call)
