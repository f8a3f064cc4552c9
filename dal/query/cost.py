"""The cost model: the cost of a Query, and the limit with which reading a segment costs the least.

A segment is one key range of one partition. Its limit is the maximum number of rows that the first
Query reads. If the page needs more rows of the segment, the executor sends another Query (a
refill). An eventually consistent Query consumes 0.5 RCU for each started 4 KB, so further rows in
the same 4 KB are free. The functions calculate with counts and sizes, and send no request.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

BLOCK = 4_096
"""Maximum bytes of an eventually consistent read that consumes 0.5 RCU."""

REQUEST = 0.35
"""The cost of a Query's latency, in RCU. It is added to the consumed capacity."""

ROW = 0.02
"""The cost of receiving and parsing one row, in RCU. It is added to the consumed capacity."""

VARIATION = 0.5
"""The standard deviation of the rows' sizes, divided by their mean size. It is high, because
comments differ much in length."""

_CERTAIN = 8.5
"""A number of standard deviations. If a bound is further below the mean, ``normal_tail`` returns
exactly 1.0 in floating point. So ``expected_capacity`` does not call ``normal_tail`` for blocks
that begin further below the mean number of bytes."""

_LEAST_PER_BLOCK = 0.499
"""A lower bound of the RCU per 4 KB of rows: 0.5 minus a margin for rounding."""

_MOST_LIMITS = 64
"""Maximum number of limits to compare for a segment. If few rows pass the residual filter, a
segment may have thousands of possible limits, and comparing all of them takes much CPU time."""


# The cache's keys contain the mean row size, which changes with every page. So old entries are
# seldom used again, and a small cache is enough.
@lru_cache(maxsize=4_096)
def expected_capacity(rows: float, row_bytes: float) -> float:
    """Return the expected RCU of one eventually consistent Query that reads ``rows`` rows.

    A block is 4 KB. The sizes of rows differ from their mean ``row_bytes``, so the number of blocks
    is uncertain. The result is a sum over the blocks: for each, 0.5 RCU multiplied by the
    probability that the Query needs the block.
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
    """Return the probability that a normally distributed variable exceeds ``bound``."""
    return 0.5 * math.erfc((bound - mean) / (deviation * math.sqrt(2)))


def spread(wanted: int, share: float, residual: float = 1.0) -> tuple[float, float]:
    """Return the mean and standard deviation of the number of rows that a page reads in a segment.

    ``wanted`` is the number of rows that the page needs. ``share`` is the fraction of the plan's
    rows that are in this segment. ``residual`` is the fraction of rows that passes the residual
    filter. The page reads rows until ``wanted`` rows pass, so the number of rows that it reads has
    a negative binomial distribution. The number of these rows in this segment has a binomial
    distribution.
    """
    read = wanted / residual
    variance = read * share * (1 - share) + share**2 * wanted * (1 - residual) / residual**2
    return read * share, math.sqrt(variance)


class ReadEstimate(NamedTuple):
    """The limit of a segment's first Query, and the expected RCU of all Queries of the segment.

    ``cost`` is the ``capacity``, plus a weight for each Query and each row.
    """

    limit: int
    cost: float
    capacity: float


def least_cost(requests: int, rows: float, row_bytes: float) -> float:
    """Return a lower bound of the cost of ``requests`` Queries that read ``rows`` rows.

    The first Query of a segment may have a lower limit than the number of rows that the page is
    expected to need. The rows above this limit are read only if a refill follows, so their capacity
    is multiplied by the probability of a refill, which is about one half or more. So the bound
    includes half of the capacity for ``rows``.
    """
    return requests * (REQUEST + ROW) + max(0.5 * requests, rows * row_bytes / BLOCK / 4)


def best_estimate(
    share: float, residual: float, wanted: int, row_bytes: float, most: int
) -> ReadEstimate:
    """Return the limit with the least expected cost, for a segment of at most ``most`` rows.

    For ``share``, ``residual`` and ``wanted`` see ``spread``. The limit is at most ``most`` + 1.
    The limit ``most`` + 1 is higher than the number of rows, so with this limit the first response
    also shows that the segment has ended.
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


# The cache's keys contain counts, which seldom change. They do not contain the mean row size,
# because it changes with every page.
@lru_cache(maxsize=4_096)
def _limits(
    share: float, residual: float, wanted: int, most: int
) -> Sequence[tuple[float, int, float, float]]:
    """Return the limits to compare for a segment, with the part of the cost that is not capacity.

    An entry consists of this part of the cost, the limit, the probability of a refill, and the
    number of rows that the refill reads. The entries are sorted by this part of the cost, the
    lowest first.
    """
    mean, deviation = spread(wanted, share, residual)
    top = min(math.ceil(mean + 4 * deviation) + 1, most + 1)
    limits = []
    for limit in range(top, 0, -math.ceil(top / _MOST_LIMITS)):
        # ``dry`` is the probability of a refill. A refill follows if the page needs more than
        # ``limit`` rows of the segment. It also follows if the page needs exactly ``limit`` rows,
        # unless the last of them is the page's last row. The probability that this row is the last
        # is ``share``. If ``deviation`` is 0, the page needs exactly ``mean`` rows of the segment.
        rows, dry = limit - 1 + share, 0.0
        if limit <= most:
            dry = normal_tail(rows + 0.5, mean, deviation) if deviation else float(mean > rows)
        missing = max(1.0, mean - limit, deviation)
        limits.append((REQUEST * (1 + dry) + ROW * (limit + dry * missing), limit, dry, missing))
    return sorted(limits)
