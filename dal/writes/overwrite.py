"""Writes items over stored items, and reports what changed."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

from dal.dynamodb.concurrency import batched
from dal.dynamodb.table import Table
from dal.table.items import Item, contents, key_of, key_pair

_ITEMS_AT_ONCE = 400
"""Number of stored items that ``overwrite`` reads together, to compare them with the new items."""


class Outcome(NamedTuple):
    """The result of a bulk write: the numbers of new, changed and unchanged objects."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    refused: tuple[str, ...] = ()
    """Ids of comments that were not written, because a rule refused them: see ``WriteRule``."""

    def plus(self, other: "Outcome") -> "Outcome":
        """Return the sum of both outcomes."""
        return Outcome(
            self.new + other.new,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
            self.refused + other.refused,
        )

    @property
    def total(self) -> int:
        """The number of given objects that the table now stores: all except the refused ones."""
        return self.new + self.changed + self.unchanged


NOTHING = Outcome()
NEW = Outcome(new=1)
CHANGED = Outcome(changed=1)
UNCHANGED = Outcome(unchanged=1)


def summed(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the sum of several outcomes."""
    return reduce(Outcome.plus, outcomes, NOTHING)


def compared(old: object, new: object) -> Outcome:
    """Return the outcome of writing ``new`` over ``old``. ``old`` is None if no item was stored."""
    if old is None:
        return NEW
    return UNCHANGED if old == new else CHANGED


async def overwrite(table: Table, objects: Sequence[Sequence[Item]]) -> Outcome:
    """Write the items of each object, except items that equal the stored items.

    An object counts as new if its first item is new. Otherwise, it counts as changed if any of its
    items is new or changed. If two items have the same key, the last one is written. After a
    DalError, some of the items may have been written.
    """
    items = {key_pair(item): item for one in objects for item in one}
    outcomes: dict[tuple[str, str], Outcome] = {}
    for batch in batched(list(items.values()), _ITEMS_AT_ONCE):
        stored = await table.get_many([key_of(one) for one in batch])
        held = {key_pair(item): contents(item) for item in stored}
        found = {key_pair(item): compared(held.get(key_pair(item)), item) for item in batch}
        await table.put_many([item for item in batch if found[key_pair(item)] != UNCHANGED])
        outcomes |= found
    total = NOTHING
    for one in {key_pair(one[0]): one for one in objects}.values():
        first, *others = (outcomes[key_pair(item)] for item in one)
        changed = first == UNCHANGED and {*others} - {UNCHANGED}
        total = total.plus(CHANGED if changed else first)
    return total
