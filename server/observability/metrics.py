"""Metrics of one process: sums in plain dictionaries, which cost a tenth of what locks would.

They change in the event loop's thread alone. ``state`` may be asked for by another one.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from server.observability.declared import FAST, Declared

Key: TypeAlias = tuple[Declared, tuple[str, ...]]
"""A metric, and the values of its labels."""


class Series(NamedTuple):
    """One line of a state, as JSON has it too; a histogram's values end with their sum."""

    metric: str
    labels: Sequence[str]
    values: Sequence[float]


class Metrics:
    """The declared metrics."""

    def __init__(self) -> None:
        self._sums: dict[Key, float] = defaultdict(float)
        self._gauges: dict[Key, float] = {}
        self._histograms: dict[Key, list[float]] = {}

    def add(self, metric: Declared, amount: float, *labels: str) -> None:
        """Add to a counter."""
        self._sums[metric, labels] += amount

    def set(self, metric: Declared, value: float, *labels: str) -> None:
        """Set a gauge."""
        self._gauges[metric, labels] = value

    def observe(self, metric: Declared, value: float, *labels: str) -> None:
        """Add a value to a histogram."""
        held = self._histograms.get((metric, labels))
        if held is None:
            held = self._histograms[metric, labels] = [0.0] * (len(FAST) + 2)
        held[bisect_left(FAST, value)] += 1
        held[-1] += value

    def state(self) -> list[Series]:
        """Return all there is now."""
        return [
            *(
                Series(one.name, labels, [value])
                for (one, labels), value in list(self._sums.items())
            ),
            *(
                Series(one.name, labels, [value])
                for (one, labels), value in list(self._gauges.items())
            ),
            *(
                Series(one.name, labels, list(held))
                for (one, labels), held in list(self._histograms.items())
            ),
        ]
