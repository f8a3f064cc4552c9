"""A fake of DynamoDB Streams with shards in memory. Shards split, iterators and records expire."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from features.stream_counting.applier import Record, sequence_of
from features.stream_counting.streams import RateLimit, Streams
from tests.fakes import client_error

START = datetime(2026, 1, 1, tzinfo=UTC)
_PAGE = 2


@dataclass
class FakeShard:
    parent: str | None = None
    records: list[Record] = field(default_factory=list)
    closed: bool = False
    trimmed: int = 0
    """The number of expired records."""


@dataclass
class FakeStreams:
    """The service's operations.

    ``read`` lists the shard and sequence number of each returned record.
    """

    shards: dict[str, FakeShard] = field(default_factory=dict)
    enabled: bool = True
    expired: set[str] = field(default_factory=set)
    read: list[tuple[str, str]] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    """The shards of the GetShardIterator requests, in order."""
    most: int = 3

    def client(self) -> Streams:
        streams = Streams(self._call)
        streams._describes = RateLimit(0, 1)
        return streams

    async def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self, operation)(**arguments)
        return answer

    def describe_stream(self, StreamArn: str, ExclusiveStartShardId: str = "") -> dict[str, Any]:  # noqa: N803 - the service's names
        names = [*reversed(self.shards)]  # children first: the API promises no order
        start = names.index(ExclusiveStartShardId) + 1 if ExclusiveStartShardId else 0
        page = names[start : start + _PAGE]
        answer = {
            "StreamStatus": "ENABLED" if self.enabled else "DISABLED",
            "Shards": [_described(name, self.shards[name]) for name in page],
        }
        if start + _PAGE < len(names):
            answer["LastEvaluatedShardId"] = page[-1]
        return {"StreamDescription": answer}

    def get_shard_iterator(
        self,
        StreamArn: str,  # noqa: N803 - the service's names
        ShardId: str,  # noqa: N803
        ShardIteratorType: str,  # noqa: N803
        SequenceNumber: str | None = None,  # noqa: N803
    ) -> dict[str, Any]:
        self.opened.append(ShardId)
        shard = self.shards[ShardId]
        place = shard.trimmed
        if SequenceNumber is not None:
            place = [sequence_of(one) for one in shard.records].index(SequenceNumber) + 1
            if place < shard.trimmed:
                raise client_error("TrimmedDataAccessException")
        return {"ShardIterator": f"{ShardId}@{place}"}

    def get_records(self, ShardIterator: str) -> dict[str, Any]:  # noqa: N803 - the service's name
        if ShardIterator in self.expired:
            self.expired.remove(ShardIterator)
            raise client_error("ExpiredIteratorException")
        name, _, place = ShardIterator.partition("@")
        shard, start = self.shards[name], int(place)
        if start < shard.trimmed:
            raise client_error("TrimmedDataAccessException")
        found = shard.records[start : start + self.most]
        self.read += [(name, sequence_of(one)) for one in found]
        answer: dict[str, Any] = {"Records": found}
        if not shard.closed or start + len(found) < len(shard.records):
            answer["NextShardIterator"] = f"{name}@{start + len(found)}"
        return answer


def _described(name: str, shard: FakeShard) -> dict[str, Any]:
    described: dict[str, Any] = {"ShardId": name, "SequenceNumberRange": {}}
    return described | ({"ParentShardId": shard.parent} if shard.parent else {})


def shard_of(records: Sequence[Record], parent: str | None = None, **fields: Any) -> FakeShard:
    return FakeShard(parent, list(records), **fields)
