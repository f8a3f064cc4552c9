"""Leaderboards that move later: whether their rows keep up with the comments that are written.

Each server gathers what changed, and moves a product's row some seconds after its first change.
What the board's partition refuses waits: the board lags then, and comments go on.
"""

import heapq
import random

from bench.scale.buckets import Buckets, Limit
from bench.scale.demand import BOARD
from bench.scale.limits import PARTITION_WCU
from bench.scale.shop import Zipf

GATHERED_SECONDS = 5.0
"""How long changes of a product are gathered."""

FIVES = 0.7
"""The part of comments that are rated 5."""

_PAUSE = 0.5
_MOST_LATE = 0.05
"""The part of moves that may be outstanding at the end."""


def keeps_up(rate: float, servers: int, seed: int, *, law: Zipf | None = None) -> bool:
    """Return whether the board of all languages keeps up with so many comments a second."""
    chance = random.Random(seed)  # noqa: S311 - a simulation, not secrets
    limit, buckets = Limit(BOARD, None, PARTITION_WCU), Buckets()
    end, now, due, moved = 4 * GATHERED_SECONDS, 0.0, 0, 0
    pending = set[tuple[int, int]]()
    moves: list[tuple[float, tuple[int, int]]] = []
    while now < end:
        now += chance.expovariate(rate * FIVES)
        while moves and moves[0][0] < now:
            time, lane = heapq.heappop(moves)
            if buckets.take(time, {limit: 2}):
                pending.remove(lane)
                moved += 1
            else:
                heapq.heappush(moves, (time + _PAUSE, lane))
        lane = chance.randrange(servers), law.rank(chance) if law else 1
        if lane not in pending:
            pending.add(lane)
            due += now + GATHERED_SECONDS < end
            heapq.heappush(moves, (now + GATHERED_SECONDS, lane))
    return due - moved <= _MOST_LATE * due
