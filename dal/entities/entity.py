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
"""Errors of decoding an item that another program wrote under one of our keys."""


class Row(NamedTuple):
    """An item in a list: its position, its attributes, and the field values of its segment."""

    position: str
    item: Item
    values: Mapping[str, str]
    """The fields that all rows of the segment share. The index need not project them."""


@dataclass(frozen=True, slots=True)
class Entity(Generic[Model]):
    """One kind of item of the table.

    The first of ``indexes`` contains every item. ``positions`` returns an object's position for
    each order of lists; None if no list of that order contains it. ``attributes`` returns the
    attributes of its item without keys. ``fields`` returns the value of each filter field, as keys
    contain it. A field can also be a residual filter if an index projects an attribute with the
    field's name.
    """

    key: Callable[[Model], Item]
    fields: Mapping[str, Callable[[Model], str]]
    positions: Mapping[tuple[str, ...], Callable[[Model], str | None]]
    indexes: tuple[Index, ...]
    attributes: Callable[[Model], Item]
    decode_row: Callable[[Row], Model]
    """Returns the object of a row of any index, without the index's keys."""
    marks: tuple[str, ...] = ()
    """Attributes that the codec does not write. A conditional update compares them too."""
    never: tuple[str, ...] = ()
    """Attributes that no item of this entity has. A conditional update compares them too."""

    def values(self, model: Model) -> dict[str, str]:
        """Return the value of each filter field."""
        return {name: value(model) for name, value in self.fields.items()}

    def encode(self, model: Model) -> Item:
        """Return the whole item, with the keys of every index that contains it."""
        item, values = self.key(model), self.values(model)
        positions = {order: position(model) for order, position in self.positions.items()}
        for index in self.indexes:
            position = positions[index.order]
            if position is not None and index.holds(values):
                item |= index.keys_of(values, position)
        return item | self.attributes(model)

    def decode(self, item: Item) -> Model:
        """Return the object of a whole item."""
        whole = self.indexes[0]
        position = item[whole.sort_key]["S"][len(whole.label) :]
        return self.decode_row(Row(position, item, whole.values_of(item)))

    def recover(self, item: Item) -> Model | None:
        """Return the object of a whole item that has the keys of any index; None if it has none.

        An older version may have written the item without the keys of a newer index. Another
        program may have written anything.
        """
        for index in self.indexes:
            with suppress(*UNREADABLE):
                position, values = index.place_of(item)
                return self.decode_row(Row(position, item, values))
        return None

    @property
    def compared(self) -> tuple[str, ...]:
        """The attributes that a conditional update compares: all except derived keys."""
        whole = self.indexes[0]
        projected = [name for index in self.indexes for name in index.projects]
        keys = (whole.partition_key, whole.sort_key)
        return tuple(dict.fromkeys([*keys, *projected, "data", *self.marks, *self.never]))

    def unchanged(self, item: Item, *, unpacked: bool = False) -> dict[str, Any]:
        """Return the condition that an item has not changed; ``unpacked`` omits ``data``."""
        names = [name for name in self.compared if name != "data" or not unpacked]
        return unchanged(item, tuple(names))


def packed(values: Mapping[str, Any]) -> Item:
    """Return the attribute ``data``: a small JSON object, which is readable in AWS's console."""
    return {"data": {"S": orjson.dumps(values).decode()}}


def unpacked(item: Item) -> Any:
    """Return the values of the attribute ``data``."""
    return orjson.loads(item["data"]["S"])
