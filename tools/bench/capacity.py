"""Computes the capacity that requests consume, by DynamoDB's rules and the table's definition.

DynamoDB bills writes in write capacity units (WCU), and reads in read capacity units (RCU). A write
costs 1 WCU for each started kilobyte of the item before or after the write, whichever is larger. A
transaction doubles the units of the item in the table, but not of its index rows. A change of an
index row costs another write of the row's attributes. If the row's keys change, the change costs
two writes. A consistent read costs 1 RCU for each started 4 KB, and an eventually consistent read
costs half as much.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from dal.dynamodb.wire import Service
from dal.entities import INDEXES
from dal.table.definition import table_definition
from dal.table.items import Item

_WRITE_UNIT, _READ_UNIT = 1024, 4096
PER_ITEM = 100
"""Bytes that DynamoDB bills for each stored item in addition to the item's size."""


@dataclass(slots=True)
class Consumed:
    """A number of requests, and the WCU and RCU that they consumed together."""

    requests: float = 0
    wcu: float = 0.0
    rcu: float = 0.0

    def one_of(self, times: int) -> "Consumed":
        """Return the average per operation; ``self`` is the total of ``times`` operations."""
        return Consumed(self.requests / times, self.wcu / times, self.rcu / times)


@dataclass(frozen=True, slots=True)
class _Shown:
    """An index's key attributes, and all attributes that its rows contain.

    An item that lacks a key attribute has no row in the index.
    """

    keys: tuple[str, ...]
    attributes: frozenset[str]

    def row(self, item: Item | None) -> Item | None:
        """Return the item's row in the index; None if the index has no row of the item."""
        if item is None or not all(name in item for name in self.keys):
            return None
        return {name: value for name, value in item.items() if name in self.attributes}

    def units(self, old: Item | None, new: Item | None) -> int:
        """Return the WCU that a change of an item costs in the index.

        ``old`` is None for a new item, and ``new`` is None for a deleted item.
        """
        before, after = self.row(old), self.row(new)
        if before == after:
            return 0
        if before and after and any(before[name] != after[name] for name in self.keys):
            return write_units(before) + write_units(after)
        return write_units(before, after)


def _shown() -> list[_Shown]:
    """Return the indexes of the table's definition."""
    definition = table_definition("declared", INDEXES)
    primary = [one["AttributeName"] for one in definition["KeySchema"]]
    found = []
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for index in definition[kind]:
            keys = tuple(one["AttributeName"] for one in index["KeySchema"])
            projected = index["Projection"]["NonKeyAttributes"]
            shown = frozenset({*primary, *keys, *projected})
            found.append(_Shown(keys, shown))
    return found


_INDEXES = _shown()


def size_of(item: Item) -> int:
    """Return an item's bytes as DynamoDB counts them: names and values."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    ((kind, held),) = value.items()
    match kind:
        case "S":
            return len(held.encode())
        case "N":
            return 1 + ceil(len(held.strip("-0.").replace(".", "")) / 2)
        case "M":
            return 3 + size_of(held) + len(held)
        case _:
            return 1


def stored_size(item: Item) -> int:
    """Return the bytes that DynamoDB bills for an item and all its index rows."""
    rows = [item, *(row for index in _INDEXES if (row := index.row(item)) is not None)]
    return sum(size_of(row) + PER_ITEM for row in rows)


def write_units(*images: Item | None) -> int:
    """Return the WCU of a write.

    ``images`` are the item before and after the write. The larger one determines the WCU.
    """
    return max(1, ceil(max(size_of(one) for one in images if one is not None) / _WRITE_UNIT))


def read_units(size: int, *, consistent: bool) -> float:
    """Return the RCU of reading ``size`` bytes."""
    return max(1, ceil(size / _READ_UNIT)) * (1.0 if consistent else 0.5)


def written_units(old: Item | None, new: Item | None, *, transaction: bool) -> int:
    """Return the WCU of an item's change, in the table and in all indexes.

    If the item exists neither before nor after the request, the request costs 1 WCU, or 2 in a
    transaction.
    """
    table = write_units(old, new) if old or new else 1
    return table * (1 + transaction) + sum(index.units(old, new) for index in _INDEXES)


class Meter:
    """Sends requests to an engine, and keeps totals of their computed and their reported capacity.

    To compute the capacity of a write, the meter reads the written items before and after the
    write. It does not count these reads.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self.endpoint_url = service.endpoint_url
        self.computed = Consumed()
        self.reported = Consumed()

    def reset(self) -> None:
        """Set both totals to zero."""
        self.computed, self.reported = Consumed(), Consumed()

    def counted(self, times: int) -> tuple[Consumed, Consumed]:
        """Return the computed and the reported average of ``times`` operations since ``reset``."""
        return self.computed.one_of(times), self.reported.one_of(times)

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send a request. Add its computed and its reported capacity to the two totals."""
        if operation == "describe_table":  # This request consumes no capacity.
            return await self._service.call(operation, arguments)
        keys = list(_written_keys(operation, arguments))
        before = await self._images(arguments, keys)
        answer = await self._service.call(operation, arguments)
        reported = answer["ConsumedCapacity"]
        units = sum(
            one["CapacityUnits"] for one in (reported if isinstance(reported, list) else [reported])
        )
        self.computed.requests += 1
        self.reported.requests += 1
        if keys:
            after = await self._images(arguments, keys)
            self.reported.wcu += units
            transaction = operation == "transact_write_items"
            self.computed.wcu += sum(
                written_units(old, new, transaction=transaction)
                for old, new in zip(before, after, strict=True)
            )
        else:
            self.reported.rcu += units
            self.computed.rcu += await self._read(operation, arguments, answer)
        return answer

    async def _read(
        self, operation: str, arguments: dict[str, Any], answer: Mapping[str, Any]
    ) -> float:
        consistent = arguments.get("ConsistentRead", False)
        match operation:
            case "get_item":
                return read_units(size_of(answer.get("Item", {})), consistent=consistent)
            case "batch_get_item":
                ((name, asked),) = arguments["RequestItems"].items()
                found = answer["Responses"][name]
                lacking = len(asked["Keys"]) - len(found)
                each = [size_of(item) for item in found] + [0] * lacking
                return sum(read_units(size, consistent=asked["ConsistentRead"]) for size in each)
            case _:
                shown = {name: one for name, one in arguments.items() if name != "Select"}
                if "FilterExpression" in shown:  # DynamoDB also charges for the rows it removes
                    shown["FilterExpression"] = "({0}) OR NOT ({0})".format(
                        shown["FilterExpression"]
                    )
                if shown != arguments:
                    answer = await self._service.call(operation, shown)
                return read_units(sum(map(size_of, answer["Items"])), consistent=consistent)

    async def _images(
        self, arguments: Mapping[str, Any], keys: Sequence[Item]
    ) -> list[Item | None]:
        """Return the items with these keys as they are now."""
        name = arguments.get("TableName")
        if "RequestItems" in arguments:
            (name,) = arguments["RequestItems"]
        elif name is None:
            (action,) = arguments["TransactItems"][0].values()
            name = action["TableName"]
        read = {"TableName": name, "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL"}
        answers = [await self._service.call("get_item", read | {"Key": key}) for key in keys]
        return [answer.get("Item") for answer in answers]


def _written_keys(operation: str, arguments: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the primary keys of the items that a request writes, or checks in a transaction."""
    entries: Iterable[Mapping[str, Any]] = ()
    match operation:
        case "transact_write_items":
            entries = (next(iter(one.values())) for one in arguments["TransactItems"])
        case "batch_write_item":
            (requests,) = arguments["RequestItems"].values()
            entries = (next(iter(one.values())) for one in requests)
        case "put_item" | "update_item" | "delete_item":
            entries = (arguments,)
    for entry in entries:
        item = entry.get("Key") or entry["Item"]
        yield {"PK": item["PK"], "SK": item["SK"]}
