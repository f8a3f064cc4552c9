"""Counters where there are no transactions: a batch is written down first, and done then.

One item beside the stream's checkpoints holds the ``number`` (N) of the latest batch and, until
that is done, its ``batch`` (S): the updates of counters and the move of a checkpoint, in JSON. No
other begins before. Whoever finds a batch that another has left does it to its end.

An update gives its counter the batch's number, on condition that what it has is lower. So each is
done once, however many do the batch, and however late: a counter needs no more than one number,
whatever the number of shards that change it.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dal.errors import ConditionFailedError, ConflictError
from dal.statistics import counter_items
from dal.statistics.counter_transaction import AT_ONCE
from dal.statistics.counts import Deltas
from dal.table.client import Table
from dal.table.concurrency import batched, in_parallel
from dal.table.item import ABSENT, Action, Item, primary_key

BATCH = "batch"
"""The attribute of a counter, and of the log: the number of the latest batch that changed it."""


class RedoLog:
    """The batches of one stream. In a process one is under way at a time, by ``turn``."""

    def __init__(self, table: Table, partition: str) -> None:
        self._table = table
        self._key = primary_key(partition, "BATCH")
        self.turn = asyncio.Lock()

    async def settle(self) -> int:
        """Do what is left of the latest batch, and return its number; 0 before the first."""
        item = await self._table.get(self._key)
        if item is None:
            return 0
        number = int(item["number"]["N"])
        if BATCH in item:
            await self._do(number, json.loads(item[BATCH]["S"]))
        return number

    async def commit(self, latest: int, move: Action, changes: Deltas) -> None:
        """Do ``move`` and change the counters by ``changes``.

        Raises ConflictError, and does nothing, where ``latest`` is not the latest batch any more:
        what the caller read since may have changed.
        """
        number = latest + 1 if latest else _first()
        updates = [_once(action["Update"], number) for action in counter_items.actions(changes)]
        batch = {"move": move, "updates": updates}
        item = self._numbered(number) | {BATCH: {"S": json.dumps(batch)}}
        follows = self._still(latest) if latest else ABSENT
        try:
            await self._table.write([{"Put": {"Item": item, **follows}}])
        except ConditionFailedError:
            raise ConflictError("Another follower of this stream keeps ahead.") from None
        await self._do(number, batch)

    async def _do(self, number: int, batch: Mapping[str, Any]) -> None:
        for some in batched(batch["updates"], AT_ONCE):
            await in_parallel([self._update(update) for update in some])
        with suppress(ConditionFailedError):  # it is moved already
            await self._table.write([batch["move"]])
        with suppress(ConditionFailedError):  # others are further
            done = self._numbered(number)
            await self._table.write([{"Put": {"Item": done, **self._still(number)}}])

    async def _update(self, update: Item) -> None:
        with suppress(ConditionFailedError):  # it is done already
            await self._table.update(update)

    def _numbered(self, number: int) -> Item:
        return self._key | {"number": {"N": str(number)}}

    def _still(self, number: int) -> Item:
        return {
            "ConditionExpression": "#number = :number",
            "ExpressionAttributeNames": {"#number": "number"},
            "ExpressionAttributeValues": {":number": {"N": str(number)}},
        }


def _first() -> int:
    """Return the number of a stream's first batch: the milliseconds since 1970.

    So it is higher than those of a stream before, one of which an update that arrives after a
    rebuild may leave in a counter: batches with lower numbers would pass that counter by.
    """
    return time.time_ns() // 1_000_000


def _once(update: Item, number: int) -> Item:
    """Return the update of a counter that is done in the batch of some number, and once."""
    return {
        **update,
        "UpdateExpression": f"{update['UpdateExpression']} SET #batch = :batch",
        "ConditionExpression": "attribute_not_exists(#batch) OR #batch < :batch",
        "ExpressionAttributeNames": {"#batch": BATCH},
        "ExpressionAttributeValues": update["ExpressionAttributeValues"]
        | {":batch": {"N": str(number)}},
    }
