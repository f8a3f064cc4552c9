"""A table of another layout, read for maintenance: its keys are those that it has itself."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

from dal.table import admin
from dal.table.client import Table
from dal.table.index import Index
from dal.table.item import Item
from dal.table.requests import QueryRequest, answers


class OtherTable:
    """Items of a table by its own key schema; nothing is ever written."""

    def __init__(self, table: Table, description: dict[str, Any]) -> None:
        self._table = table
        self.partition_key, self.sort_key = key_names(description["KeySchema"])
        indexes = [
            *description.get("GlobalSecondaryIndexes", []),
            *description.get("LocalSecondaryIndexes", []),
        ]
        keys = {one["IndexName"]: key_names(one["KeySchema"]) for one in indexes}
        self.indexes = set(keys)
        named = [
            self.partition_key,
            self.sort_key,
            *(name for pair in keys.values() for name in pair),
        ]
        self.keys = {name for name in named if name is not None}
        """The attributes that are a key of the table or of one of its indexes."""
        inverted = [one for one, pair in keys.items() if pair[0] == self.sort_key]
        self._inverted = inverted[0] if inverted else None

    @classmethod
    async def open(cls, table: Table) -> Self:
        """Return the table by its description; StoreRefusedError where there is none."""
        return cls(table, await admin.describe(table))

    async def pages(self) -> AsyncIterator[Sequence[Item]]:
        """Yield all items, some at a time; what is there throughout comes once."""
        start: Item | None = None
        while True:
            answer = await self._table.scan(0, 1, start)
            yield answer.items
            if answer.last_key is None:
                return
            start = answer.last_key

    async def collection(self, partition: str) -> list[Item]:
        """Return the items of one partition."""
        return await self._query(None, self.partition_key, partition)

    async def with_sort_key(self, sort: str) -> list[Item]:
        """Return the items of one sort key, by an index that is partitioned by it, if any."""
        if self._inverted is None or self.sort_key is None:
            return []
        return await self._query(self._inverted, self.sort_key, sort)

    async def _query(self, index: str | None, key: str, value: str) -> list[Item]:
        request = QueryRequest(Index(index, key, "", entity="", partition=(), order=()), value)
        found: list[Item] = []
        async for answer in answers(self._table.query, request):
            found += answer.items
        return found


def key_names(schema: Sequence[dict[str, str]]) -> tuple[str, str | None]:
    """Return the partition key and the sort key, if there is one, of a key schema."""
    roles = {one["KeyType"]: one["AttributeName"] for one in schema}
    return roles["HASH"], roles.get("RANGE")
