"""Entity: one kind of item, declared once: its keys, indexes, filter fields and codec."""

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
"""What decoding raises of an item that another program wrote under one of our keys."""


class Row(NamedTuple):
    """An item as a list shows it: where it stands, its attributes, what its segment fixes."""

    position: str
    item: Item
    values: Mapping[str, str]
    """The fields that all rows of its segment agree on: an index need not carry them as well."""


@dataclass(frozen=True, slots=True)
class Entity(Generic[Model]):
    """One kind of item of the table.

    The first of ``indexes`` holds every one of the items. ``positions`` says where an object stands
    in lists of each order, ``attributes`` what its item has beside keys, and ``fields`` what
    filters can ask for, as keys hold it: a field whose name is also that of an attribute that an
    index projects can be left to the rows read.
    """

    key: Callable[[Model], Item]
    fields: Mapping[str, Callable[[Model], str]]
    positions: Mapping[tuple[str, ...], Callable[[Model], str]]
    indexes: tuple[Index, ...]
    attributes: Callable[[Model], Item]
    decode_row: Callable[[Row], Model]
    """Returns the object of a row of any of the indexes, whose keys it does not look at."""
    marks: tuple[str, ...] = ()
    """Attributes that its codec does not write; a conditional update compares them too."""

    def values(self, model: Model) -> dict[str, str]:
        """Return the value of each filter field."""
        return {name: value(model) for name, value in self.fields.items()}

    def encode(self, model: Model) -> Item:
        """Return the whole item, with the keys of every index that holds it."""
        item, values = self.key(model), self.values(model)
        positions = {order: position(model) for order, position in self.positions.items()}
        for index in self.indexes:
            if index.holds(values):
                item |= index.keys_of(values, positions[index.order])
        return item | self.attributes(model)

    def decode(self, item: Item) -> Model:
        """Return the object of a whole item."""
        whole = self.indexes[0]
        position = item[whole.sort_key]["S"][len(whole.label) :]
        return self.decode_row(Row(position, item, whole.values_of(item)))

    def recover(self, item: Item) -> Model | None:
        """Return the object of a whole item by any index whose keys it has; None without one.

        An older version wrote an item without the keys of indexes that are newer, and another
        program writes what it likes.
        """
        for index in self.indexes:
            with suppress(*UNREADABLE):
                position, values = index.place_of(item)
                return self.decode_row(Row(position, item, values))
        return None

    @property
    def compared(self) -> tuple[str, ...]:
        """What a conditional update compares: keys, all that indexes project, ``data``, marks."""
        whole = self.indexes[0]
        projected = [name for index in self.indexes for name in index.projects]
        keys = (whole.partition_key, whole.sort_key)
        return tuple(dict.fromkeys([*keys, *projected, "data", *self.marks]))

    def unchanged(self, item: Item, *, unpacked: bool = False) -> dict[str, Any]:
        """Return the condition that an item is as it was read; ``unpacked`` leaves out ``data``."""
        names = [name for name in self.compared if name != "data" or not unpacked]
        return unchanged(item, tuple(names))


def packed(values: Mapping[str, Any]) -> Item:
    """Return the attribute ``data``: a JSON object, legible in the console and small to read."""
    return {"data": {"S": orjson.dumps(values).decode()}}


def unpacked(item: Item) -> Any:
    """Return what ``packed`` was given."""
    return orjson.loads(item["data"]["S"])
