"""DynamoDB Streams: the shards of a table's stream of changes, and the records of each.

A shard's records are in order; a shard's child begins where the shard was closed. Records are gone
a day after they were made.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

from dal.client.pace import RateLimit
from dal.errors import StoreRefusedError

WHOLE_IMAGES = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
"""The StreamSpecification whose records say what an item was and what it became."""

DESCRIBE_EVERY, _DESCRIBES_AT_ONCE = 0.5, 4
"""Seconds between DescribeStreams once some were at once: an account may have 10 a second."""

Call: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]
"""Does an operation of the service: its name, and its arguments by name."""


def latest_stream(table: Mapping[str, Any]) -> str | None:
    """Return the ARN of a described table's stream; None where it is switched off."""
    specification = table.get("StreamSpecification") or {}
    return str(table["LatestStreamArn"]) if specification.get("StreamEnabled") else None


def stream_of(table: Mapping[str, Any]) -> str | None:
    """Return what ``latest_stream`` returns, of a stream whose records can be applied.

    StoreRefusedError when its records lack images.
    """
    arn = latest_stream(table)
    if arn is not None and table["StreamSpecification"] != WHOLE_IMAGES:
        raise StoreRefusedError(
            f"The stream of {table['TableName']} lacks images: switch it off and on again with "
            f"{WHOLE_IMAGES['StreamViewType']}, then run `marginalia stats rebuild`."
        )
    return arn


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard; ``parent`` may be gone from the stream.

    ``last`` is a record's sequence number: the last one's of a closed shard. Of an open one the
    embedded engine alone tells it, and it may be an earlier one.
    """

    shard_id: str
    parent: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True)
class StreamDescription:
    """A stream: its status, and its shards in any order."""

    status: str
    shards: Sequence[Shard]

    @property
    def enabled(self) -> bool:
        """Whether changes come into it by now."""
        return self.status == "ENABLED"

    @property
    def ended(self) -> bool:
        """Whether it was switched off."""
        return self.status in {"DISABLING", "DISABLED"}


@dataclass(frozen=True, slots=True)
class Records:
    """Some records of a shard; ``iterator`` reads on, and is None at a closed shard's end."""

    records: Sequence[dict[str, Any]]
    iterator: str | None


class Streams:
    """The streams of an account's tables."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._describes = RateLimit(DESCRIBE_EVERY, _DESCRIBES_AT_ONCE)
        self._ahead = timedelta()
        """By how much the service's clock is ahead of this machine's."""

    def now(self) -> datetime:
        """Return the time by the service's clock, as its latest answer told it to the second."""
        return datetime.now(UTC) + self._ahead

    async def describe(self, arn: str) -> StreamDescription:
        """Return a stream with all of its shards, by one request per 100."""
        shards: list[Shard] = []
        arguments = {"StreamArn": arn}
        while True:
            await self._describes.wait()
            answer = (await self._ask("describe_stream", **arguments))["StreamDescription"]
            shards += map(_shard, answer["Shards"])
            last = answer.get("LastEvaluatedShardId")
            if last is None:
                return StreamDescription(answer["StreamStatus"], shards)
            arguments["ExclusiveStartShardId"] = last

    async def iterator(self, arn: str, shard_id: str, *, after: str | None) -> str:
        """Return an iterator of the records after a sequence number, or of all there are.

        Raises ChangesLostError when records after that number are gone.
        """
        start = (
            {"ShardIteratorType": "TRIM_HORIZON"}
            if after is None
            else {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
        )
        answer = await self._ask("get_shard_iterator", StreamArn=arn, ShardId=shard_id, **start)
        return str(answer["ShardIterator"])

    async def records(self, iterator: str) -> Records:
        """Return up to 1,000 records, each once; none may also mean to go on.

        Raises IteratorExpiredError after about 15 minutes, and ChangesLostError when records from
        there on are gone.
        """
        answer = await self._ask("get_records", ShardIterator=iterator)
        once = {one["dynamodb"]["SequenceNumber"]: one for one in answer["Records"]}
        return Records(list(once.values()), answer.get("NextShardIterator"))

    async def _ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        answer = await self._call(operation, **arguments)
        told = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if told is not None:
            self._ahead = parsedate_to_datetime(told) - datetime.now(UTC)
        return answer


def _shard(shard: Mapping[str, Any]) -> Shard:
    last = shard["SequenceNumberRange"].get("EndingSequenceNumber")
    return Shard(shard["ShardId"], shard.get("ParentShardId"), last)
