"""Writes as changes of items, and the row of an item in each index."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from dal.dynamodb.wire import Service
from dal.table.items import Item, key_of

Key: TypeAlias = tuple[str, str]
"""The values of an item's partition key and sort key."""

WRITES = frozenset(
    {"put_item", "update_item", "delete_item", "batch_write_item", "transact_write_items"}
)
_GET_BATCH = 100


class Write(NamedTuple):
    """A change of one item. ``before`` or ``after`` is None if the item does not exist."""

    key: Key
    before: Item | None
    after: Item | None


@dataclass(frozen=True, slots=True)
class IndexKeys:
    """An index as DescribeTable describes it; ``name`` is None for the table."""

    name: str | None
    partition_key: str
    sort_key: str
    shows: frozenset[str] | None
    """The attributes that the index projects; None for all."""
    local: bool

    def row(self, item: Item | None) -> Item | None:
        """Return the row of an item in the index; None if the index does not contain the item."""
        if item is None or not (self.partition_key in item and self.sort_key in item):
            return None
        if self.shows is None:
            return item
        return {name: value for name, value in item.items() if name in self.shows}

    def partition(self, row: Item) -> str:
        """Return the partition of a row."""
        return str(row[self.partition_key]["S"])


def indexes_of(description: Mapping[str, Any]) -> Sequence[IndexKeys]:
    """Return a described table's indexes. The table itself is the first."""
    keys = [one["AttributeName"] for one in description["KeySchema"]]
    found = [IndexKeys(None, keys[0], keys[1], None, local=True)]
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for index in description.get(kind, []):
            own = [one["AttributeName"] for one in index["KeySchema"]]
            shown = {*keys, *own, *index["Projection"].get("NonKeyAttributes", [])}
            whole = index["Projection"]["ProjectionType"] == "ALL"
            shows = None if whole else frozenset(shown)
            local = kind == "LocalSecondaryIndexes"
            found.append(IndexKeys(index["IndexName"], own[0], own[1], shows, local=local))
    return found


def written(operation: str, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Item]]:
    """Yield the table and primary key of each item of a write, in order."""
    if operation == "transact_write_items":
        for entry in arguments["TransactItems"]:
            (action,) = entry.values()
            yield action["TableName"], key_of(action.get("Item") or action["Key"])
    elif operation == "batch_write_item":
        for table, entries in arguments["RequestItems"].items():
            for entry in entries:
                (action,) = entry.values()
                yield table, key_of(action.get("Item") or action["Key"])
    else:
        yield arguments["TableName"], key_of(arguments.get("Item") or arguments["Key"])


def put_items(operation: str, arguments: Mapping[str, Any]) -> dict[Key, Item]:
    """Return the complete items of a write's Put actions, by key."""
    if operation == "transact_write_items":
        actions = [action for entry in arguments["TransactItems"] for action in entry.values()]
    elif operation == "batch_write_item":
        tables = arguments["RequestItems"].values()
        actions = [action for entries in tables for entry in entries for action in entry.values()]
    else:
        actions = [arguments]
    return {plain(one["Item"]): one["Item"] for one in actions if "Item" in one}


async def read(engine: Service, table: str, keys: Iterable[Item]) -> dict[Key, Item]:
    """Return the current items with these keys, by key."""
    distinct = list({plain(key): key for key in keys}.values())
    found: dict[Key, Item] = {}
    for start in range(0, len(distinct), _GET_BATCH):
        left = {"Keys": distinct[start : start + _GET_BATCH], "ConsistentRead": True}
        while left["Keys"]:
            answer = await engine.call("batch_get_item", {"RequestItems": {table: left}})
            found |= {plain(item): item for item in answer["Responses"].get(table, [])}
            left = answer["UnprocessedKeys"].get(table, {"Keys": []})
    return found


def plain(key: Item) -> Key:
    """Return the primary key of an item or of a key as strings."""
    return key["PK"]["S"], key["SK"]["S"]


def size_of(item: Item | None) -> int:
    """Return the approximate size of an item in bytes."""
    if item is None:
        return 0
    return sum(len(name.encode()) + _bytes(value) for name, value in item.items())


def _bytes(value: Mapping[str, Any]) -> int:
    ((kind, held),) = value.items()
    match kind:
        case "S":
            return len(held.encode())
        case "N":
            return len(held) // 2 + 2
        case "M":
            return 3 + size_of(held)
        case "L":
            return 3 + sum(map(_bytes, held))
        case _:
            return 1
