"""The cost model: what a Query costs, and which limit costs a segment the least.

Pure functions of counts and sizes. An eventually consistent Query consumes 0.5 RCU for each started
4 KB. Further rows within these 4 KB are free. If a segment has no unused rows before the page is
full, the executor sends another Query.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

BLOCK = 4_096
"""Bytes for half a read capacity unit."""

REQUEST = 0.35
"""The cost of a Query besides its capacity, in RCU: the latency of a round trip."""

ROW = 0.02
"""The cost of a row besides its capacity, in RCU: the server receives and parses the row."""

VARIATION = 0.5
"""Standard deviation of a row's size, relative to its mean: some comments are short, some long."""

_CERTAIN = 8.5
"""From this many deviations below the mean on, ``normal_tail`` is 1.0: floats are not more
exact."""

_LEAST_PER_BLOCK = 0.499
"""A lower bound of the RCU of each 4 KB of rows: 0.5 minus a margin for rounding."""

_MOST_LIMITS = 64
"""The number of limits to compare, evenly spread. A rare residual may need thousands of rows."""


# The mean size of rows changes with every page, so old entries are seldom used again.
@lru_cache(maxsize=4_096)
def expected_capacity(rows: float, row_bytes: float) -> float:
    """Return the expected RCU of one eventually consistent Query that reads ``rows``.

    A block is 4 KB. Rows differ in size, so a Query may reach more blocks than ``rows`` of the mean
    size fill. Each block costs half a unit times the probability that the Query reaches it.
    """
    mean, deviation = rows * row_bytes, VARIATION * row_bytes * math.sqrt(rows)
    reached = max(0, int((mean - _CERTAIN * deviation) // BLOCK))
    blocks = 1.0 + reached
    end = BLOCK * (reached + 1)
    while end < mean + 4 * deviation:
        blocks += normal_tail(end, mean, deviation)
        end += BLOCK
    return 0.5 * blocks


def capacity_of_bytes(size: int) -> float:
    """Return the RCU of one eventually consistent Query that reads ``size`` bytes."""
    return 0.5 * max(1, math.ceil(size / BLOCK))


def normal_tail(bound: float, mean: float, deviation: float) -> float:
    """Return the probability that a normal variable exceeds ``bound``."""
    return 0.5 * math.erfc((bound - mean) / (deviation * math.sqrt(2)))


def spread(wanted: int, share: float, residual: float = 1.0) -> tuple[float, float]:
    """Return mean and deviation of a segment's number of rows within a page of ``wanted``.

    ``share`` is the fraction of the plan's rows in this segment, and ``residual`` the fraction of
    rows that passes the residual filter. The number of rows read until ``wanted`` rows pass has a
    negative binomial distribution. The number of these rows in this segment has a binomial
    distribution.
    """
    read = wanted / residual
    variance = read * share * (1 - share) + share**2 * wanted * (1 - residual) / residual**2
    return read * share, math.sqrt(variance)


class ReadEstimate(NamedTuple):
    """The limit of a segment's first Query, and the segment's expected cost, refills included."""

    limit: int
    cost: float
    capacity: float


def least_cost(requests: int, rows: float, row_bytes: float) -> float:
    """Return a lower bound of the cost of ``requests`` Queries for ``rows`` expected rows.

    The bound includes the capacity of half of ``rows`` only: a refill after a low limit usually
    reads at least half of the missing rows.
    """
    return requests * (REQUEST + ROW) + max(0.5 * requests, rows * row_bytes / BLOCK / 4)


def best_estimate(
    share: float, residual: float, wanted: int, row_bytes: float, most: int
) -> ReadEstimate:
    """Return the limit of the least expected cost for a segment that holds ``most`` rows.

    ``share`` and ``residual`` are those of ``spread``. The limit is at most ``most``
    + 1: if a response has one row less, the segment has ended.
    """
    best, chosen, units = math.inf, 0, math.inf
    half_block = _LEAST_PER_BLOCK * row_bytes / BLOCK
    for weight, limit, dry, missing in _limits(share, residual, wanted, most):
        if weight + 0.5 >= best:
            break
        rows = min(limit, most)
        refill = dry * max(0.5, half_block * missing)
        if weight + max(0.5, half_block * rows) + refill >= best:
            continue
        first = expected_capacity(rows, row_bytes)
        if weight + first + refill >= best:
            continue
        capacity = first + dry * expected_capacity(missing, row_bytes)
        if capacity + weight < best:
            best, chosen, units = capacity + weight, limit, capacity
    return ReadEstimate(chosen, best, units)


# Cached apart from sizes: counts seldom change, the mean size of rows changes with every page.
@lru_cache(maxsize=4_096)
def _limits(
    share: float, residual: float, wanted: int, most: int
) -> Sequence[tuple[float, int, float, float]]:
    """Return the limits to compare for a segment, each with its cost besides capacity.

    Each entry has this cost, the limit, the probability of a refill, and the number of rows that
    the refill reads.
    """
    mean, deviation = spread(wanted, share, residual)
    top = min(math.ceil(mean + 4 * deviation) + 1, most + 1)
    limits = []
    for limit in range(top, 0, -math.ceil(top / _MOST_LIMITS)):
        # ``dry`` is the probability that a page includes more of the segment's rows than ``limit``.
        # No refill follows if the last row read is also the page's last row; its probability is
        # ``share``. So the only segment of a plan needs a refill only if the residual filter drops
        # too many rows.
        rows, dry = limit - 1 + share, 0.0
        if limit <= most:
            dry = normal_tail(rows + 0.5, mean, deviation) if deviation else float(mean > rows)
        missing = max(1.0, mean - limit, deviation)
        limits.append((REQUEST * (1 + dry) + ROW * (limit + dry * missing), limit, dry, missing))
    return sorted(limits)
