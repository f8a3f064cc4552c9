"""Bundles: edits of comments that one transaction does together, with their counters."""

import json
from collections.abc import Sequence

from dal.counters import Action
from dal.counting import Counting
from dal.edits import Edit, Write
from dal.statistics import StatisticsKey, summed

MOST_ACTIONS = 100
"""What a transaction takes."""

MOST_BYTES = 900_000
"""Of the request's actions, in JSON of ASCII as they are sent. DynamoDB takes four times as much,
but sending a body of more than 1 MiB would keep the event loop from everything else."""


def joined(writes: Sequence[Write]) -> Write:
    """Return several writes as one."""
    actions = [action for write in writes for action in write.actions]
    return Write(actions, summed(write.changes for write in writes))


class Bundle:
    """Takes in edits for as long as one transaction can do them all, whoever counts."""

    def __init__(self) -> None:
        self._items: set[tuple[str, str]] = set()
        self._counters: set[StatisticsKey] = set()
        self._bytes = 0

    def add(self, edit: Edit) -> bool:
        """Take an edit in and return True, or return False when it does not fit.

        Edits of one item never share a transaction. A first edit is always taken. There is room
        for the counters of a rebuild beside the others.
        """
        actions = edit.write(Counting()).actions
        items = self._items | {_item(action) for action in actions}
        counters = self._counters | edit.counters
        size = self._bytes + len(json.dumps(actions))
        distinct = len(items) == len(self._items) + len(actions)
        fits = len(items) + 2 * len(counters) <= MOST_ACTIONS and size <= MOST_BYTES
        if self._items and not (distinct and fits):
            return False
        self._items, self._counters, self._bytes = items, counters, size
        return True


def _item(action: Action) -> tuple[str, str]:
    """Return which item an action writes."""
    (entry,) = action.values()
    key = entry.get("Key", entry.get("Item"))
    return key["PK"]["S"], key["SK"]["S"]
