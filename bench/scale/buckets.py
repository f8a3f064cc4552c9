"""Token buckets: units a second of partitions, tables and indexes, and who was refused by which."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple


class Limit(NamedTuple):
    """One partition, table or index with a limit of its own; ``kind`` says which sort it is."""

    kind: str
    name: object
    rate: float


_AT_FIRST = 0.1
"""Seconds' worth that a bucket holds at first: a full one would show a rate that does not last."""


class Buckets:
    """A bucket for each limit, that holds what one second brings at most."""

    def __init__(self) -> None:
        self._left: dict[Limit, tuple[float, float]] = {}
        self.refused: Counter[str] = Counter()
        """Requests by the kind of limit that refused them."""

    def take(self, now: float, demands: Mapping[Limit, float]) -> bool:
        """Take all of ``demands`` or nothing; False where one of the buckets has too little."""
        found = {}
        for limit, units in demands.items():
            left, filled = self._left.get(limit, (limit.rate * _AT_FIRST, now))
            left = min(limit.rate, left + (now - filled) * limit.rate)
            if left < units:
                self.refused[limit.kind] += 1
                return False
            found[limit] = left - units, now
        self._left |= found
        return True
