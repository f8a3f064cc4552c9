"""Writes of many things over what is there, and what became of it."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

from dal.client.concurrency import batched
from dal.client.table import Table
from dal.table.items import Item, key_of

_BATCH = 400
"""Items that are read at once before those that differ are written."""


class Outcome(NamedTuple):
    """How many things a write found absent, found different, and found as they are."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0

    def plus(self, other: "Outcome") -> "Outcome":
        """Return both in one."""
        return Outcome(*(mine + its for mine, its in zip(self, other, strict=True)))

    @property
    def total(self) -> int:
        """How many things there were."""
        return sum(self)


NOTHING = Outcome()
NEW = Outcome(new=1)
CHANGED = Outcome(changed=1)
UNCHANGED = Outcome(unchanged=1)


def summed(outcomes: Iterable[Outcome]) -> Outcome:
    """Return several outcomes in one."""
    return reduce(Outcome.plus, outcomes, NOTHING)


def compared(old: object, new: object) -> Outcome:
    """Return what a write of ``new`` over ``old`` does; None is nothing there."""
    if old is None:
        return NEW
    return UNCHANGED if old == new else CHANGED


async def overwrite(table: Table, things: Sequence[Sequence[Item]]) -> Outcome:
    """Write the items of each thing that differ from what is under their keys.

    The first item of a thing tells whether it is new. Of two items with one key the last counts.
    Raises DalError; some of the items may be written then.
    """
    items = {_key(item): item for thing in things for item in thing}
    found: dict[tuple[str, str], Outcome] = {}
    for batch in batched(list(items.values()), _BATCH):
        held = {_key(item): item for item in await table.get_many([key_of(one) for one in batch])}
        states = {_key(item): compared(held.get(_key(item)), item) for item in batch}
        await table.put_many([item for item in batch if states[_key(item)] != UNCHANGED])
        found |= states
    distinct = {_key(thing[0]): thing for thing in things}.values()
    return summed(_of_items([found[_key(item)] for item in thing]) for thing in distinct)


def _of_items(states: Sequence[Outcome]) -> Outcome:
    """Return what became of a thing, from what became of its items."""
    first, *others = states
    return CHANGED if first == UNCHANGED and {*others} - {UNCHANGED} else first


def _key(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]
