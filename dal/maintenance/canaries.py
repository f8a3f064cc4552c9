"""Canaries: items whose records prove how far a stream was read.

The records of a shard come in the order of their writes. So once a canary has come out of a shard,
everything has that went into it before. DynamoDB decides by an item's key which shard its records
go through: canaries of random keys are released until each open shard has shown one. All must come,
as one that does not is in a shard that is not listed yet. There are so many for each listed shard
that one which is not listed has some as well: half as wide as the others, it has none once in ten
million times.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from time import time
from types import TracebackType
from typing import Self
from uuid import uuid4

from dal.client.concurrency import batched, in_parallel
from dal.client.streams import Shard
from dal.client.table import Table
from dal.errors import DalError
from dal.table.index import EXPIRES
from dal.table.items import Item, primary_key

_CANARY = "CANARY#"
_KEPT_SECONDS = 24 * 3600
"""When DynamoDB deletes those that an interrupted command has left."""

PER_SHARD = 32

_AT_ONCE = 16
"""How many are removed side by side: each by itself consumes half of what it would together."""


def is_canary(key: Item) -> bool:
    """Return whether a key is a canary's."""
    return str(key["PK"]["S"]).startswith(_CANARY)


class Canaries:
    """Items that are in the table until the block ends."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._released: set[str] = set()

    async def release(self, shards: int) -> None:
        """Write some for each of so many open shards, beside those that were released before."""
        missing = max(1, PER_SHARD * shards - len(self._released))
        names = {f"{_CANARY}{uuid4().hex}" for _ in range(missing)}
        until = {EXPIRES: {"N": str(int(time()) + _KEPT_SECONDS)}}
        self._released |= names
        await self._table.put_many([primary_key(name) | until for name in names])

    def have_come(self, shown: Mapping[str, str]) -> bool:
        """Return whether all are among those ``shown``: partition key to shard."""
        return self._released <= shown.keys()

    def prove(
        self, shown: Mapping[str, str], done: Collection[str], shards: Sequence[Shard]
    ) -> bool:
        """Return whether everything was read that was written before the first was released.

        ``done`` are the shards that were read to their end, and ``shards`` all that are listed.
        """
        parents = {shard.shard_id: shard.parent for shard in shards}
        reached = {shown[name] for name in self._released if name in shown}

        def reached_or_later(shard: str | None) -> bool:
            """Say so of a shard that has shown one, and of those that have followed it."""
            while shard is not None and shard not in reached:
                shard = parents.get(shard)
            return shard is not None

        enough = PER_SHARD * sum(one not in done for one in parents)
        return (
            bool(shards)
            and self.have_come(shown)
            and len(self._released) >= enough
            and all(
                reached_or_later(one) or (one in done and one in parents.values())
                for one in parents
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        removed = [{"Delete": {"Key": primary_key(name)}} for name in self._released]
        with suppress(DalError):  # they expire
            for some in batched(removed, _AT_ONCE):
                await in_parallel([self._table.write([one]) for one in some])
