"""The query planner: pure functions from what is asked for to what is read.

An index answers a query when the fields of its partitions and prefixes are among the filtered ones
and it holds all rows asked for. Every combination of their values is one segment, in each shard;
filters that the segments do not cover are a residual on the rows read. All segments of a plan share
one total order, so one position resumes them all.

Without a profile of the data only an index without residual counts, and each segment is asked for
the whole page, or for a shard's part of it. With one, the plan of the least expected cost is
chosen, and each segment is asked for what it is expected to hold of the page: by the counts of its
rows or, where the page's rows were read before, by where they stood.
"""

import math
from collections.abc import Sequence

from dal.costs import Ask, Odds
from dal.errors import NoIndexError, TooManySegmentsError
from dal.expectations import by_counts, by_memory
from dal.filters import filters_of
from dal.indexes import Index
from dal.plans import Plan, Profile, Query, Segment
from dal.positions import Range
from dal.reads import Read
from dal.timelines import Seen

_NOTHING = Ask(limit=0, cost=0.0, capacity=0.0)
"""What to ask a segment for that is certain to hold no row."""

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
) -> Plan:
    """Return the plan that reads ``limit`` rows of ``query`` within ``span`` at the least cost.

    Raises NoIndexError when no index answers, and TooManySegmentsError when all that do have too
    many partitions.
    """
    within = span & query.within
    reads = [
        Read(index, query, within, descending, limit)
        for index in indexes
        if _answers(index, query, coarse=profile is not None)
    ]
    if not reads:
        raise NoIndexError(f"No index is partitioned by {', '.join(sorted(query.filters))}.")
    fewest = min(read.size for read in reads)
    if fewest > MAX_SEGMENTS:
        raise TooManySegmentsError(
            f"The filter selects {fewest} partitions; the most is {MAX_SEGMENTS}: "
            "choose fewer languages or ratings."
        )
    feasible = [read for read in reads if read.size <= MAX_SEGMENTS]
    if profile is None:
        return _blind(feasible[0])
    page = profile.timeline.page(query.filters, within, descending=descending, count=limit)
    return min((_weighed(read, profile, page) for read in feasible), key=lambda one: one.cost)


def _answers(index: Index, query: Query, *, coarse: bool) -> bool:
    """Return whether an index holds the rows of a query, with a residual only if ``coarse``."""
    answered = {*index.fields, *index.covers}
    fits = answered <= query.filters.keys() if coarse else answered == query.filters.keys()
    complete = all(query.filters.get(name) == held for name, held in index.covers.items())
    return fits and complete and (index.consistent or not query.consistent)


def _blind(read: Read) -> Plan:
    """Return the plan without a profile."""
    share, limit = _shard_share(read)
    head = read.index.head if read.query.head else ""
    segments = (
        Segment(place.partition, read.span, limit, place.prefix, head, share, kind=place.kind)
        for place in read.places()
    )
    return Plan(
        read.query.access_pattern,
        read.index,
        tuple(segments),
        read.descending,
        read.query.consistent,
    )


def _shard_share(read: Read) -> tuple[float | None, int]:
    """Return what part of the rows each segment holds, where that is known without a profile.

    It is where the segments differ by their shard only: a hash spreads rows evenly. The limit
    beside it is seldom too small.
    """
    if read.size != read.index.shards:
        return None, read.limit
    share = 1 / read.size
    mean, deviation = Odds(share).spread(read.limit)
    return share, min(read.limit, math.ceil(mean + SHARD_MARGIN * deviation))


def _weighed(read: Read, profile: Profile, page: Sequence[Seen] | None) -> Plan:
    """Return the plan that a profile suggests; ``page`` is the page's rows if all are remembered.

    Places without a row are skipped where that is certain, and doubtful where it is not.
    """
    places = read.places()
    counted = [profile.count(filters_of(place.kind)) for place in places]
    if page is None:
        expected = by_counts(read, counted, profile)
    else:
        expected = by_memory(read, [place.kind for place in places], page, profile)
    asks = [
        _NOTHING if profile.proves_absence and count == 0 else ask
        for ask, count in zip(expected.asks, counted, strict=True)
    ]
    total = max(1, sum(expected.held))
    segments = (
        Segment(
            place.partition,
            expected.span,
            ask.limit,
            place.prefix,
            share=held / total,
            absent=ask is _NOTHING,
            kind=place.kind,
        )
        for place, ask, held in zip(places, asks, expected.held, strict=True)
    )
    return Plan(
        read.query.access_pattern,
        read.index,
        tuple(segments),
        read.descending,
        read.query.consistent,
        read.residual,
        expected.passing,
        doubtful=0 if profile.proves_absence else counted.count(0),
        capacity=sum(ask.capacity for ask in asks),
        cost=sum(ask.cost for ask in asks),
        until=expected.until,
    )
