"""Indexes that lag behind their table, each partition by a different time.

A partition of an index shows a write after the partition's delay. If a write changes an item's
index key, the item leaves its old place and enters its new place at different times. Meanwhile the
item may be in neither place, or in both. Two reads may reach replicas that lag differently, so a
row may disappear in the next read (``waver``). Consistent reads show every write. The engine always
returns the latest rows. The fake removes the rows that the index does not show yet, and adds those
that it still shows.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from dal.table.items import Item
from tests.amazon.clock import Clock
from tests.amazon.writes import IndexKeys, Key, Write, plain, size_of

_PAGE = 1 << 20
_BLOCK = 4_096

Ask = Callable[[dict[str, Any]], Any]
"""Sends a Query to the engine."""

_Partition = tuple[str, str | None, str]
"""A table, an index of the table, and a partition of the index."""
_Place = tuple[str, Key]
"""A sort key in a partition, and its item."""


class _Change(NamedTuple):
    """The item that a place shows until ``due``."""

    due: float
    before: Item | None


@dataclass
class IndexLag:
    """Writes that the indexes do not show yet. ``most`` is the longest delay in seconds."""

    clock: Clock
    seed: int = 0
    most: float = 0.0
    waver: float = 0.0
    of_table: bool = True
    """Whether eventually consistent reads of the table and its local indexes lag too."""
    hidden: int = 0
    """The number of Query responses that differed from the latest rows."""
    _pending: dict[_Partition, dict[_Place, list[_Change]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _chance: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self._chance.seed(self.seed)

    def note(self, table: str, indexes: Sequence[IndexKeys], writes: Iterable[Write]) -> None:
        """Record writes that the indexes will show later."""
        if not self.most:
            return
        for write in writes:
            for index in indexes:
                if self.of_table or not index.local:
                    self._note(table, index, write)

    def _note(self, table: str, index: IndexKeys, write: Write) -> None:
        before, after = index.row(write.before), index.row(write.after)
        if before == after:
            return
        places = {_place(index, row): row for row in (after, before) if row is not None}
        shown = None if before is None else _place(index, before)
        for place in places:
            partition, stands = place
            due = self.clock.now + self._delay(index, partition, write.key)
            changes = self._pending[(table, index.name, partition)].setdefault(stands, [])
            due = max([due, *(one.due for one in changes)])
            changes.append(_Change(due, before if place == shown else None))

    def _delay(self, index: IndexKeys, partition: str, key: Key) -> float:
        return random.Random(f"{self.seed}/{index.name}/{partition}/{key[0]}").uniform(0, self.most)

    def settle(self) -> None:
        """Make all indexes show every write at once."""
        self._pending.clear()

    async def query(
        self, arguments: dict[str, Any], indexes: Sequence[IndexKeys], ask: Ask
    ) -> dict[str, Any]:
        """Return the response of a Query on an index that lags."""
        name, table = arguments.get("IndexName"), arguments["TableName"]
        index = next(one for one in indexes if one.name == name)
        partition = _value(arguments, index.partition_key, "=")
        pending = self._shown(table, index, partition)
        if not pending or arguments.get("ConsistentRead"):
            answer: dict[str, Any] = await ask(arguments)
            return answer
        rows = {_place(index, row)[1]: row for row in await _all(arguments, ask)}
        latest = dict(rows)
        for stands, row in pending.items():
            rows.pop(stands, None)
            if row is not None and _wanted(arguments, index, stands[0]):
                rows[stands] = row
        self.hidden += rows != latest
        return _answer(arguments, index, rows)

    def _shown(self, table: str, index: IndexKeys, partition: str) -> Mapping[_Place, Item | None]:
        """Return the old items of the places in a partition that do not show the last write."""
        places = self._pending.get((table, index.name, partition), {})
        late = self.clock.now - self._chance.uniform(0, self.waver)
        for stands, changes in list(places.items()):
            changes[:] = [one for one in changes if one.due + self.waver > self.clock.now]
            if not changes:
                del places[stands]
        due = {
            stands: [one for one in changes if one.due > late] for stands, changes in places.items()
        }
        return {stands: changes[0].before for stands, changes in due.items() if changes}


def _place(index: IndexKeys, row: Item) -> tuple[str, _Place]:
    return index.partition(row), (row[index.sort_key]["S"], plain(row))


async def _all(arguments: dict[str, Any], ask: Ask) -> list[Item]:
    """Return all current rows in a Query's key range."""
    left_out = {"Limit", "ExclusiveStartKey", "Select"}
    whole = {name: value for name, value in arguments.items() if name not in left_out}
    rows: list[Item] = []
    while True:
        answer = await ask(whole)
        rows += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return rows
        whole["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def _answer(
    arguments: Mapping[str, Any], index: IndexKeys, rows: Mapping[_Place, Item]
) -> dict[str, Any]:
    """Return a Query's response: rows up to its limit.

    As in DynamoDB, it has a last key if the limit is reached, even if no row follows.
    """
    descending = not arguments.get("ScanIndexForward", True)
    order = sorted(rows, key=_bytes, reverse=descending)
    if "ExclusiveStartKey" in arguments:
        start = _bytes(_place(index, arguments["ExclusiveStartKey"])[1])
        order = [
            one for one in order if (_bytes(one) < start if descending else _bytes(one) > start)
        ]
    sizes = accumulate(size_of(rows[one]) for one in order)
    most = 1 + sum(size <= _PAGE for size in sizes)
    limit = min(arguments.get("Limit", most), most)
    shown = [rows[one] for one in order[:limit]]
    blocks = max(1, -(-sum(map(size_of, shown)) // _BLOCK))
    answer: dict[str, Any] = {
        "Items": shown,
        "Count": len(shown),
        "ScannedCount": len(shown),
        "ConsumedCapacity": {"TableName": arguments["TableName"], "CapacityUnits": 0.5 * blocks},
    }
    if len(order) >= limit and shown:
        keys = {"PK", "SK", index.partition_key, index.sort_key}
        answer["LastEvaluatedKey"] = {name: shown[-1][name] for name in keys}
    if arguments.get("Select") == "COUNT":
        del answer["Items"]
    return answer


def _bytes(place: _Place) -> tuple[bytes, bytes, bytes]:
    sort_key, (partition, sort) = place
    return sort_key.encode(), partition.encode(), sort.encode()


def _wanted(arguments: Mapping[str, Any], index: IndexKeys, sort_key: str) -> bool:
    """Return whether a sort key is in a Query's range. As in DynamoDB, keys compare as bytes."""
    low = _value(arguments, index.sort_key, "BETWEEN") or _value(arguments, index.sort_key, ">=")
    above = _value(arguments, index.sort_key, ">")
    below = _value(arguments, index.sort_key, "<")
    high = _value(arguments, index.sort_key, "AND") or _value(arguments, index.sort_key, "<=")
    at = sort_key.encode()
    return (
        (not low or at >= low.encode())
        and (not high or at <= high.encode())
        and (not above or at > above.encode())
        and (not below or at < below.encode())
    )


def _value(arguments: Mapping[str, Any], attribute: str, comparison: str) -> str:
    """Return the value with which a key condition compares an attribute, or "".

    The comparison "AND" is the upper bound of BETWEEN.
    """
    words = arguments["KeyConditionExpression"].split()
    names = arguments["ExpressionAttributeNames"]
    values = arguments["ExpressionAttributeValues"]
    for place, word in enumerate(words):
        if names.get(word) == attribute and words[place + 1] == comparison:
            return str(values[words[place + 2]]["S"])
        if comparison == "AND" and words[place : place + 1] == ["BETWEEN"]:
            return str(values[words[place + 3]]["S"])
    return ""
