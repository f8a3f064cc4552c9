"""An ``Entity`` declares one kind of item: its keys, indexes, filter fields and codec."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from dal.table.errors import InvalidArgumentError
from dal.table.index import Index
from dal.table.items import Item, unchanged

Model = TypeVar("Model")

UNREADABLE = (AttributeError, InvalidArgumentError, KeyError, TypeError, ValueError)
"""The errors that decoding raises for an item that has this program's keys, but other content,
because another program wrote it."""


class Row(NamedTuple):
    """An item in a list: its position in the list's order, its attributes, and field values."""

    position: str
    item: Item
    values: Mapping[str, str]
    """The values of the fields that the keys of the row's index contain. The index need not project
    these fields."""


@dataclass(frozen=True, slots=True)
class Entity(Generic[Model]):
    """One kind of item of the table.

    * ``fields`` maps each filter field (a field by which a list can be filtered) to a function that
      returns an object's value of the field as a string. The executor can filter an index's rows by
      a field after a Query has read them (a residual filter). For this, the index must have the
      field in ``projects`` or in ``packs``.
    * ``positions`` maps each order of lists, such as ``BY_DATE``, to a function. The function
      returns an object's position in this order, or None if no list in this order contains the
      object.
    * ``indexes``: the first index must contain every item of this kind, because ``decode`` and
      ``unchanged`` use its keys. Cases and standings have no such index, so only ``decode_row``
      decodes them.
    * ``attributes`` returns the attributes of the object's item, without keys.
    """

    key: Callable[[Model], Item]
    fields: Mapping[str, Callable[[Model], str]]
    positions: Mapping[tuple[str, ...], Callable[[Model], str | None]]
    indexes: tuple[Index, ...]
    attributes: Callable[[Model], Item]
    decode_row: Callable[[Row], Model]
    """Decodes a row of any index. Fields that the index does not project are in the row's position
    or in its ``values``."""
    marks: tuple[str, ...] = ()
    """Attributes of the item that ``encode`` does not write. A conditional update compares them
    too."""
    never: tuple[str, ...] = ()
    """Attributes that items of this entity never have. A conditional update compares them too, so
    that the update fails if the item now belongs to another entity."""

    def values(self, model: Model) -> dict[str, str]:
        """Return the value of each filter field."""
        return {name: value(model) for name, value in self.fields.items()}

    def encode(self, model: Model) -> Item:
        """Return an object's table item, with the keys of every index that contains it."""
        item, values = self.key(model), self.values(model)
        positions: dict[tuple[str, ...], str | None] = {}
        for index in self.indexes:
            if not index.holds(values):
                continue
            if (order := index.order) not in positions:
                positions[order] = self.positions[order](model)
            if (position := positions[order]) is not None:
                item |= index.keys_of(values, position)
        return item | self.attributes(model)

    def decode(self, item: Item) -> Model:
        """Return the object that a table item stores."""
        whole = self.indexes[0]
        position = item[whole.sort_key]["S"][len(whole.label) :]
        return self.decode_row(Row(position, item, whole.values_of(item)))

    def recover(self, item: Item) -> Model | None:
        """Return the object of an item that has the keys of at least one index; otherwise None.

        This method also accepts items that ``decode`` does not accept. An older version may have
        written the item without the keys of a newer index, and another program may have written any
        item. The result is also None if the item cannot be decoded.
        """
        for index in self.indexes:
            with suppress(*UNREADABLE):
                position, values = index.place_of(item)
                return self.decode_row(Row(position, item, values))
        return None

    @property
    def compared(self) -> tuple[str, ...]:
        """The attributes that a conditional update compares.

        All other keys of the item are derived from these attributes, so they need no comparison.
        """
        whole = self.indexes[0]
        projected = [name for index in self.indexes for name in index.projects]
        keys = (whole.partition_key, whole.sort_key)
        return tuple(dict.fromkeys([*keys, *projected, "data", *self.marks, *self.never]))

    def unchanged(self, item: Item, *, unpacked: bool = False) -> dict[str, Any]:
        """Return the condition that an item has not changed.

        If ``unpacked`` is True, the condition does not compare the attribute ``data``.
        """
        names = [name for name in self.compared if name != "data" or not unpacked]
        return unchanged(item, tuple(names))


def packed(values: Mapping[str, Any]) -> Item:
    """Return the attribute ``data``, which contains the values as compact JSON.

    The attribute is a string, so that the AWS console shows readable text.
    """
    return {"data": {"S": orjson.dumps(values).decode()}}


def unpacked(item: Item) -> Any:
    """Return the values of the attribute ``data``."""
    return orjson.loads(item["data"]["S"])
