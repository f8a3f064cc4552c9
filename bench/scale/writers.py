"""Writers of comments as a simulation of events: servers, or the shards of a stream.

A server does one transaction of a product at a time, and takes everything into it that waits, as
``dal/statistics/counter_transaction.py`` does. DynamoDB refuses a transaction while another one
on the same item is under way. What was refused is tried again after a random pause, which grows.
"""

import heapq
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple, TypeAlias

from bench.scale.buckets import Buckets
from bench.scale.demand import CONFLICTS, Way, demands
from bench.scale.limits import LAMBDA_POLLS, READ_SECONDS, SPREAD, TRANSACTION_SECONDS
from bench.scale.shop import Zipf, comments
from dal.model import Comment

_Lane: TypeAlias = tuple[int, int]
"""A server, and the rank of a product."""

_Waiting: TypeAlias = tuple[float, Comment]
"""When a comment came, and the comment."""

_CONFLICT_PAUSE, _THROTTLED_PAUSE = (0.02, 0.5), (0.05, 1.0)
"""The first pause and the longest, in seconds: those of ``dal/table/retries.py``."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who writes: how many servers, and what they write about; without a law, one product."""

    way: Way
    servers: int
    law: Zipf | None = None
    polls: bool = False
    """Whether a writer looks for more only a few times a second, as Lambda does."""
    patience: float = 1.0
    """Seconds that 99 of 100 comments may take."""


@dataclass(slots=True)
class Tally:
    """What came and what was done, in all and in the second half."""

    arrived: int = 0
    done: int = 0
    arrived_late: int = 0
    """``late`` is what came, or was done, in the second half."""
    done_late: int = 0
    impatient: int = 0
    """How many of the second half took too long."""
    refused: dict[str, int] = field(default_factory=dict)

    @property
    def kept_up(self) -> bool:
        """Whether about as much was done as came, once it had settled, and nearly all in time."""
        behind = self.arrived_late - self.done_late > 0.03 * self.arrived_late + 20
        return not behind and self.impatient <= 0.01 * self.done_late


class _Transaction(NamedTuple):
    """What a server writes at once; it changes one shard of each counter, however often tried."""

    lane: _Lane
    group: Sequence[_Waiting]
    shard: int


class Simulation:
    """One run: comments arrive at ``rate`` a second, for ``seconds``."""

    def __init__(self, crowd: Crowd, rate: float, seconds: float, seed: int) -> None:
        self._crowd, self._rate, self._seconds = crowd, rate, seconds
        self._chance = random.Random(seed)  # noqa: S311 - a simulation, not secrets
        self._comments = comments(self._chance)
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._numbers = count()
        self._waiting: dict[_Lane, deque[_Waiting]] = {}
        self._busy: dict[_Lane, bool] = {}
        self._held: dict[object, float] = {}
        """Until when a transaction is under way on an item."""
        self._buckets, self._tally, self._conflicts = Buckets(), Tally(), 0

    def run(self) -> Tally:
        """Return what was done."""
        self._at(self._chance.expovariate(self._rate), self._arrive)
        while self._events and self._events[0][0] < self._seconds:
            now, _, act = heapq.heappop(self._events)
            act(now)
        self._tally.refused = dict(self._buckets.refused)
        if self._conflicts:
            self._tally.refused[CONFLICTS] = self._conflicts
        return self._tally

    def _at(self, time: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (time, next(self._numbers), act))

    def _took(self, median: float) -> float:
        return self._chance.lognormvariate(0, SPREAD) * median

    def _arrive(self, now: float) -> None:
        self._at(now + self._chance.expovariate(self._rate), self._arrive)
        law = self._crowd.law
        lane = self._chance.randrange(self._crowd.servers), law.rank(self._chance) if law else 1
        self._waiting.setdefault(lane, deque()).append((now, next(self._comments)))
        self._tally.arrived += 1
        self._tally.arrived_late += now > self._seconds / 2
        if not self._busy.get(lane):
            self._busy[lane] = True
            idle = self._chance.random() / LAMBDA_POLLS if self._crowd.polls else 0.0
            self._at(now + idle, lambda then: self._begin(then, lane))

    def _begin(self, now: float, lane: _Lane) -> None:
        """Take what waits into a transaction."""
        waiting = self._waiting[lane]
        group = [waiting.popleft() for _ in range(min(len(waiting), self._crowd.way.most))]
        shards = self._crowd.way.counter_shards
        shard = self._chance.randrange(shards) if shards > 1 else 0
        self._attempt(now, _Transaction(lane, group, shard), 0)

    def _attempt(self, now: float, one: _Transaction, failed: int) -> None:
        if not self._crowd.way.reads_first:
            self._write(now, now, one, failed)
            return
        later = now + self._took(READ_SECONDS)
        self._at(later, lambda then: self._write(then, now, one, failed))

    def _write(self, now: float, read: float, one: _Transaction, failed: int) -> None:
        """Send a transaction; ``read`` is when the counts were read that it goes by."""
        way, (_, rank), rows = self._crowd.way, one.lane, [comment for _, comment in one.group]
        items = [(rank, language, one.shard) for language in way.counters(rows)]
        taken = self._took(TRANSACTION_SECONDS)
        pause: tuple[float, float] | None = None
        # What was under way after the read has changed what was read.
        if any(self._held.get(item, -1.0) > read for item in items):
            pause, self._conflicts = _CONFLICT_PAUSE, self._conflicts + 1
        elif not self._buckets.take(now, demands(way, rank, rows, self._tally.done)):
            pause = _THROTTLED_PAUSE
        if pause is not None:
            first, longest = pause
            wait = self._chance.random() * min(longest, first * 2**failed)
            again = now + taken + wait
            self._at(again, lambda then: self._attempt(then, one, failed + 1))
            return
        self._held |= dict.fromkeys(items, now + taken)
        self._at(now + taken, lambda then: self._end(then, one.lane, one.group))

    def _end(self, now: float, lane: _Lane, group: Sequence[_Waiting]) -> None:
        self._tally.done += len(group)
        if now > self._seconds / 2:
            self._tally.done_late += len(group)
            patience = self._crowd.patience
            self._tally.impatient += sum(now - came > patience for came, _ in group)
        if self._waiting[lane]:
            self._begin(now, lane)
        else:
            del self._waiting[lane], self._busy[lane]
