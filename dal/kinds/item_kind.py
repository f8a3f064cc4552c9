"""Kinds of items and kinds of files, for commands that work on every item of a table."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from dal.dynamodb.table import Table
from dal.stores import Stores
from dal.table.entity import unpacked
from dal.table.items import Item
from dal.writes.overwrite import Outcome

Thing = TypeVar("Thing")

Put = Callable[[Sequence[Thing]], Awaitable[Outcome]]
"""A function that stores objects with distinct ids. An object replaces the stored object with the
same id. The function returns the number of new, changed and unchanged objects. It also returns the
ids of comments that the table refuses, because their authors have other comments on the same
products. It raises DalError."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a row: its name, parser, and Parquet type, and how loads and exports use it."""

    name: str
    parse: Callable[[str, object], object]
    required: bool = True
    parquet: str = "VARCHAR"
    kept: bool = False
    """Whether a load keeps the stored value if the file lacks the column. If the file has the
    column, an empty cell removes the stored value. In JSONL and XML, the file also has each column
    that a preset or --map names. The field ``state`` is an exception: with an empty cell, the
    stored state is kept."""
    or_else: str = ""
    """The field that a row may have instead of this required field."""
    strict: bool = False
    """Whether a row is rejected if its cell is not in the preset's ``values`` for this field. If
    ``strict`` is false, such a cell counts as empty."""
    all_states: bool = False
    """Whether the field is only in exports with ``--all-states``, which include unpublished
    comments."""


@dataclass(frozen=True, slots=True)
class FileKind(Generic[Thing]):
    """One kind of file, for example a file of comments. Each row becomes one object."""

    name: str
    """The name, such as ``comments``."""
    fields: tuple[Field, ...]
    make: Callable[[Mapping[str, Any]], Thing]
    """Makes an object from the values of a row, by field name."""
    cells: Callable[[Thing], Iterable[object]]
    """Returns an object's values, in the order of the fields."""
    identity: Callable[[Thing], str]
    """Returns the id that decides whether two rows describe the same object."""
    put: Callable[[Stores], Put[Thing]]
    """Returns the function that stores objects of this kind."""
    after: Callable[[Thing, Thing], Thing] = lambda _, later: later
    """Combines the objects of an earlier and a later row with the same identity into one object.
    A load of this object has the same result as loads of the earlier row and then the later row."""
    contains: Callable[[Item], bool] = lambda _: True
    """Returns whether a file contains an item of the kind of items."""
    unpublished: Callable[[Item], bool] = lambda _: False
    """Returns whether only a file with all states contains an item."""
    decode: Callable[[Item], Any] | None = None
    """Returns the object of an item; None if the item cannot be decoded. By default, the kind of
    items decodes it."""
    complete: Callable[[Table, Any], Awaitable[Any]] | None = None
    """Reads what an object needs from other items."""


class EraseItem(Protocol):
    """Erases a user's name from an item, or deletes the item."""

    async def __call__(self, item: Item, username: str, *, remove: bool) -> None:
        """Delete the item if ``remove`` is true."""


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
    without_name: Callable[[Item, str], Item] | None = None
    """Returns an item without the name of a user. With None, an erasure deletes the item."""
    erase: Callable[[Table], EraseItem] | None = None
    """Returns the function that erases a user's name from an item of a table. None if an erasure
    can write the item without other items."""
    erased: Callable[[Table], Callable[[Item], Awaitable[None]]] | None = None
    """Returns the function that corrects what depends on an item, after an erasure of the item."""
    forget: Callable[[Table, str], Awaitable[None]] | None = None
    """Makes running servers forget such items, at the end of an erasure that has erased one. The
    argument is the id of the erasure's record."""
    file: FileKind[Any] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of requests for such items in metrics, by the first part of the partition key."""


def kind_of(item: Item, kinds: Sequence[ItemKind]) -> ItemKind | None:
    """Return the kind of an item; None if no kind holds the item."""
    return next((kind for kind in kinds if kind.holds(item)), None)
