"""The fake service that clients call instead of the engine.

It is a ``Service`` of ``dal.dynamodb.wire``. It reports each write to the fake indexes,
throttles and streams as changes of items, so it reads the items before and after the write. A
transaction fails if another write of one of its items is running. A single-item write fails during
a transaction on its item. Other writes of an item wait for each other.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from dal.dynamodb.concurrency import KeyedLocks
from dal.dynamodb.table import Table
from dal.dynamodb.wire import Service
from dal.table.items import Item
from tests.amazon.clock import Clock
from tests.amazon.credentials import Expiry
from tests.amazon.index_lag import IndexLag
from tests.amazon.streams import ChangeStreams
from tests.amazon.throttling import Throttle, admitted
from tests.amazon.writes import (
    WRITES,
    IndexKeys,
    Key,
    Write,
    indexes_of,
    plain,
    put_items,
    read,
    written,
)
from tests.fakes import client_error

Answer = dict[str, Any]

LAG_SECONDS = 600.0
"""The lag of indexes in seconds. No test runs that long, so only ``settle`` ends the lag."""

_SCALE = 0.5
"""Tests use this fraction of Amazon's limits for one partition."""


class Amazon:
    """DynamoDB as AWS documents it. Without settings, it behaves like its engine."""

    def __init__(self, engine: Service, clock: Clock | None = None, *, seed: int = 0) -> None:
        self.clock = clock or Clock()
        self.lag = IndexLag(self.clock, seed)
        self.throttle = Throttle(self.clock)
        self.streams = ChangeStreams(self.clock, seed)
        self.expiry = Expiry()
        self.endpoint_url = engine.endpoint_url
        self._engine = engine
        self._indexes: dict[str, Sequence[IndexKeys]] = {}
        self._locks = KeyedLocks()
        self._transacted: set[str] = set()
        self._busy: dict[str, int] = defaultdict(int)
        self._writing = 0
        self.settles_when_quiet = False
        """Whether a read finds all indexes up to date when no write is running."""

    @classmethod
    def documented(
        cls, engine: Service, seed: int = 0, *, settles_when_quiet: bool = False
    ) -> "Amazon":
        """Return a service with lagging indexes, throttled partitions and late streams.

        Tests reach its limits.
        """
        amazon = cls(engine, Clock(pace=10.0, tick=0.005), seed=seed)
        amazon.lag.most, amazon.lag.waver = LAG_SECONDS, LAG_SECONDS / 4
        amazon.throttle.wcu, amazon.throttle.rcu = 1_000 * _SCALE, 3_000 * _SCALE
        streams = amazon.streams
        streams.enabling, streams.hidden, streams.late = 2, 2, 3
        streams.shards, streams.capacity, streams.seen = 2, 100, 6
        amazon.settles_when_quiet = settles_when_quiet
        return amazon

    async def call_streams(self, operation: str, arguments: Answer) -> Answer:
        """Execute an operation of DynamoDB Streams once."""
        self._began()
        return await self.streams.call(operation, **arguments)

    def settle(self) -> None:
        """Make all writes and all stream records visible now."""
        self.lag.settle()
        self.streams.settle()

    async def call(self, operation: str, arguments: Answer) -> Answer:
        """Execute an operation once."""
        self._began()
        if operation in WRITES:
            # The service executes a request that was sent even if its client no longer waits.
            return await asyncio.shield(asyncio.create_task(self._write(operation, arguments)))
        own = {
            "query": self._query,
            "get_item": self._get,
            "batch_get_item": self._get_many,
            "update_table": self._update_table,
            "describe_table": self._describe_table,
        }
        if operation in own:
            return await own[operation](arguments)
        return await self._engine.call(operation, arguments)

    def _began(self) -> None:
        self.clock.advance(self.clock.tick)
        self.expiry.check()

    # --- tables ---

    async def _describe(self, table: str) -> Answer:
        found: Answer = (await self._engine.call("describe_table", {"TableName": table}))["Table"]
        arn = self.streams.of(table)
        if arn is not None:
            found["LatestStreamArn"] = arn
            if self.streams.on(table):
                found["StreamSpecification"] = dict(self.streams.specification(table))
        return found

    async def _describe_table(self, arguments: Answer) -> Answer:
        return {"Table": await self._describe(arguments["TableName"])}

    async def _update_table(self, arguments: Answer) -> Answer:
        """Switch a stream on or off. The engine executes other changes of a table."""
        table = arguments["TableName"]
        if "StreamSpecification" not in arguments:
            self._indexes.pop(table, None)
            changed: Answer = await self._engine.call("update_table", arguments)
            return changed
        wanted = arguments["StreamSpecification"]
        if wanted["StreamEnabled"] is self.streams.on(table):
            raise client_error("ValidationException")
        if wanted["StreamEnabled"]:
            self.streams.switch_on(table, wanted)
        else:
            self.streams.switch_off(table)
        return {"TableDescription": await self._describe(table)}

    async def _indexes_of(self, table: str) -> Sequence[IndexKeys]:
        if table not in self._indexes:
            self._indexes[table] = indexes_of(await self._describe(table))
        return self._indexes[table]

    # --- reads ---

    async def _query(self, arguments: Answer) -> Answer:
        table, name = arguments["TableName"], arguments.get("IndexName")
        partition = arguments["ExpressionAttributeValues"][":p"]["S"]
        if self.settles_when_quiet and not self._writing:
            self.lag.settle()
        self.throttle.admit_read(table, name, partition)
        indexes = await self._indexes_of(table)
        answer = await self.lag.query(arguments, indexes, partial(self._engine.call, "query"))
        units = answer["ConsumedCapacity"]["CapacityUnits"]
        self.throttle.pay_for_read(table, name, partition, units)
        return answer

    async def _get(self, arguments: Answer) -> Answer:
        table = arguments["TableName"]
        self.throttle.admit_read(table, None, arguments["Key"]["PK"]["S"])
        answer = await self._engine.call("get_item", arguments)
        items = [answer["Item"]] if "Item" in answer else []
        self.throttle.pay_for_items(table, items, consistent=bool(arguments.get("ConsistentRead")))
        return answer

    async def _get_many(self, arguments: Answer) -> Answer:
        ((table, asked),) = arguments["RequestItems"].items()
        keys = self.throttle.readable(table, asked["Keys"])
        if not keys:
            raise self.throttle.error()
        let_in = {**arguments, "RequestItems": {table: {**asked, "Keys": keys}}}
        answer = await self._engine.call("batch_get_item", let_in)
        left = [key for key in asked["Keys"] if key not in keys]
        left += answer["UnprocessedKeys"].get(table, {"Keys": []})["Keys"]
        answer["UnprocessedKeys"] = {table: {**asked, "Keys": left}} if left else {}
        items = answer["Responses"].get(table, [])
        self.throttle.pay_for_items(table, items, consistent=bool(asked.get("ConsistentRead")))
        return answer

    # --- writes ---

    async def _write(self, operation: str, arguments: Answer) -> Answer:
        self._writing += 1
        try:
            return await self._write_in_turn(operation, arguments)
        finally:
            self._writing -= 1

    async def _write_in_turn(self, operation: str, arguments: Answer) -> Answer:
        keys = list(written(operation, arguments))
        names = {"|".join((table, *plain(key))) for table, key in keys}
        async with self._turn(names, operation):
            before = await self._images(keys)
            let_in, left = admitted(
                self.throttle,
                operation,
                arguments,
                await self._blocked(operation, arguments, before),
            )
            try:
                answer = await self._engine.call(operation, let_in)
            finally:
                await self._note(operation, before, await self._images(keys))
        if left:
            unprocessed: dict[str, list[Any]] = answer.setdefault("UnprocessedItems", {})
            for table, entries in left.items():
                unprocessed.setdefault(table, []).extend(entries)
        return answer

    @asynccontextmanager
    async def _turn(self, names: set[str], operation: str) -> AsyncIterator[None]:
        """Lock the items of a write.

        A transaction fails if another write of an item is running. A single-item write fails during
        a transaction on its item. Other writes wait for the lock.
        """
        alone = operation == "transact_write_items"
        if alone and any(self._busy[name] for name in names):
            reasons = tuple("TransactionConflict" if self._busy[one] else "None" for one in names)
            raise client_error("TransactionCanceledException", reasons=reasons)
        if not alone and operation != "batch_write_item" and self._transacted & names:
            raise client_error("TransactionConflictException")
        for name in names:
            self._busy[name] += 1
        if alone:
            self._transacted |= names
        try:
            async with self._locks.hold(names, deadline=None):
                yield
        finally:
            for name in names:
                self._busy[name] -= 1
            if alone:
                self._transacted -= names

    async def _images(self, keys: Iterable[tuple[str, Item]]) -> dict[tuple[str, Key], Item | None]:
        """Return the current item of each key, or None if the item does not exist."""
        by_table: dict[str, list[Item]] = defaultdict(list)
        for table, key in keys:
            by_table[table].append(key)
        images: dict[tuple[str, Key], Item | None] = {}
        for table, wanted in by_table.items():
            found = await read(self._engine, table, wanted)
            images |= {(table, plain(key)): found.get(plain(key)) for key in wanted}
        return images

    async def _blocked(
        self, operation: str, arguments: Answer, before: Mapping[tuple[str, Key], Item | None]
    ) -> dict[tuple[str, Key], bool]:
        puts = put_items(operation, arguments)
        return {
            (table, key): self.throttle.blocked(
                table, await self._indexes_of(table), old, puts.get(key)
            )
            for (table, key), old in before.items()
        }

    async def _note(
        self,
        operation: str,
        before: Mapping[tuple[str, Key], Item | None],
        after: Mapping[tuple[str, Key], Item | None],
    ) -> None:
        """Report a write to the indexes, the buckets and the stream."""
        times = 2 if operation == "transact_write_items" else 1
        for table in {table for table, _ in before}:
            writes = [
                Write(key, old, after[(table, key)])
                for (of, key), old in before.items()
                if of == table
            ]
            indexes = await self._indexes_of(table)
            self.throttle.pay_for_writes(table, indexes, writes, times)
            self.lag.note(table, indexes, writes)
            self.streams.note(table, writes)


def amazon_of(table: Table) -> Amazon | None:
    """Return the fake service of a table, or None if the table calls its engine directly."""
    service: Any = table.service
    while not isinstance(service, Amazon):
        service = getattr(service, "_client", None)
        if service is None:
            return None
    return service


def settle(table: Table) -> None:
    """Make all writes to a table visible. Without the fake service, they already are."""
    amazon = amazon_of(table)
    if amazon is not None:
        amazon.settle()
