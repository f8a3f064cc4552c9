"""``Index`` declares one kind of row in an index of the table. ``QueryRequest`` is one Query."""

import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from dal.table.items import Item
from dal.table.key_parts import escape, unescape
from dal.table.ranges import UNBOUNDED, Range, just_above, just_below

TABLE_KEYS = ("PK", "SK")
EXPIRES = "expires"
"""The attribute with an item's expiry in Unix seconds, for DynamoDB's time to live."""

TOMBSTONE_SECONDS = 24 * 3600
"""Seconds for which a tombstone is kept: the item that replaces a deleted item, so that an earlier
write that the network delays cannot restore it. DynamoDB refuses a request after 15 minutes,
because its signature is too old."""


def tombstone_expiry() -> Item:
    """Return the attribute ``expires`` of a tombstone that is written now."""
    return {EXPIRES: {"N": str(int(time.time()) + TOMBSTONE_SECONDS)}}


BY_DATE = ("created_at", "id")
BY_HELPFUL = ("helpful_count", "created_at", "id")
BY_ID = ("id",)
"""Orders of rows. Each ends in the id, because DynamoDB does not define the order of rows with
equal sort keys."""

QUEUE_SHARDS = 8
"""Number of shards (partitions) of a list with rows of all users, such as all open orders. The
shards share the load of writes. In return, each page must read every shard."""


@dataclass(frozen=True, slots=True)
class Index:
    """One kind of row in one index; ``name`` is None for the table itself.

    A partition key is ``entity``, ``#``, and the values of the ``partition`` fields, joined by
    ``between``: for example ``PRODUCT#p1/en`` for product and language. Without fields it is
    ``entity`` alone. If ``shards`` is more than 1, ``#`` and the number of the row's shard follow,
    as in ``PLACED#3``.

    A sort key is ``label``, the values of the ``prefix`` fields, each followed by ``#``, and the
    row's position (see ``dal.table.ranges``): for example
    ``PLACED#2026-01-01T00:00:00.000000Z#o1`` for an order's status and position. Rows with the same
    prefix are sorted by ``order``.
    """

    name: str | None
    partition_key: str
    sort_key: str
    entity: str
    partition: tuple[str, ...]
    order: tuple[str, ...]
    prefix: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """The projected attributes, without the keys."""
    label: str = ""
    head: str = ""
    """The beginning of the sort key of the head item: an item of another kind in the same
    partition, before or after all rows. For example, an organisation's own item is before the items
    of its users. Empty if the partitions have no head item."""
    between: str = "/"
    shards: int = 1
    """The number of partitions (shards) with the same values of the ``partition`` fields. The hash
    of a row's id determines its shard."""
    covers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Maps a field to a set of values. The index contains only the rows with one of these values
    (a sparse index). Empty if the index contains all rows."""
    packs: Mapping[str, Callable[[Item], Collection[str]]] = field(default_factory=dict)
    """Maps a field to a function that returns the field's values from an item. The functions are
    for fields inside the JSON attribute ``data``, and for fields that are derived from an
    attribute."""
    searches: Mapping[str, Callable[[Item, str], bool]] = field(default_factory=dict)
    """Maps a field to a function that returns whether an item has a value of the field. No index
    finds the rows with a value, so a page may have to read and drop any number of rows. The
    executor limits this number."""
    implies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Maps a field to coarser fields. If a query filters by the field, a filter by a coarser field
    selects the same rows and more. It is then used only for the partition keys of an index."""
    local: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that determine the partition and the prefix of a row."""
        return self.partition + self.prefix

    @property
    def consistent(self) -> bool:
        """Whether DynamoDB allows consistent reads: of the table and of local indexes only.

        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.ReadConsistency.html
        """
        return self.local or self.name is None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of all attributes that this index contains: keys and projected attributes."""
        return tuple(
            dict.fromkeys((*TABLE_KEYS, self.partition_key, self.sort_key, *self.projects))
        )

    def holds(self, values: Mapping[str, str]) -> bool:
        """Return whether this index contains a row with ``values``.

        The index contains only the rows with a value for each partition field.
        """
        for name, held in self.covers.items():
            if values[name] not in held:
                return False
        return all(map(values.__getitem__, self.partition))

    def partition_of(self, values: Mapping[str, str], shard: int = 0) -> str:
        """Return the partition key of the rows with ``values`` in the shard number ``shard``."""
        parts = self.between.join(map(escape, map(values.__getitem__, self.partition)))
        key = f"{self.entity}#{parts}" if self.partition else self.entity
        return f"{key}#{shard}" if self.shards > 1 else key

    def prefix_of(self, values: Mapping[str, str]) -> str:
        """Return the part of the sort key before the position, for rows with ``values``."""
        return self.label + "".join([f"{escape(values[name])}#" for name in self.prefix])

    def keys_of(self, values: Mapping[str, str], position: str) -> Item:
        """Return the partition key and the sort key of a row in this index, as attributes."""
        shard = zlib.crc32(position.rpartition("#")[2].encode()) % self.shards
        return {
            self.partition_key: {"S": self.partition_of(values, shard)},
            self.sort_key: {
                "S": (self.prefix_of(values) if self.prefix else self.label) + position
            },
        }

    def values_of(self, item: Item) -> dict[str, str]:
        """Return the values of the partition fields from an item's partition key in this index."""
        *parts, last = item[self.partition_key]["S"][len(self.entity) + 1 :].split(self.between)
        parts.append(last.partition("#")[0])  # remove the shard
        return dict(zip(self.partition, map(unescape, parts), strict=True))

    def place_of(self, item: Item) -> tuple[str, dict[str, str]]:
        """Return an item's position in this index, and the values of the fields in its keys."""
        rest = item[self.sort_key]["S"][len(self.label) :]
        *prefix, position = rest.split("#", len(self.prefix))
        held = dict(zip(self.prefix, map(unescape, prefix), strict=True))
        return position, self.values_of(item) | held


TABLE = Index(None, *TABLE_KEYS, entity="", partition=(), order=())
"""The table itself, for Queries of items that have no declared index."""

Spend: TypeAlias = Callable[[float], None]
"""A function that receives the RCU of each Query, for example to add it to the cost of a page."""


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """One Query: up to ``limit`` rows of a range in a partition, after the key ``start``.

    ``consistent`` is possible for the table and for local indexes only.
    """

    index: Index
    partition: str
    range: Range = UNBOUNDED
    descending: bool = False
    limit: int = 1_000
    start: Item | None = None
    consistent: bool = False


class QueryResponse(NamedTuple):
    """The rows of one Query or Scan; ``last_key`` is None at the end of the range.

    ``capacity`` is in RCU. If the endpoint does not report the capacity, it is ``nan``, and every
    sum with it is ``nan`` too.
    """

    items: Sequence[Item]
    last_key: Item | None
    capacity: float


RunQuery: TypeAlias = Callable[[QueryRequest], Awaitable[QueryResponse]]
"""Sends one Query: ``Table.query``, or a fake of it in tests."""


async def query_all(run: RunQuery, request: QueryRequest) -> AsyncIterator[QueryResponse]:
    """Send Queries, one after another, until the range of ``request`` ends. Yield the responses.

    Each response has at most ``limit`` rows, and may have none. The last response has no last key.
    """
    while True:
        response = await run(request)
        yield response
        if response.last_key is None:
            return
        request = replace(request, start=response.last_key)


def query_arguments(request: QueryRequest) -> dict[str, Any]:
    """Return the arguments of a Query without the table's name.

    The Query has no FilterExpression, because DynamoDB also charges for the rows that such an
    expression removes.
    """
    condition, values = _sort_condition(request.range)
    names = {"#p": request.index.partition_key}
    if condition:
        names["#s"] = request.index.sort_key
    arguments = {
        "KeyConditionExpression": f"#p = :p{condition}",
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {":p": {"S": request.partition}, **values},
        "ScanIndexForward": not request.descending,
        "Limit": request.limit,
        "ReturnConsumedCapacity": "TOTAL",
    }
    if request.index.name is not None:
        arguments["IndexName"] = request.index.name
    if request.consistent:
        arguments["ConsistentRead"] = True
    if request.start is not None:
        arguments["ExclusiveStartKey"] = request.start
    return arguments


def _sort_condition(span: Range) -> tuple[str, dict[str, Item]]:
    """Return the part of a key condition that limits the sort key.

    DynamoDB allows only one comparison of the sort key. For a range with two bounds, this is
    BETWEEN, which includes both bounds. So each bound that the range excludes is replaced by a
    string directly inside the range.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
    """
    low, high = span.low, span.high
    if low is not None and high is not None:
        low = just_above(low) if span.low_open else low
        high = just_below(high) if span.high_open else high
        return " AND #s BETWEEN :l AND :h", {":l": {"S": low}, ":h": {"S": high}}
    if low is not None:
        return f" AND #s {'>' if span.low_open else '>='} :l", {":l": {"S": low}}
    if high is not None:
        return f" AND #s {'<' if span.high_open else '<='} :h", {":h": {"S": high}}
    return "", {}
