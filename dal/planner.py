"""The query planner: pure functions from what is asked for to what is read.

An index answers a query when the fields of its partitions and prefixes are among the filtered ones
and it holds all rows asked for. Every combination of their values is one segment, in each shard;
filters that the segments do not cover are a residual on the rows read. All segments of a plan share
one total order, so one position resumes them all.

Without a profile of the data only an index without residual counts, and each segment is asked for
the whole page, or for a shard's part of it. With one, the plan of the least expected cost is
chosen, and each segment is asked for what it is expected to hold of the page.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product as cartesian_product

from dal.costs import Ask, Odds, best_ask
from dal.errors import NoIndexError, TooManySegmentsError
from dal.indexes import Index
from dal.plans import Filters, Plan, Profile, Query, Segment
from dal.positions import Range

MAX_SEGMENTS = 60
"""A page reads at most this many partitions: twelve languages of five ratings."""

SHARD_MARGIN = 5
"""Deviations that a shard is asked for beyond its share: one page of some thousand needs more."""


def plan(
    indexes: Sequence[Index],
    query: Query,
    span: Range,
    *,
    descending: bool,
    limit: int,
    profile: Profile | None = None,
    residual: bool = True,
) -> Plan:
    """Return the plan that reads ``limit`` rows of ``query`` within ``span`` at the least cost.

    ``residual=False`` admits only plans that throw no row away. Raises NoIndexError when no index
    answers, and TooManySegmentsError when all that do have too many partitions.
    """
    coarse = residual and profile is not None
    reads = [
        _Read(index, query, span & query.within, descending, limit)
        for index in indexes
        if _answers(index, query, coarse=coarse)
    ]
    if not reads:
        raise NoIndexError(f"No index is partitioned by {', '.join(sorted(query.filters))}.")
    fewest = min(read.size for read in reads)
    if fewest > MAX_SEGMENTS:
        raise TooManySegmentsError(
            f"The filter selects {fewest} partitions; the most is {MAX_SEGMENTS}: "
            "choose fewer languages or ratings."
        )
    plans = [read.plan(profile) for read in reads if read.size <= MAX_SEGMENTS]
    return min(plans, key=lambda one: one.cost)


def _answers(index: Index, query: Query, *, coarse: bool) -> bool:
    """Return whether an index holds the rows of a query, with a residual only if ``coarse``."""
    answered = {*index.fields, *index.covers}
    fits = answered <= query.filters.keys() if coarse else answered == query.filters.keys()
    complete = all(query.filters.get(name) == held for name, held in index.covers.items())
    return fits and complete and (index.consistent or not query.consistent)


@dataclass(frozen=True, slots=True)
class _Read:
    """One index's way to answer a query."""

    index: Index
    query: Query
    span: Range
    descending: bool
    limit: int

    @property
    def size(self) -> int:
        """How many segments it reads."""
        combinations = math.prod(len(self.query.filters[name]) for name in self.index.fields)
        return combinations * self.index.shards

    def plan(self, profile: Profile | None) -> Plan:
        return self._blind() if profile is None else self._weighed(profile)

    def _blind(self) -> Plan:
        share, limit = self._shard_share()
        head = self.index.head if self.query.head else ""
        segments = (
            Segment(partition, self.span, limit, prefix, head, share)
            for partition, prefix, _ in self._ranges()
        )
        return Plan(
            self.query.access_pattern,
            self.index,
            tuple(segments),
            self.descending,
            self.query.consistent,
        )

    def _shard_share(self) -> tuple[float | None, int]:
        """Return what part of the rows each segment holds, where that is known without a profile.

        It is where the segments differ by their shard only: a hash spreads rows evenly. The limit
        beside it is seldom too small.
        """
        if self.size != self.index.shards:
            return None, self.limit
        share = 1 / self.size
        mean, deviation = Odds(share).spread(self.limit)
        return share, min(self.limit, math.ceil(mean + SHARD_MARGIN * deviation))

    def _weighed(self, profile: Profile) -> Plan:
        residual = {
            name: wanted
            for name, wanted in self.query.filters.items()
            if name not in self.index.fields and name not in self.index.covers
        }
        ranges = list(self._ranges())
        held = [math.ceil(profile.count(values) / self.index.shards) for *_, values in ranges]
        total = sum(held)
        passing = profile.count(self.query.filters) / total if residual and total else 1.0
        asks = [self._ask(count, total, passing, profile) for count in held]
        return Plan(
            self.query.access_pattern,
            self.index,
            tuple(
                Segment(
                    partition,
                    self.span,
                    ask.limit,
                    prefix,
                    share=count / max(1, total),
                    absent=ask.limit == 0,
                )
                for (partition, prefix, _), count, ask in zip(ranges, held, asks, strict=True)
            ),
            self.descending,
            self.query.consistent,
            residual,
            min(1.0, passing),
            doubtful=sum(count == 0 for count in held) if not profile.proves_absence else 0,
            capacity=sum(ask.capacity for ask in asks),
            cost=sum(ask.cost for ask in asks),
        )

    def _ask(self, count: int, total: int, passing: float, profile: Profile) -> Ask:
        if count == 0 and profile.proves_absence:
            return Ask(limit=0, cost=0.0, capacity=0.0)
        if passing == 0:  # nothing is expected to pass: reading on is the fan-out's part
            return Ask(limit=self.limit, cost=math.inf, capacity=math.inf)
        odds = Odds(count / total if total else 1.0, min(1.0, passing))
        return best_ask(odds, self.limit, profile.row_bytes, most=count)

    def _ranges(self) -> Iterator[tuple[str, str, Filters]]:
        """Yield each segment's partition and prefix, and the filters that select its rows."""
        index = self.index
        wanted = (sorted(self.query.filters[name]) for name in index.fields)
        for chosen in cartesian_product(*wanted):
            values = dict(zip(index.fields, chosen, strict=True))
            filters = {name: frozenset({value}) for name, value in values.items()}
            for shard in range(index.shards):
                yield index.partition_of(values, shard), index.prefix_of(values), filters
