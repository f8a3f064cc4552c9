"""Streams of a table's changes, delivered late as by DynamoDB Streams.

A new stream is ENABLING at first, and has no shards. It does not record changes until it is
enabled. A shard is closed after some records, and its children are listed later. Records arrive
late, so several responses are empty. Records expire after a day. Iterators expire, and requests
above the rate limit are refused.
"""

import random
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.amazon.clock import Clock
from tests.amazon.throttling import Bucket
from tests.amazon.writes import Write
from tests.fakes import client_error

KEPT_SECONDS = 24 * 3600.0
ITERATOR_SECONDS = 15 * 60.0
_PAGE = 100
_MOST = 1_000
_HASHES = 1 << 32
_MOST_OPEN = 4


@dataclass
class _Kept:
    """A record, its time, and the number of the first GetRecords request that returns it."""

    at: float
    shown: int
    record: dict[str, Any]


@dataclass
class _Shard:
    """A shard: records of the keys whose hash is in a range."""

    name: str
    parent: str | None
    hashes: range
    begins: str
    listed: int
    """The number of the first DescribeStream request that lists the shard."""
    capacity: int
    """The number of records after which the shard is closed."""
    records: list[_Kept] = field(default_factory=list)
    closed: float | None = None
    reads: int = 0
    gone: int = 0
    """The number of records that have expired."""


@dataclass
class _Stream:
    arn: str
    specification: Mapping[str, Any]
    shards: dict[str, _Shard] = field(default_factory=dict)
    described: int = 0
    enabled: bool = False
    ended: bool = False


@dataclass
class ChangeStreams:
    """The streams of the tables, and the service from which clients read them.

    A new stream stays ENABLING for ``enabling`` DescribeStream requests. A shard is listed up to
    ``hidden`` DescribeStream requests late. A record is returned up to ``late`` GetRecords requests
    late. A shard allows ``reads`` GetRecords requests per second. A shard stays open until ``seen``
    DescribeStream requests have listed it: real shards live for hours, so a follower can always
    keep up with new shards.
    """

    clock: Clock
    seed: int = 0
    enabling: int = 0
    hidden: int = 0
    late: int = 0
    shards: int = 1
    capacity: int = 10**9
    seen: int = 0
    describes: float | None = None
    reads: float | None = None
    refused: int = 0
    """The number of requests refused because of a rate limit."""
    _streams: dict[str, _Stream] = field(default_factory=dict)
    _of_table: dict[str, str] = field(default_factory=dict)
    _buckets: dict[str, Bucket] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: count(100_000_000_000_000_000_001))
    _chance: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self._chance.seed(self.seed)

    # --- what tables report and do ---

    def of(self, table: str) -> str | None:
        """Return the ARN of a table's latest stream."""
        return self._of_table.get(table)

    def on(self, table: str) -> bool:
        """Return whether a table has a stream that was not switched off."""
        arn = self._of_table.get(table)
        return arn is not None and not self._streams[arn].ended

    def specification(self, table: str) -> Mapping[str, Any]:
        """Return the StreamSpecification of a table's latest stream."""
        return self._streams[self._of_table[table]].specification

    def switch_on(self, table: str, specification: Mapping[str, Any]) -> None:
        label = f"2026-01-01T{len(self._streams):02}:00:00.000"
        arn = f"arn:aws:dynamodb:eu-central-1:123456789012:table/{table}/stream/{label}"
        self._streams[arn] = _Stream(arn, specification)
        self._of_table[table] = arn
        if not self.enabling:
            self._open(self._streams[arn])

    def switch_off(self, table: str) -> None:
        """End a table's stream. Its records can be read for another day."""
        stream = self._streams[self._of_table[table]]
        stream.ended = True
        for shard in stream.shards.values():
            shard.closed = self.clock.now if shard.closed is None else shard.closed

    def settle(self) -> None:
        """List all existing shards, and return all existing records, in every later response."""
        for stream in self._streams.values():
            self._enable(stream)
            for shard in stream.shards.values():
                shard.listed = 0
                for kept in shard.records:
                    kept.shown = 0

    def note(self, table: str, writes: Iterable[Write]) -> None:
        """Record writes if the table has an enabled stream."""
        arn = self._of_table.get(table)
        if arn is None:
            return
        stream = self._streams[arn]
        if stream.enabled and not stream.ended:
            for write in writes:
                if write.before != write.after:
                    self._record(stream, write)

    def _open(self, stream: _Stream) -> None:
        stream.enabled = True
        width = _HASHES // self.shards
        for number in range(self.shards):
            last = number == self.shards - 1
            hashes = range(number * width, _HASHES if last else (number + 1) * width)
            self._add(stream, None, hashes, stream.described + self._chance.randint(0, self.hidden))

    def _enable(self, stream: _Stream) -> None:
        if not (stream.enabled or stream.ended):
            self._open(stream)

    def _add(self, stream: _Stream, parent: str | None, hashes: range, listed: int) -> None:
        name = f"shardId-{len(stream.shards):020}-{zlib.crc32(stream.arn.encode()):08x}"
        capacity = max(1, round(self.capacity * self._chance.uniform(0.5, 1.5)))
        begins = str(next(self._numbers))
        stream.shards[name] = _Shard(name, parent, hashes, begins, listed, capacity)

    def _record(self, stream: _Stream, write: Write) -> None:
        at = zlib.crc32(write.key[0].encode())
        shard = next(
            one for one in stream.shards.values() if one.closed is None and at in one.hashes
        )
        number = str(next(self._numbers))
        images = {"OldImage": write.before, "NewImage": write.after}
        kind = "INSERT" if write.before is None else "REMOVE" if write.after is None else "MODIFY"
        record = {
            "eventID": f"{zlib.crc32(number.encode()):032x}",
            "eventName": kind,
            "eventSource": "aws:dynamodb",
            "dynamodb": {
                "ApproximateCreationDateTime": self.clock.date.replace(microsecond=0),
                "Keys": {"PK": {"S": write.key[0]}, "SK": {"S": write.key[1]}},
                "SequenceNumber": number,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
                **{name: image for name, image in images.items() if image is not None},
            },
        }
        shown = shard.reads + self._chance.randint(0, self.late)
        shown = max([shown, *(kept.shown for kept in shard.records[-1:])])
        shard.records.append(_Kept(self.clock.now, shown, record))
        old = stream.described >= shard.listed + self.seen
        if old and len(shard.records) >= shard.capacity:
            self._close(stream, shard)

    def _close(self, stream: _Stream, shard: _Shard) -> None:
        """Close a shard, and create one or two children, which are listed later."""
        shard.closed = self.clock.now
        listed = [stream.described + self._chance.randint(0, self.hidden) for _ in range(2)]
        start, end = shard.hashes.start, shard.hashes.stop
        open_ones = sum(one.closed is None for one in stream.shards.values())
        if self._chance.random() < 0.5 or open_ones >= _MOST_OPEN:
            self._add(stream, shard.name, shard.hashes, listed[0])
        else:
            middle = (start + end) // 2
            self._add(stream, shard.name, range(start, middle), listed[0])
            self._add(stream, shard.name, range(middle, end), listed[1])

    # --- the service ---

    async def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Execute an operation of DynamoDB Streams once."""
        answer: dict[str, Any] = getattr(self, f"_{operation}")(**arguments)
        return answer | {"ResponseMetadata": self.clock.headers}

    def _describe_stream(
        self,
        StreamArn: str,  # noqa: N803 - the service's names
        ExclusiveStartShardId: str = "",  # noqa: N803
    ) -> dict[str, Any]:
        self._limit("describe", self.describes)
        stream = self._streams[StreamArn]
        stream.described += 1
        if stream.described > self.enabling:
            self._enable(stream)
        names = [
            name
            for name, shard in stream.shards.items()
            if shard.listed <= stream.described and not self._over(shard)
        ]
        start = names.index(ExclusiveStartShardId) + 1 if ExclusiveStartShardId else 0
        page = names[start : start + _PAGE]
        status = "DISABLED" if stream.ended else "ENABLED" if stream.enabled else "ENABLING"
        described = {
            "StreamArn": StreamArn,
            "StreamStatus": status,
            "Shards": [_described(stream.shards[name]) for name in page],
        }
        more = {"LastEvaluatedShardId": page[-1]} if start + _PAGE < len(names) else {}
        return {"StreamDescription": described | more}

    def _over(self, shard: _Shard) -> bool:
        self._trim(shard)
        return shard.closed is not None and self.clock.now - shard.closed > KEPT_SECONDS

    def _trim(self, shard: _Shard) -> None:
        """Mark records older than a day as expired."""
        oldest = self.clock.now - KEPT_SECONDS
        shard.gone = next(
            (n for n, kept in enumerate(shard.records) if kept.at >= oldest), len(shard.records)
        )

    def _get_shard_iterator(
        self,
        StreamArn: str,  # noqa: N803 - the service's names
        ShardId: str,  # noqa: N803
        ShardIteratorType: str,  # noqa: N803
        SequenceNumber: str | None = None,  # noqa: N803
    ) -> dict[str, Any]:
        shard = self._streams[StreamArn].shards[ShardId]
        self._trim(shard)
        place = shard.gone
        if SequenceNumber is not None:
            assert ShardIteratorType == "AFTER_SEQUENCE_NUMBER"
            numbers = [int(kept.record["dynamodb"]["SequenceNumber"]) for kept in shard.records]
            place = sum(number <= int(SequenceNumber) for number in numbers)
            if place < shard.gone:
                raise client_error("TrimmedDataAccessException")
        return {"ShardIterator": self._iterator(StreamArn, ShardId, place)}

    def _iterator(self, arn: str, shard: str, place: int) -> str:
        return f"{arn}|{shard}|{place}|{self.clock.now}"

    def _get_records(self, ShardIterator: str, Limit: int = _MOST) -> dict[str, Any]:  # noqa: N803 - the service's names
        arn, name, place, made = ShardIterator.split("|")
        self._limit(f"{arn}|{name}", self.reads)
        if self.clock.now - float(made) > ITERATOR_SECONDS:
            raise client_error("ExpiredIteratorException")
        shard, start = self._streams[arn].shards[name], int(place)
        self._trim(shard)
        if start < shard.gone:
            raise client_error("TrimmedDataAccessException")
        shard.reads += 1
        end = start
        while end < min(start + Limit, len(shard.records)):
            if shard.records[end].shown > shard.reads:
                break
            end += 1
        answer: dict[str, Any] = {"Records": [one.record for one in shard.records[start:end]]}
        if shard.closed is None or end < len(shard.records):
            answer["NextShardIterator"] = self._iterator(arn, name, end)
        return answer

    def _limit(self, what: str, rate: float | None) -> None:
        if rate is None:
            return
        bucket = self._buckets.setdefault(what, Bucket(self.clock, rate))
        if not bucket.open():
            self.refused += 1
            raise client_error("LimitExceededException")
        bucket.pay(1)


def _described(shard: _Shard) -> dict[str, Any]:
    numbers = {"StartingSequenceNumber": shard.begins}
    if shard.closed is not None:
        last = shard.records[-1].record["dynamodb"]["SequenceNumber"] if shard.records else None
        numbers["EndingSequenceNumber"] = last or shard.begins
    parent = {"ParentShardId": shard.parent} if shard.parent else {}
    return {"ShardId": shard.name, "SequenceNumberRange": numbers, **parent}
