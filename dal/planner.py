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

from dal.candidates import Candidate
from dal.costs import Ask, Odds
from dal.errors import NoIndexError, TooManySegmentsError
from dal.expectations import by_counts, by_memory
from dal.filters import filters_of
from dal.indexes import Index
from dal.plans import Plan, Profile, Query, Segment
from dal.positions import Range
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
    candidates = [
        Candidate(index, query, within, descending, limit)
        for index in indexes
        if _answers(index, query, coarse=profile is not None)
    ]
    if not candidates:
        raise NoIndexError(f"No index is partitioned by {', '.join(sorted(query.filters))}.")
    fewest = min(one.size for one in candidates)
    if fewest > MAX_SEGMENTS:
        raise TooManySegmentsError(
            f"The filter selects {fewest} partitions; the most is {MAX_SEGMENTS}: "
            "choose fewer languages or ratings."
        )
    feasible = [one for one in candidates if one.size <= MAX_SEGMENTS]
    if profile is None:
        return _blind(feasible[0])
    page = profile.timeline.page(query.filters, within, descending=descending, count=limit)
    return min((_weighed(one, profile, page) for one in feasible), key=lambda whole: whole.cost)


def _answers(index: Index, query: Query, *, coarse: bool) -> bool:
    """Return whether an index holds the rows of a query, with a residual only if ``coarse``."""
    answered = {*index.fields, *index.covers}
    fits = answered <= query.filters.keys() if coarse else answered == query.filters.keys()
    complete = all(query.filters.get(name) == held for name, held in index.covers.items())
    return fits and complete and (index.consistent or not query.consistent)


def _blind(candidate: Candidate) -> Plan:
    """Return the plan without a profile."""
    share, limit = _shard_share(candidate)
    head = candidate.index.head if candidate.query.head else ""
    segments = (
        Segment(place.partition, candidate.span, limit, place.prefix, head, share, kind=place.kind)
        for place in candidate.places()
    )
    return Plan(
        candidate.query.access_pattern,
        candidate.index,
        tuple(segments),
        candidate.descending,
        candidate.query.consistent,
    )


def _shard_share(candidate: Candidate) -> tuple[float | None, int]:
    """Return what part of the rows each segment holds, where that is known without a profile.

    It is where the segments differ by their shard only: a hash spreads rows evenly. The limit
    beside it is seldom too small.
    """
    if candidate.size != candidate.index.shards:
        return None, candidate.limit
    share = 1 / candidate.size
    mean, deviation = Odds(share).spread(candidate.limit)
    return share, min(candidate.limit, math.ceil(mean + SHARD_MARGIN * deviation))


def _weighed(candidate: Candidate, profile: Profile, page: Sequence[Seen] | None) -> Plan:
    """Return the plan that a profile suggests; ``page`` is the page's rows if all are remembered.

    Places without a row are skipped where that is certain, and doubtful where it is not.
    """
    places = candidate.places()
    counted = [profile.count(filters_of(place.kind)) for place in places]
    if page is None:
        expected = by_counts(candidate, counted, profile)
    else:
        expected = by_memory(candidate, [place.kind for place in places], page, profile)
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
        candidate.query.access_pattern,
        candidate.index,
        tuple(segments),
        candidate.descending,
        candidate.query.consistent,
        candidate.residual,
        expected.passing,
        doubtful=0 if profile.proves_absence else counted.count(0),
        capacity=sum(ask.capacity for ask in asks),
        cost=sum(ask.cost for ask in asks),
        until=expected.until,
    )
