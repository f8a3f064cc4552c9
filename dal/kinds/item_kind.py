"""Kinds of items, for commands that work on every item of a table."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dal.dynamodb.table import Table
from dal.stores import Stores
from dal.table.entity import unpacked
from dal.table.items import Item

COMMENTS, ORDERS, TICKETS, STANDING = "comments", "orders", "tickets", "standing"
"""The names of the kinds that an erasure treats by separate rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileItems:
    """The items whose objects a kind of file contains."""

    name: str
    """The name of the kind of file."""
    holds: Callable[[Item], bool]
    """Returns whether a file contains an item."""
    decode: Callable[[Item], Any]
    """Returns the object of an item; None if the item cannot be decoded."""
    unpublished: Callable[[Item], bool] = lambda _: False
    """Returns whether only a file with all states contains an item."""
    complete: Callable[[Table, Any], Awaitable[Any]] | None = None
    """Reads what an object needs from other items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemKind:
    """A kind of item, for export, personal data and erasure."""

    name: str = ""
    """The name of the items in an export of personal data. Empty if no item can name a user."""
    noun: str = ""
    """The noun for one item that names a user."""
    holds: Callable[[Item], bool]
    """Returns whether an item is of this kind."""
    decode: Callable[[Item], Any] = unpacked
    """Returns what an export of personal data contains of an item."""
    single: bool = False
    """Whether a user has at most one such item."""
    of_another: "ItemKind | None" = None
    """The kind of such an item if it belongs to another user than it names."""
    renamed: bool = False
    """Whether an erasure keeps an item without the name. Otherwise it deletes the item."""
    erased: Callable[[Stores, Table, Item], Awaitable[None]] | None = None
    """Corrects what depends on an item, after an erasure of the item."""
    file: FileItems | None = None


def kind_of(item: Item, kinds: Sequence[ItemKind]) -> ItemKind | None:
    """Return the kind of an item; None if no kind holds the item."""
    return next((kind for kind in kinds if kind.holds(item)), None)
