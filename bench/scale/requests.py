"""Requests that do not wait for each other: reads, and writes of one item."""

import random
from collections.abc import Callable, Mapping
from typing import TypeAlias

from bench.scale.buckets import Buckets, Limit

Demand: TypeAlias = Callable[[int], Mapping[Limit, float]]
"""What the request of a number takes."""

MOST_REFUSED = 0.01
"""The part of requests that may be throttled, and tried again."""


def refused(demand: Demand, rate: float, seconds: float, seed: int) -> dict[str, int]:
    """Return how many requests were refused by which limit; none where they were few."""
    chance = random.Random(seed)  # noqa: S311 - a simulation, not secrets
    buckets, now, number = Buckets(), 0.0, 0
    while now < seconds:
        now += chance.expovariate(rate)
        buckets.take(now, demand(number))
        number += 1
    few = buckets.refused.total() <= MOST_REFUSED * number
    return {} if few else dict(buckets.refused)
