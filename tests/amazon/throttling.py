"""Throttling by partition: each partition of the table and of each index has units per second.

A request is accepted while its partitions have units left. Its units are subtracted afterwards, so
the last request may consume more units than were left. A write is also refused if a partition of an
index has no units left. A batch may be accepted in part.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from dal.table.errors import DalError
from dal.table.items import Item
from tests.amazon.clock import Clock
from tests.amazon.writes import IndexKeys, Key, Write, plain, size_of, written
from tests.fakes import client_error

_CODES = ("ThrottlingException", "ProvisionedThroughputExceededException")
"""The error codes of on-demand tables and of provisioned tables."""

_WRITE_BLOCK, _READ_BLOCK = 1_024, 4_096


@dataclass
class Bucket:
    """A partition's units, refilled at ``rate`` per second up to ``rate``.

    ``left`` may be negative.
    """

    clock: Clock
    rate: float
    left: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self.left, self._at = self.rate, self.clock.now

    def open(self) -> bool:
        """Return whether the bucket accepts another request."""
        now = self.clock.now
        self.left = min(self.rate, self.left + self.rate * (now - self._at))
        self._at = now
        return self.left > 0

    def pay(self, units: float) -> None:
        """Subtract the units that a request consumed."""
        self.left -= units


@dataclass
class Throttle:
    """The buckets of a table's partitions.

    ``wcu`` and ``rcu`` are units per second; None means no limit.
    """

    clock: Clock
    wcu: float | None = None
    rcu: float | None = None
    wait: float = 0.0
    """The number of seconds by which each refusal advances the clock."""
    refused: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    """The number of refusals by index (None for the table) and partition."""
    written: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    """The consumed WCU by index and partition."""
    _buckets: dict[tuple[str, str, str | None, str], Bucket] = field(default_factory=dict)
    _codes: Any = field(default_factory=lambda: cycle(_CODES))

    def error(self) -> DalError:
        """Return the error of a throttled request, with the code of each billing mode in turn."""
        return client_error(next(self._codes))

    # --- writes ---

    def blocked(self, table: str, indexes: Sequence[IndexKeys], *images: Item | None) -> bool:
        """Return whether any partition that contains a row of these images refuses a write."""
        rows = {
            (index.name, index.partition(row))
            for image in images
            for index in indexes
            if (row := index.row(image)) is not None
        }
        return not all(self._open("w", table, name, partition) for name, partition in rows)

    def pay_for_writes(
        self, table: str, indexes: Sequence[IndexKeys], writes: Iterable[Write], times: int
    ) -> None:
        """Subtract the units of writes.

        ``times`` is 2 for a transaction, which pays double for the table.
        """
        units: Counter[tuple[str | None, str]] = Counter()
        for write in writes:
            for index in indexes:
                before, after = index.row(write.before), index.row(write.after)
                if index.name is None:
                    size = max(size_of(before), size_of(after), 1)
                    units[(None, write.key[0])] += times * math.ceil(size / _WRITE_BLOCK)
                elif before != after:
                    for row in _rewritten(index, before, after):
                        cost = math.ceil(size_of(row) / _WRITE_BLOCK)
                        units[(index.name, index.partition(row))] += cost
        for (name, partition), cost in units.items():
            self.written[(name, partition)] += cost
            self._pay("w", table, name, partition, cost)

    # --- reads ---

    def admit_read(self, table: str, index: str | None, partition: str) -> None:
        """Raise the error of a throttled read if a partition has no units left."""
        if not self._open("r", table, index, partition):
            raise self.error()

    def readable(self, table: str, keys: Sequence[Item]) -> list[Item]:
        """Return the keys of a batch that can be read now."""
        return [key for key in keys if self._open("r", table, None, plain(key)[0])]

    def pay_for_read(self, table: str, index: str | None, partition: str, units: float) -> None:
        """Subtract the units of a read."""
        self._pay("r", table, index, partition, units)

    def pay_for_items(self, table: str, items: Iterable[Item], *, consistent: bool) -> None:
        """Subtract the units of items that were read by key."""
        for item in items:
            blocks = math.ceil(size_of(item) / _READ_BLOCK)
            self._pay("r", table, None, plain(item)[0], blocks if consistent else blocks / 2)

    def _open(self, kind: str, table: str, index: str | None, partition: str) -> bool:
        bucket = self._bucket(kind, table, index, partition)
        if bucket is None or bucket.open():
            return True
        self.refused[(index, partition)] += 1
        self.clock.advance(self.wait)
        return False

    def _pay(self, kind: str, table: str, index: str | None, partition: str, units: float) -> None:
        bucket = self._bucket(kind, table, index, partition)
        if bucket is not None:
            bucket.pay(units)

    def _bucket(self, kind: str, table: str, index: str | None, partition: str) -> Bucket | None:
        rate = self.wcu if kind == "w" else self.rcu
        if rate is None:
            return None
        key = (kind, table, index, partition)
        if key not in self._buckets:
            self._buckets[key] = Bucket(self.clock, rate)
        return self._buckets[key]


def _rewritten(index: IndexKeys, before: Item | None, after: Item | None) -> list[Item]:
    """Return the index rows that a write pays for: the larger row, or both if a key changes."""
    rows = [row for row in (before, after) if row is not None]
    if len(rows) == 2 and _same_place(index, *rows):
        return [max(rows, key=size_of)]
    return rows


def _same_place(index: IndexKeys, one: Item, other: Item) -> bool:
    return all(one[name] == other[name] for name in (index.partition_key, index.sort_key))


def admitted(
    throttle: Throttle,
    operation: str,
    arguments: dict[str, Any],
    blocked: Mapping[tuple[str, Key], bool],
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return the accepted part of a write, and the refused entries of a batch.

    Raise the error of a throttled request if nothing is accepted.
    """
    if not any(blocked.values()):
        return arguments, {}
    if operation == "transact_write_items":
        reasons = [
            "ThrottlingError" if blocked[(table, plain(key))] else "None"
            for table, key in written(operation, arguments)
        ]
        raise client_error("TransactionCanceledException", reasons=tuple(reasons))
    if operation != "batch_write_item" or all(blocked.values()):
        raise throttle.error()
    let_in: dict[str, list[Any]] = defaultdict(list)
    left: dict[str, list[Any]] = defaultdict(list)
    for table, entries in arguments["RequestItems"].items():
        for entry in entries:
            (action,) = entry.values()
            key = plain(action.get("Item") or action["Key"])
            (left if blocked[(table, key)] else let_in)[table].append(entry)
    return {**arguments, "RequestItems": dict(let_in)}, dict(left)
