"""An ``Entity`` declares one kind of item: its keys, indexes, filter fields and codec."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from dal.errors import InvalidArgumentError
from dal.table.index import Index
from dal.table.items import Item, unchanged

Model = TypeVar("Model")

UNREADABLE = (AttributeError, InvalidArgumentError, KeyError, TypeError, ValueError)
"""Errors of decoding an item that another program wrote with one of our keys."""


class Row(NamedTuple):
    """An item in a list: its position, its attributes, and the field values of its segment."""

    position: str
    item: Item
    values: Mapping[str, str]
    """The field values that all rows of the segment share. The index need not project these
    fields."""


@dataclass(frozen=True, slots=True)
class Entity(Generic[Model]):
    """One kind of item of the table.

    The first of ``indexes`` contains every item of this kind. ``positions`` returns an object's
    position for each order of lists, or None if no list of that order contains the object.
    ``attributes`` returns the attributes of the object's item, without keys. ``fields`` returns the
    values of the filter fields as keys contain them. If an index projects an attribute with a
    field's name, the field can also be a residual filter of that index.
    """

    key: Callable[[Model], Item]
    fields: Mapping[str, Callable[[Model], str]]
    positions: Mapping[tuple[str, ...], Callable[[Model], str | None]]
    indexes: tuple[Index, ...]
    attributes: Callable[[Model], Item]
    decode_row: Callable[[Row], Model]
    """Decodes a row of any index. The index's key attributes are not in the row."""
    marks: tuple[str, ...] = ()
    """Attributes of the item that ``encode`` does not write. A conditional update compares them
    too."""
    never: tuple[str, ...] = ()
    """Attributes that items of this entity never have. A conditional update compares them too, so
    that it fails if the item has become one of another entity."""

    def values(self, model: Model) -> dict[str, str]:
        """Return the value of each filter field."""
        return {name: value(model) for name, value in self.fields.items()}

    def encode(self, model: Model) -> Item:
        """Return an object's table item, with the keys of every index that contains it."""
        item, values = self.key(model), self.values(model)
        positions = {order: position(model) for order, position in self.positions.items()}
        for index in self.indexes:
            position = positions[index.order]
            if position is not None and index.holds(values):
                item |= index.keys_of(values, position)
        return item | self.attributes(model)

    def decode(self, item: Item) -> Model:
        """Return the object that a table item stores."""
        whole = self.indexes[0]
        position = item[whole.sort_key]["S"][len(whole.label) :]
        return self.decode_row(Row(position, item, whole.values_of(item)))

    def recover(self, item: Item) -> Model | None:
        """Return the object of a table item with the keys of at least one index; otherwise None.

        An older version may have written the item without the keys of a newer index, and another
        program may have written any item.
        """
        for index in self.indexes:
            with suppress(*UNREADABLE):
                position, values = index.place_of(item)
                return self.decode_row(Row(position, item, values))
        return None

    @property
    def compared(self) -> tuple[str, ...]:
        """The attributes that a conditional update compares: all but keys derived from others."""
        whole = self.indexes[0]
        projected = [name for index in self.indexes for name in index.projects]
        keys = (whole.partition_key, whole.sort_key)
        return tuple(dict.fromkeys([*keys, *projected, "data", *self.marks, *self.never]))

    def unchanged(self, item: Item, *, unpacked: bool = False) -> dict[str, Any]:
        """Return the condition that an item has not changed.

        With ``unpacked``, ``data`` may change.
        """
        names = [name for name in self.compared if name != "data" or not unpacked]
        return unchanged(item, tuple(names))


def packed(values: Mapping[str, Any]) -> Item:
    """Return the attribute ``data``: values as compact JSON, which AWS's console shows as text."""
    return {"data": {"S": orjson.dumps(values).decode()}}


def unpacked(item: Item) -> Any:
    """Return the values of the attribute ``data``."""
    return orjson.loads(item["data"]["S"])
