"""Bundles: writes of comments that one transaction does together, with their counters."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dal.counters import Action
from dal.statistics import Deltas, StatisticsKey, summed

MOST_ACTIONS = 100
"""What a transaction takes."""

MOST_BYTES = 900_000
"""Of the request's actions, in JSON of ASCII as they are sent. DynamoDB takes four times as much,
but sending a body of more than 1 MiB would keep the event loop from everything else."""


@dataclass(frozen=True, slots=True)
class Write:
    """Actions that are done together or not at all, and what they change of the counters."""

    actions: Sequence[Action]
    changes: Deltas

    @property
    def products(self) -> frozenset[str]:
        """The products whose counters change."""
        return frozenset(key.product_id for key in self.changes)


def joined(writes: Sequence[Write]) -> Write:
    """Return several writes as one."""
    actions = [action for write in writes for action in write.actions]
    return Write(actions, summed(write.changes for write in writes))


class Bundle:
    """Takes in writes for as long as one transaction can do them all."""

    def __init__(self) -> None:
        self._items: set[tuple[str, str]] = set()
        self._counters: set[StatisticsKey] = set()
        self._bytes = 0

    def add(self, write: Write) -> bool:
        """Take a write in and return True, or return False when it does not fit.

        Writes of one item never share a transaction. A first write is always taken.
        """
        items = self._items | {_item(action) for action in write.actions}
        counters = self._counters | write.changes.keys()
        size = self._bytes + len(json.dumps(write.actions))
        distinct = len(items) == len(self._items) + len(write.actions)
        fits = len(items) + len(counters) <= MOST_ACTIONS and size <= MOST_BYTES
        if self._items and not (distinct and fits):
            return False
        self._items, self._counters, self._bytes = items, counters, size
        return True


def _item(action: Action) -> tuple[str, str]:
    """Return which item an action writes."""
    (entry,) = action.values()
    key = entry.get("Key", entry.get("Item"))
    return key["PK"]["S"], key["SK"]["S"]
