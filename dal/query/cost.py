"""What reads cost, and how many rows to ask a segment for: pure estimates from counts.

A Query costs 0.5 RCU for each started 4 KB. Rows up to the end of a started 4 KB are free, rows
beyond it are not, and a segment that runs dry before the page is full costs another Query.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

BLOCK = 4_096
"""Bytes that half a read capacity unit pays for."""

REQUEST = 0.35
"""What a Query costs besides its capacity, in RCU: a page waits for it, and so does the engine."""

ROW = 0.02
"""What a row costs besides its capacity, in RCU: it is sent, parsed, and maybe thrown away."""

VARIATION = 0.5
"""Deviation of a row's size as a part of its mean: comments are short and long."""

_CERTAIN = 8.5
"""Deviations below the mean that are exceeded for certain, as floating-point numbers go."""

_LEAST = 0.499
"""A row is expected to cost as much of its part of a block, in RCU, or more."""

_MOST_LIMITS = 64
"""So many limits are weighed at most, evenly spread: a rare residual may need thousands of rows."""


# Bounded: the sizes of rows are learnt and never quite the same, so old entries serve nobody.
@lru_cache(maxsize=4_096)
def expected_capacity(rows: float, row_bytes: float) -> float:
    """Return the expected RCU of one eventually consistent Query that reads ``rows``.

    Rows differ in size, so a Query expected to end near a block's end may well start the next: it
    costs half a unit for each block that its rows are likely to reach into.
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


class Selectivity(NamedTuple):
    """Which part of the rows that a plan reads stands in one segment, and which part passes.

    Both are parts of all rows of all segments, from 0 to 1: ``share`` stands in this segment,
    ``residual`` passes the residual filter.
    """

    share: float
    residual: float = 1.0

    def spread(self, wanted: int) -> tuple[float, float]:
        """Return mean and deviation of how many of the segment's rows a page of ``wanted`` spans.

        The rows read until ``wanted`` of them pass follow a negative binomial distribution; this
        segment holds a binomial part of them.
        """
        read = wanted / self.residual
        mean = read * self.share
        variance = read * self.share * (1 - self.share)
        variance += self.share**2 * wanted * (1 - self.residual) / self.residual**2
        return mean, math.sqrt(variance)


class ReadEstimate(NamedTuple):
    """How many rows to ask for at first, and what the segment is expected to cost in the end."""

    limit: int
    cost: float
    capacity: float


def least_cost(requests: int, rows: float, row_bytes: float) -> float:
    """Return what that many Queries cost at least, if the page is expected to span ``rows``.

    A limit below what is expected is too small more often than not: then at least half of the rest
    is paid for as well.
    """
    return requests * (REQUEST + ROW) + max(0.5 * requests, rows * row_bytes / BLOCK / 4)


def best_estimate(
    share: float, residual: float, wanted: int, row_bytes: float, most: int
) -> ReadEstimate:
    """Return the limit of the least expected cost for a segment that holds ``most`` rows.

    ``share`` and ``residual`` are those of its Selectivity. More rows than one beyond ``most`` are
    never asked for: that one tells that the rest is empty.
    """
    best, chosen, units = math.inf, 0, math.inf
    half_block = _LEAST * row_bytes / BLOCK
    for weight, limit, dry, missing in _asks(share, residual, wanted, most):
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


# Kept, as it depends on counts alone: sizes of rows are learnt, and move with every page.
@lru_cache(maxsize=4_096)
def _asks(
    share: float, residual: float, wanted: int, most: int
) -> Sequence[tuple[float, int, float, float]]:
    """Return what may be asked of a segment, by what is paid besides capacity.

    Beside that weight: the limit, the probability of a refill, and the rows that it asks for.
    """
    mean, deviation = Selectivity(share, residual).spread(wanted)
    top = min(math.ceil(mean + 4 * deviation) + 1, most + 1)
    asks = []
    for limit in range(top, 0, -math.ceil(top / _MOST_LIMITS)):
        dry = 0.0 if limit > most else _more_than(limit - 1 + share, mean, deviation)
        missing = max(1.0, mean - limit, deviation)
        asks.append((REQUEST * (1 + dry) + ROW * (limit + dry * missing), limit, dry, missing))
    return sorted(asks)


def _more_than(rows: float, mean: float, deviation: float) -> float:
    """Return the probability that a page spans more of the segment's rows than ``rows``.

    The page's last row may be the segment's own last one read: hence the share in the caller's
    bound, which makes a page's only segment run dry only when it lacks a row.
    """
    if deviation == 0:
        return 1.0 if mean > rows else 0.0
    return normal_tail(rows + 0.5, mean, deviation)
