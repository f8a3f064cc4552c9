"""Index: one kind of row in one index of the table, declared as data."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from dal.model.key_parts import escape, unescape
from dal.table.items import Item

TABLE_KEYS = ("PK", "SK")
EXPIRES = "expires"
"""The attribute (unix seconds) after which DynamoDB's time to live may drop an item."""

BY_DATE = ("created_at", "id")
BY_ID = ("id",)
"""Orders of rows. Each ends in an id: it is unique, and ties in time have one order."""


@dataclass(frozen=True, slots=True)
class Index:
    """One kind of row in one index, as the optimizer sees it; ``name`` is None for the table.

    A partition holds the rows that agree on the ``partition`` fields. Its key is ``entity``, ``#``
    and their values joined by ``between``, or ``entity`` alone where no field divides the rows.
    A sort key is ``label``, the values of the ``prefix`` fields, each with a ``#`` after it, and
    the row's position. Rows of one prefix stand in ``order``.
    """

    name: str | None
    partition_key: str
    sort_key: str
    entity: str
    partition: tuple[str, ...]
    order: tuple[str, ...]
    prefix: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """The attributes that its rows carry beside their keys."""
    label: str = ""
    head: str = ""
    """The label of the item that stands at the beginning of each partition's list."""
    between: str = "/"
    shards: int = 1
    """Each partition is spread over this many, by a hash of the row's id."""
    covers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """A sparse index holds only the rows that have these values of these fields."""
    local: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields whose values select a range of rows."""
        return self.partition + self.prefix

    @property
    def consistent(self) -> bool:
        """Whether a read can be sure to see the latest acknowledged write."""
        return self.local or self.name is None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of all attributes that its rows carry."""
        return tuple(
            dict.fromkeys((*TABLE_KEYS, self.partition_key, self.sort_key, *self.projects))
        )

    def holds(self, values: Mapping[str, str]) -> bool:
        """Return whether a row with ``values`` stands in this index."""
        return all(values[name] in held for name, held in self.covers.items())

    def partition_of(self, values: Mapping[str, str], shard: int = 0) -> str:
        """Return the partition key of the rows that carry ``values``, in one shard."""
        parts = [escape(values[name]) for name in self.partition]
        key = f"{self.entity}#{self.between.join(parts)}" if parts else self.entity
        return f"{key}#{shard}" if self.shards > 1 else key

    def prefix_of(self, values: Mapping[str, str]) -> str:
        """Return what stands before the position in the sort keys of rows with ``values``."""
        return self.label + "".join(f"{escape(values[name])}#" for name in self.prefix)

    def keys_of(self, values: Mapping[str, str], position: str) -> Item:
        """Return the index's two key attributes of the row that stands at ``position``.

        The shard follows from the id, the position's last part.
        """
        return {
            self.partition_key: {"S": self.partition_of(values, self._shard(position))},
            self.sort_key: {"S": self.prefix_of(values) + position},
        }

    def values_of(self, item: Item) -> dict[str, str]:
        """Return the partition fields of an item that has this index's keys, of any shard."""
        return dict(zip(self.partition, map(unescape, self._parts(item)), strict=True))

    def _parts(self, item: Item) -> list[str]:
        """Return the values in an item's partition key, as they are escaped there."""
        *parts, last = item[self.partition_key]["S"][len(self.entity) + 1 :].split(self.between)
        return [*parts, last.partition("#")[0]]

    def _shard(self, sort_key: str) -> int:
        """Return the shard of a row: it follows from the id, which ends its sort key."""
        return zlib.crc32(sort_key.rpartition("#")[2].encode()) % self.shards

    def place_of(self, item: Item) -> tuple[str, dict[str, str]]:
        """Return the position of an item with this index's keys, and the fields that they hold."""
        rest = item[self.sort_key]["S"][len(self.label) :]
        *prefix, position = rest.split("#", len(self.prefix))
        held = dict(zip(self.prefix, map(unescape, prefix), strict=True))
        return position, self.values_of(item) | held


TABLE = Index(None, *TABLE_KEYS, entity="", partition=(), order=())
"""The table itself, for items that no entity lists."""
