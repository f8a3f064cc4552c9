"""Canaries: items whose records prove how far a stream was read.

The records of a shard come in the order of their writes. So once a canary has come out of a shard,
everything has that went into it before. DynamoDB decides by an item's key which shard its records
go through: canaries of random keys are released until each open shard has shown one. All must come,
as one that does not is in a shard that is not listed yet.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from time import time
from types import TracebackType
from typing import Self
from uuid import uuid4

from dal.errors import DalError
from dal.table.client import Table
from dal.table.concurrency import batched
from dal.table.index import EXPIRES
from dal.table.item import Item, primary_key
from dal.table.streams import Shard

_CANARY = "CANARY#"
_KEPT_SECONDS = 24 * 3600
"""When DynamoDB deletes those that an interrupted command has left."""

_AT_ONCE = 100
"""The most that one transaction removes."""


def is_canary(key: Item) -> bool:
    """Return whether a key is a canary's."""
    return str(key["PK"]["S"]).startswith(_CANARY)


class Canaries:
    """Items that are in the table until the block ends."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._released: set[str] = set()

    async def release(self, shards: int) -> None:
        """Write two more for each of so many shards, and some at least."""
        names = {f"{_CANARY}{uuid4().hex}" for _ in range(min(4 + 2 * shards, _AT_ONCE))}
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
        parents = {shard.parent for shard in shards}
        proven = {shown[name] for name in self._released if name in shown}
        return (
            bool(shards)
            and self.have_come(shown)
            and all(one.shard_id in (parents if one.shard_id in done else proven) for one in shards)
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
            await asyncio.gather(*map(self._table.write, batched(removed, _AT_ONCE)))
