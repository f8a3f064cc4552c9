"""Queries, the access paths that can answer them, and plans, all as plain data.

An index answers a query when the fields of its partitions and prefixes are among the filtered ones,
it holds all matching rows, and its rows carry every other filtered field. Those other filters are a
residual: the rows read are compared with them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import NamedTuple, TypeAlias

from dal.errors import NoIndexError, TooManySegmentsError
from dal.limits import MAX_SEGMENTS
from dal.model.key_parts import LAST_CHARACTER
from dal.table.index import Index
from dal.table.items import Item
from dal.table.ranges import HEADS, UNBOUNDED, Range

Filters: TypeAlias = Mapping[str, frozenset[str]]
"""Each filtered field and the values wanted of it."""

EqualityKey: TypeAlias = frozenset[tuple[str, str]]
"""Fields and one value of each: a row has this key if it has all of these values."""


def equality_keys(filters: Filters) -> Iterator[EqualityKey]:
    """Yield the keys that pass ``filters``: every combination of the wanted values, sorted."""
    for values in product(*map(sorted, filters.values())):
        yield frozenset(zip(filters, values, strict=True))


def filters_of(key: EqualityKey) -> Filters:
    """Return the filters that only rows of ``key`` pass."""
    return {name: frozenset({value}) for name, value in key}


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for; an absent field is not filtered, one with no value selects nothing."""

    access_pattern: str
    filters: Filters
    within: Range = UNBOUNDED
    """The positions that it is bounded to, such as a time."""
    consistent: bool = False
    """Whether it must see the latest acknowledged write: only the table and local indexes can."""
    head: bool = False
    """Whether to read the item at the beginning of the partition's list with the first rows."""
    _hash: int = field(init=False, repr=False, compare=False)
    """Kept: each page looks its query up."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((frozenset(self.filters.items()), self.within)))

    def bounded(self, span: Range) -> Range:
        """Return the positions of ``span`` that it is bounded to."""
        return span if self.within is UNBOUNDED else span & self.within

    def __hash__(self) -> int:
        return self._hash


class Segment(NamedTuple):
    """One contiguous key range of one partition, and how many rows to ask of it at first."""

    partition: str
    range: Range
    """Of positions."""
    limit: int
    prefix: str = ""
    """What its sort keys have before the position."""
    key: EqualityKey = frozenset()
    """What its rows have in common."""
    head: str = ""
    """The label of the item beside these rows that is read with them, if one is."""
    share: float | None = None
    """The part of the plan's rows that is expected to stand here; None without statistics."""
    empty: bool = False
    """Whether exact statistics prove that it holds no row."""

    def __str__(self) -> str:
        shown = f"{self.partition} {self.sort_keys}, limit {self.limit}"
        if self.share is not None:
            shown += f", share {self.share:.3f}"
        return shown + (", skipped" if self.skipped else "")

    @property
    def sort_keys(self) -> Range:
        """The range of sort keys."""
        rows = self.range.under(self.prefix)
        if not self.head:
            return rows
        if self.head < self.prefix:
            return Range(self.head, rows.high, high_open=rows.high_open)
        return Range(rows.low, self.head + LAST_CHARACTER, low_open=rows.low_open)

    def position_of(self, sort_key: str) -> str:
        """Return the position of the row with a sort key; the head stands before all rows."""
        if not self.head or sort_key.startswith(self.prefix):
            return sort_key[len(self.prefix) :]
        return HEADS[self.head > self.prefix]

    @property
    def skipped(self) -> bool:
        """Whether there is nothing to read."""
        return self.empty or self.range.empty


class PlanBasis(StrEnum):
    """What a page is planned by, from the most to the least."""

    ROW_LOCATIONS = "ROW_LOCATIONS"
    COUNTS = "COUNTS"
    NOTHING = "NOTHING"
    FULL_PAGES = "FULL_PAGES"


UNKNOWING = frozenset({PlanBasis.NOTHING, PlanBasis.FULL_PAGES})
"""These read no statistics: each partition is read for a whole page."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is answered: the segments of one index, read in one direction."""

    access_pattern: str
    index: Index
    segments: tuple[Segment, ...]
    descending: bool
    consistent: bool = False
    residual: Filters = field(default_factory=dict)
    """The filters that the segments do not cover: the rows read are compared with them."""
    selectivity: float = 1.0
    """The part of the rows read that is expected to pass the residual."""
    discard_limit: float = float("inf")
    """Rows that may be thrown away before the rest is planned anew, without a residual."""
    unproven: int = 0
    """Segments that are expected to be empty, and would be skipped if that were proved."""
    capacity: float | None = None
    """The expected RCU; None without statistics."""
    until: str | None = None
    """The position that the segments end at, where the page is expected to end."""

    def __str__(self) -> str:
        """Draw the plan as a tree: the index, what its rows are compared with, and each segment."""
        order = "descending" if self.descending else "ascending"
        root = f"{self.access_pattern} by {self.index.name or 'table'}, {order}"
        if self.consistent:
            root += ", consistent"
        if self.capacity is not None:
            root += f", {self.capacity:.2f} RCU"
        branches = [
            f"only {name} {', '.join(sorted(self.residual[name]))}" for name in self.residual
        ]
        if self.residual:
            branches.append(
                f"selectivity {self.selectivity:.3f}, discard limit {self.discard_limit:.0f}"
            )
        if self.unproven:
            branches.append(f"{self.unproven} expected to be empty")
        if self.until is not None:
            branches.append(f"until {self.until}")
        branches += map(str, self.segments or ["nothing to read"])
        *others, last = branches
        return "\n".join([root, *(f"├─ {one}" for one in others), f"└─ {last}"])

    def passes(self, item: Item) -> bool:
        """Return whether a row passes the residual."""
        for name, wanted in self.residual.items():
            (value,) = item[name].values()
            if value not in wanted:
                return False
        return True


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
