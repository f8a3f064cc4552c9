"""Leaderboards that move later: whether their rows keep up with the comments that are written.

Each server gathers what changed, and moves a product's row some seconds after its first change, but
no more rows than ``dal/statistics/boards.py`` allows. What is refused waits: the board lags then,
and comments go on.
"""

import heapq
import random
from collections.abc import Mapping

from bench.scale.buckets import Buckets, Limit
from bench.scale.demand import BOARD
from bench.scale.limits import PARTITION_WCU
from bench.scale.shop import Zipf
from dal.statistics.boards import MOST_AT_ONCE, MOVE_SECONDS

PACE = "the pace of a server's moves"

_RUN = 10
"""How often changes are gathered in a run."""

FIVES = 0.7
"""The part of comments that are rated 5."""

_PAUSE = 0.5
_MOST_LATE = 0.05
"""The part of moves that may be outstanding at the end."""


def refused(
    rate: float, servers: int, seed: int, *, law: Zipf | None = None
) -> Mapping[str, int] | None:
    """Return what holds the board of all languages up; None where it keeps up.

    ``rate`` is comments a second.
    """
    chance = random.Random(seed)  # noqa: S311 - a simulation, not secrets
    limit, buckets = Limit(BOARD, None, PARTITION_WCU), Buckets()
    end, now, due, moved = _RUN * MOVE_SECONDS, 0.0, 0, 0
    pace = MOST_AT_ONCE / MOVE_SECONDS
    pending = set[tuple[int, int]]()
    moves: list[tuple[float, tuple[int, int]]] = []
    while now < end:
        now += chance.expovariate(rate * FIVES)
        while moves and moves[0][0] < now:
            time, lane = heapq.heappop(moves)
            if buckets.take(time, {limit: 2, Limit(PACE, lane[0], pace): 1}):
                pending.remove(lane)
                moved += 1
            else:
                heapq.heappush(moves, (time + _PAUSE, lane))
        lane = chance.randrange(servers), law.rank(chance) if law else 1
        if lane not in pending:
            pending.add(lane)
            due += now + MOVE_SECONDS < end
            heapq.heappush(moves, (now + MOVE_SECONDS, lane))
    return None if due - moved <= _MOST_LATE * due else buckets.refused
