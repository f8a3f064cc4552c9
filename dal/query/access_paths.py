"""Access paths: the ways to answer a query, one for each index that can.

An index answers a query when the fields of its partitions and prefixes are among the filtered ones,
it holds all rows asked for, and its rows carry every field that these do not cover: such filters
are a residual on the rows read.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dal.errors import NoIndexError, TooManySegmentsError
from dal.limits import MAX_SEGMENTS
from dal.query.plan import Segment
from dal.query.query import EqualityKey, Filters, Query, equality_keys, filters_of
from dal.table.index import Index
from dal.table.ranges import UNBOUNDED


@dataclass(frozen=True, eq=False)
class AccessPath:
    """One index that answers a query.

    Every combination of the wanted values of the index's fields is a segment, in each shard. What
    is worked out of it serves all pages of the query.
    """

    index: Index
    query: Query

    @cached_property
    def size(self) -> int:
        """How many segments there are."""
        partitions = math.prod(len(self.query.filters[name]) for name in self.index.fields)
        return partitions * self.index.shards

    @property
    def fits(self) -> bool:
        """Whether a page may read it."""
        return self.size <= MAX_SEGMENTS

    @cached_property
    def residual(self) -> Filters:
        """The filters that the segments do not cover."""
        covered = {*self.index.fields, *self.index.covers}
        return {name: wanted for name, wanted in self.query.filters.items() if name not in covered}

    @cached_property
    def keys(self) -> Sequence[EqualityKey]:
        """The keys of the rows that pass: every combination of all wanted values."""
        return list(equality_keys(self.query.filters))

    @cached_property
    def segments(self) -> Sequence[Segment]:
        """Every segment, unbounded and without a limit yet."""
        index, segments = self.index, []
        head = index.head if self.query.head else ""
        for key in equality_keys({name: self.query.filters[name] for name in index.fields}):
            values = dict(key)
            prefix = index.prefix_of(values)
            for shard in range(index.shards):
                partition = index.partition_of(values, shard)
                segments.append(Segment(partition, UNBOUNDED, 0, prefix, key, head))
        return segments

    @cached_property
    def filters(self) -> Sequence[Filters]:
        """The filters that the rows of each segment pass."""
        return [filters_of(segment.key) for segment in self.segments]


def access_paths(indexes: Sequence[Index], query: Query) -> Sequence[AccessPath]:
    """Return the access paths of a query, the one with the least residual and segments first.

    Raises NoIndexError when there is none, and TooManySegmentsError when those without residual
    have too many segments, or no path fits.
    """
    paths = [AccessPath(index, query) for index in indexes if _answers(index, query)]
    if not paths:
        raise NoIndexError(
            f"No index answers a filter by {', '.join(sorted(query.filters))}: none is partitioned "
            "by these fields, or has rows that carry those it is not partitioned by."
        )
    paths.sort(key=lambda path: (len(path.residual), path.size))
    fitting = [path for path in paths if path.fits]
    if not fitting or not (paths[0].fits or paths[0].residual):
        raise TooManySegmentsError(
            f"The filter selects {paths[0].size} partitions; the most is {MAX_SEGMENTS}: "
            "choose fewer languages or ratings."
        )
    return fitting


def _answers(index: Index, query: Query) -> bool:
    answered = {*index.fields, *index.covers}
    complete = all(query.filters.get(name) == held for name, held in index.covers.items())
    carried = query.filters.keys() - answered <= {*index.projects}
    consistent = index.consistent or not query.consistent
    return answered <= query.filters.keys() and complete and carried and consistent
