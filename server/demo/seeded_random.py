"""Chance that falls alike on every machine and with every version of Python."""

import random
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

Choice = TypeVar("Choice")


class SeededRandom:
    """Draws from ``random.random`` alone, the one sequence that Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed).random  # noqa: S311 - nothing secret is drawn

    def chance(self, share: float) -> bool:
        """Return True in ``share`` (0 to 1) of all calls."""
        return self._draw() < share

    def number(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, both included."""
        return low + int(self._draw() * (high - low + 1))

    def pick(self, choices: Sequence[Choice]) -> Choice:
        """Return one of ``choices``, each as likely as the others."""
        return choices[self.number(0, len(choices) - 1)]

    def weighted(self, choices: Sequence[Choice], weights: Sequence[int]) -> Choice:
        """Return one of ``choices``, as likely as its weight says."""
        bounds = list(accumulate(weights))
        drawn = self._draw() * bounds[-1]
        return next(choice for choice, bound in zip(choices, bounds, strict=True) if drawn < bound)

    def shuffled(self, choices: Sequence[Choice]) -> list[Choice]:
        """Return ``choices`` in an order of chance."""
        drawn = [(self._draw(), number) for number in range(len(choices))]
        return [choices[number] for _, number in sorted(drawn)]
