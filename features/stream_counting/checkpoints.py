"""Checkpoints: the last applied record of each shard, stored as items of the table.

The item of a shard has the PK ``STREAM#<stream>`` and the SK ``SHARD#<shard>``. Its attribute
``sequence`` (S) is the sequence number of the last applied record. The item has ``done`` (BOOL) if
the shard is closed and fully applied. The same partition has an item with the SK ``WATERMARK``. Its
attribute ``caught_up`` (S) is the watermark, an instant before which all records are applied.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import time

from dal.dynamodb.errors import ConditionFailedError
from dal.dynamodb.table import Table
from dal.table.index import EXPIRES
from dal.table.items import ABSENT, Action, Item, primary_key, unchanged
from dal.table.key_parts import format_instant, parse_instant

_SHARD = "SHARD#"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last applied record of a shard. ``sequence`` is None if no record is applied yet."""

    shard: str
    sequence: str | None = None
    done: bool = False

    def covers(self, sequence: str) -> bool:
        """Return whether the record with this sequence number is applied."""
        return self.done or (self.sequence is not None and int(sequence) <= int(self.sequence))


def label_of(stream_arn: str) -> str:
    """Return a stream's label: the last part of its ARN. A table's streams have unique labels."""
    return stream_arn.rpartition("/")[2]


class Checkpoints:
    """The checkpoints of one stream, and its watermark."""

    def __init__(self, table: Table, stream: str) -> None:
        self._table = table
        self._partition = f"STREAM#{stream}"

    async def read(self, shards: Sequence[str]) -> dict[str, Checkpoint]:
        """Return the checkpoint of each shard, read consistently."""
        items = await self._table.get_many([self._key(_SHARD + shard) for shard in shards])
        found = {item["SK"]["S"].removeprefix(_SHARD): item for item in items}
        held = {shard: found.get(shard, {}) for shard in shards}
        return {
            shard: Checkpoint(shard, item.get("sequence", {}).get("S"), "done" in item)
            for shard, item in held.items()
        }

    def move(self, held: Checkpoint, to: Checkpoint) -> Action:
        """Return the action that stores ``to`` if the stored checkpoint is still ``held``."""
        was = None if held.sequence is None else self._item(held)
        return {"Put": {"Item": self._item(to), **unchanged(was, ("sequence", "done"))}}

    async def begin(self, reached: Iterable[Checkpoint], instant: datetime) -> None:
        """Store the checkpoints of a new stream, after a rebuild has applied the first records.

        The watermark is written last. A follower refuses a stream without a watermark, so no
        follower begins before all checkpoints are stored.
        """
        await self._table.put_many(
            [self._item(one) for one in reached if one != Checkpoint(one.shard)]
        )
        await self.raise_watermark(instant)

    async def watermark(self) -> datetime | None:
        """Return the watermark: all records before this instant are applied.

        Return None if the stream has no watermark yet.
        """
        item = await self._table.get(self._key("WATERMARK"))
        return parse_instant(item["caught_up"]["S"]) if item else None

    async def raise_watermark(self, instant: datetime) -> None:
        """Store a watermark if it is later than the stored watermark, or if none is stored."""
        item = self._key("WATERMARK") | {"caught_up": {"S": format_instant(instant)}}
        condition = {
            "ConditionExpression": "attribute_not_exists(PK) OR caught_up < :instant",
            "ExpressionAttributeValues": {":instant": item["caught_up"]},
        }
        try:
            await self._table.write([{"Put": {"Item": item, **condition}}])
        except ConditionFailedError:
            return

    def _item(self, checkpoint: Checkpoint) -> Item:
        item = self._key(_SHARD + checkpoint.shard)
        if checkpoint.sequence is not None:
            item["sequence"] = {"S": checkpoint.sequence}
        if checkpoint.done:
            item["done"] = {"BOOL": True}
        return item

    def _key(self, sort_key: str) -> Item:
        return primary_key(self._partition, sort_key)


KEPT_SECONDS = 3 * 24 * 3600
"""Seconds after which the marker of an applied record expires. DynamoDB keeps the record in the
stream for one day."""


def marker(stream: str, event: str) -> Item:
    """Return the item ``EVENT#<stream>#<event id>``, which marks a stream's record as applied."""
    until = {"N": str(int(time()) + KEPT_SECONDS)}
    return primary_key(f"EVENT#{stream}#{event}") | {EXPIRES: until}


def mark(stream: str, event: str) -> Action:
    """Return the action that writes a record's marker. The action fails if the marker exists."""
    return {"Put": {"Item": marker(stream, event), **ABSENT}}
