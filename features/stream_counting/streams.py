"""DynamoDB Streams: a table's stream of changes, its shards, and the records of each shard.

The records of a shard are in the order of the changes. After a shard is closed, new records are in
its child shards. Records expire after a day.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from asyncio import sleep
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from time import monotonic
from typing import Any, TypeAlias

from dal.dynamodb import admin
from dal.dynamodb.errors import AlreadyExistsError, ConflictError
from dal.dynamodb.retries import retry, retry_on_conflict
from dal.dynamodb.table import Table, TableAddress
from dal.table.errors import StoreRefusedError

WHOLE_IMAGES = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
"""The StreamSpecification of a stream in which each record contains the item before and after the
change."""

DESCRIBE_EVERY, _DESCRIBE_BURST = 0.5, 4
"""Minimum seconds between two DescribeStream requests, after a burst of four. An account may send
ten per second.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_DescribeStream.html"""

Call: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]
"""Sends an operation to the service. The first argument is the operation's name. The keyword
arguments are the operation's arguments."""


def latest_stream(table: Mapping[str, Any]) -> str | None:
    """Return the ARN of the table's stream; None if the stream is off.

    ``table`` is DescribeTable's ``Table``.
    """
    specification = table.get("StreamSpecification") or {}
    return str(table["LatestStreamArn"]) if specification.get("StreamEnabled") else None


async def stream_of(table: Table) -> str | None:
    """Return the ARN of the table's stream; None if the stream is off.

    Raise StoreRefusedError if the stream's records do not contain both images: the item before and
    after the change.
    """
    description = await admin.describe(table)
    arn = latest_stream(description)
    if arn is not None and description["StreamSpecification"] != WHOLE_IMAGES:
        raise StoreRefusedError(
            f"The stream of {table.name} lacks images of changed items: switch the stream "
            f"off, then on with {WHOLE_IMAGES['StreamViewType']}, then run `marginalia stats "
            "rebuild`."
        )
    return arn


async def renew_stream(table: Table) -> str:
    """Switch the table's stream on. If it is on already, switch it off first.

    Return the ARN of the new stream. The stream's first record is the first change after this call.
    On the embedded engine, the new stream begins with the records of the previous stream instead.
    """
    if await stream_of(table) is not None:
        await end_stream(table)
    # Take the ARN from UpdateTable's response, because DescribeTable may return the previous stream
    # for a while.
    return str((await _switch_stream(table, WHOLE_IMAGES))["LatestStreamArn"])


async def end_stream(table: Table) -> None:
    """Switch the table's stream off."""
    await _switch_stream(table, {"StreamEnabled": False})


async def _switch_stream(table: Table, specification: dict[str, Any]) -> dict[str, Any]:
    """Change the stream's settings; return the table from UpdateTable's response."""

    async def attempt() -> dict[str, Any]:
        try:
            return await table.call("update_table", StreamSpecification=specification)
        except AlreadyExistsError:
            # ResourceInUseException: another update of the table is in progress. Retry until it
            # ends.
            raise ConflictError(
                f"The table {table.name} is being changed: wait until it is active, then run the "
                "same command again."
            ) from None

    response = await retry_on_conflict(attempt, admin.ACTIVE_SECONDS)
    await admin.wait_until_active(table)
    changed: dict[str, Any] = response["TableDescription"]
    return changed


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard of a stream.

    ``parent`` is the id of the shard before this shard. The stream may no longer list that shard.
    ``last`` is the sequence number of a closed shard's last record. The embedded engine also
    reports ``last`` for an open shard, although more records may follow.
    """

    shard_id: str
    parent: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True)
class StreamDescription:
    """A stream's status, and its shards in any order."""

    status: str
    """ENABLING, ENABLED (changes are recorded), DISABLING or DISABLED."""
    shards: Sequence[Shard]


@dataclass(frozen=True, slots=True)
class Records:
    """A batch of a shard's records.

    ``Streams.records`` returns the next batch for ``iterator``. At the end of a closed shard,
    ``iterator`` is None.
    """

    records: Sequence[dict[str, Any]]
    iterator: str | None


class RateLimit:
    """Lets ``burst`` requests start without a wait, then one request every ``every`` seconds."""

    def __init__(self, every: float, burst: int) -> None:
        self._every = every
        self._ahead = every * (burst - 1)
        self._due = 0.0

    async def wait(self) -> None:
        """Wait until the request may start. Requests start in order of arrival."""
        now = monotonic()
        self._due = max(self._due, now - self._ahead)
        left, self._due = self._due - now, self._due + self._every
        if left > 0:
            await sleep(left)


class Streams:
    """The client of DynamoDB Streams."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._describes = RateLimit(DESCRIBE_EVERY, _DESCRIBE_BURST)
        self._ahead = timedelta()
        """How far the service's clock is ahead of this machine's clock."""

    def now(self) -> datetime:
        """Return the current time of the service's clock, accurate to about a second.

        The time is this machine's time, corrected by the date in the service's latest response.
        """
        return datetime.now(UTC) + self._ahead

    async def describe(self, arn: str) -> StreamDescription:
        """Return a stream's status and all its shards. Sends one request per 100 shards."""
        shards: list[Shard] = []
        arguments = {"StreamArn": arn}
        while True:
            await self._describes.wait()
            response = (await self._send("describe_stream", **arguments))["StreamDescription"]
            shards += [
                Shard(
                    one["ShardId"],
                    one.get("ParentShardId"),
                    one["SequenceNumberRange"].get("EndingSequenceNumber"),
                )
                for one in response["Shards"]
            ]
            last = response.get("LastEvaluatedShardId")
            if last is None:
                return StreamDescription(response["StreamStatus"], shards)
            arguments["ExclusiveStartShardId"] = last

    async def iterator(self, arn: str, shard_id: str, *, after: str | None) -> str:
        """Return an iterator of the records after the sequence number ``after``.

        If ``after`` is None, the iterator begins with the first record. Raises ChangesLostError if
        records after ``after`` have expired.
        """
        start = (
            {"ShardIteratorType": "TRIM_HORIZON"}
            if after is None
            else {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
        )
        response = await self._send("get_shard_iterator", StreamArn=arn, ShardId=shard_id, **start)
        return str(response["ShardIterator"])

    async def records(self, iterator: str) -> Records:
        """Return up to 1,000 records from the iterator; none if an open shard has no new records.

        Raises IteratorExpiredError if the iterator is older than about 15 minutes, and
        ChangesLostError if the next records have expired.
        """
        response = await self._send("get_records", ShardIterator=iterator)
        once = {one["dynamodb"]["SequenceNumber"]: one for one in response["Records"]}
        return Records(list(once.values()), response.get("NextShardIterator"))

    async def _send(self, operation: str, **arguments: Any) -> dict[str, Any]:
        response = await self._call(operation, **arguments)
        date = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if date is not None:
            self._ahead = parsedate_to_datetime(date) - datetime.now(UTC)
        return response


@asynccontextmanager
async def connect_streams(address: TableAddress) -> AsyncIterator[Streams]:
    """Open a client of DynamoDB Streams at the table's endpoint.

    It has the deadlines, retries and errors of ``Table``.
    """
    from dal.dynamodb.sdk import open_sdk  # noqa: PLC0415 - a slow import

    # botocore's validation is off, because it rejects the embedded engine's shard ids and sequence
    # numbers as too short.
    settings = {"embedded": address.embedded, "parameter_validation": False}
    async with open_sdk("dynamodbstreams", address.endpoint_url, **settings) as sdk:
        once = Table(sdk, address.table).once

        async def call(operation: str, **arguments: Any) -> dict[str, Any]:
            return await retry(partial(once, operation, **arguments), operation)

        yield Streams(call)
