"""Queries, access paths (the indexes that can answer a query), and plans. All are immutable.

A query requests a list of rows. "Query" with a capital letter, outside code, means the operation of
DynamoDB, which reads one key range of one partition.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import Literal, NamedTuple, TypeAlias

from dal.query.errors import NoIndexError, TooManySegmentsError
from dal.table.entity import Row
from dal.table.index import Index
from dal.table.key_parts import LAST_CHARACTER
from dal.table.ranges import HEADS, UNBOUNDED, Range

MAX_SEGMENTS = 60
"""Maximum partitions that a page reads."""

Filters: TypeAlias = Mapping[str, frozenset[str]]
"""Maps each filtered field to the values that pass the filter."""

EqualityKey: TypeAlias = frozenset[tuple[str, str]]
"""Fields with one value each, such as product 42 and language ``en``. A row has this key if it has
all these values."""


def equality_keys(filters: Filters) -> Iterator[EqualityKey]:
    """Yield every combination of the filters' values as a key, in sorted order."""
    for values in product(*map(sorted, filters.values())):
        yield frozenset(zip(filters, values, strict=True))


def filters_of(key: EqualityKey) -> Filters:
    """Return the filters that select exactly the rows with ``key``."""
    return {name: frozenset({value}) for name, value in key}


@dataclass(frozen=True, slots=True)
class Query:
    """The filters and bounds of a list. If a filter has no values, the list is empty."""

    access_pattern: str
    filters: Filters
    within: Range = UNBOUNDED
    """The range of positions to read, such as a time range."""
    consistent: bool = False
    """Whether to read consistently. DynamoDB allows consistent reads only of the table and of local
    indexes."""
    head: bool = False
    """Whether the first page also returns the head item, which precedes the rows in their
    partition. For example, an organisation precedes its users."""
    order: str | None = None
    """The name of the list's order, if the caller combines several queries into the list. None
    means the order of the index's sort keys."""
    _hash: int = field(init=False, repr=False, compare=False)
    """The query's hash. It is computed once, because every page looks up its access paths by the
    query."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((frozenset(self.filters.items()), self.within)))

    def __hash__(self) -> int:
        return self._hash


class Segment(NamedTuple):
    """One contiguous key range of one partition, and the limit of the first Query that reads it.

    A row's position is the part of its sort key after ``prefix``.
    """

    partition: str
    range: Range
    """The range of positions."""
    limit: int
    """The maximum number of rows that the first Query reads."""
    prefix: str = ""
    """The part of the sort keys before the position."""
    key: EqualityKey = frozenset()
    """The field values that all rows of the segment have."""
    head: str = ""
    """The beginning of the head item's sort key, such as ``METADATA#``. The head item (see
    ``Query.head``) is read together with the rows. Empty if no head item is read."""
    share: float | None = None
    """The expected fraction of the plan's rows that are in this segment; None if it is unknown."""
    empty: bool = False
    """Whether exact statistics prove that the segment has no row."""

    def __str__(self) -> str:
        shown = f"{self.partition} {self.sort_keys}, limit {self.limit}"
        if self.share is not None:
            shown += f", share {self.share:.3f}"
        return shown + (", skipped" if self.skipped else "")

    @property
    def sort_keys(self) -> Range:
        """The range of sort keys that the segment's Queries read.

        If the segment has a head item, the range includes the key of the head item, which is before
        or after the keys of all rows.
        """
        rows = self.range.under(self.prefix)
        if not self.head:
            return rows
        if self.head < self.prefix:
            return Range(self.head, rows.high, high_open=rows.high_open)
        return Range(rows.low, self.head + LAST_CHARACTER, low_open=rows.low_open)

    def position_of(self, sort_key: str) -> str:
        """Return the position of the row with this sort key.

        The head item gets a position before or after all rows: one of ``HEADS``.
        """
        if not self.head or sort_key.startswith(self.prefix):
            return sort_key[len(self.prefix) :]
        return HEADS[self.head > self.prefix]

    @property
    def skipped(self) -> bool:
        """Whether the executor skips the segment, because it contains no row."""
        return self.empty or self.range.empty


class PlanBasis(StrEnum):
    """The statistics that the optimizer uses to plan a page, the most detailed first.

    NOTHING and FULL_PAGES use no statistics. With FULL_PAGES, the plan reads up to a whole page
    from each partition. With NOTHING, it reads fewer rows from each partition if the partitions are
    shards of one list.
    """

    ROW_LOCATIONS = "ROW_LOCATIONS"
    COUNTS = "COUNTS"
    NOTHING = "NOTHING"
    FULL_PAGES = "FULL_PAGES"


WITHOUT_STATISTICS = frozenset({PlanBasis.NOTHING, PlanBasis.FULL_PAGES})
"""The bases with which the optimizer uses no statistics."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to answer a query: the segments of one index, read in one direction."""

    access_pattern: str
    index: Index
    segments: tuple[Segment, ...]
    descending: bool
    consistent: bool = False
    residual: Filters = field(default_factory=dict)
    """The filters that the segments do not cover. The executor applies them to the rows read."""
    selectivity: float = 1.0
    """The fraction of the rows read that is expected to pass the residual filter."""
    discard_limit: float = float("inf")
    """When the residual filter has dropped more rows than this, the rest of the page is planned
    again, with the selectivity of the rows read."""
    large_refills: bool = False
    """Whether even the first refill of a plan with a residual filter reads many times the rows that
    the page has read. This is for plans without an estimate, and after a wrong estimate."""
    unproven: int = 0
    """The number of segments that are expected to be empty, according to inexact statistics. Exact
    statistics can prove that they are empty."""
    capacity: float | None = None
    """The expected RCU; None without statistics."""
    until: str | None = None
    """The position where the page is expected to end. The segments end there too. None if there is
    no estimate of the end."""

    def __str__(self) -> str:
        """Return the plan as a tree of lines: the index, the residual filter, and each segment."""
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

    def passing(self, rows: Sequence[Row], names: Iterable[str] | None = None) -> Sequence[Row]:
        """Return the rows that pass the residual filter.

        ``names`` are the fields to filter by; None for all fields of the residual filter.
        """
        index = self.index
        for name in self.residual if names is None else names:
            wanted = self.residual[name]
            if (has := index.searches.get(name)) is not None:
                rows = [row for row in rows if any(has(row.item, value) for value in wanted)]
            elif (unpack := index.packs.get(name)) is not None:
                rows = [row for row in rows if not wanted.isdisjoint(unpack(row.item))]
            else:
                rows = [row for row in rows if not wanted.isdisjoint(row.item[name].values())]
        return rows


class Refusal(NamedTuple):
    """The condition for which an index cannot answer a query, with the names in question."""

    code: Literal["DIVIDED", "HOLDS_OTHERS", "LACKS", "LAGS"]
    named: tuple[str | Sequence[str], ...] = ()


@dataclass(frozen=True, eq=False)
class AccessPath:
    """One index that can answer a query.

    Each combination of the filters' values for the index's fields is one segment, for example
    product 42 in English. In an index with shards, each combination has one segment per shard. The
    properties are computed once, for all pages of the query.
    """

    index: Index
    query: Query
    instead_of: int = 0
    """If this path is used only because every path that covers the most filters has too many
    segments, the lowest number of segments of those paths; otherwise 0. If a page drops too many
    rows, its error message contains this number."""

    @cached_property
    def size(self) -> int:
        """The number of segments."""
        partitions = math.prod(len(self.query.filters[name]) for name in self.index.fields)
        return partitions * self.index.shards

    @cached_property
    def residual(self) -> Filters:
        """The filters that the segments do not cover."""
        return {name: wanted for name, wanted in self._specific.items() if name in self.uncovered}

    @cached_property
    def uncovered(self) -> frozenset[str]:
        """The fields of ``residual``, and the coarser fields that these imply."""
        fields = {*self.index.fields, *self.index.covers}
        implied = {one for name in fields for one in self.index.implies.get(name, ())}
        return frozenset(self.query.filters) - fields - implied

    @cached_property
    def refines(self) -> bool:
        """Whether all fields of ``residual`` are finer than fields of the partition keys.

        An example is ``locale``, if the partition keys contain ``language``. Often all rows of such
        a partition pass. True without a residual filter.
        """
        index = self.index
        return all(set(index.fields) & {*index.implies.get(name, ())} for name in self.residual)

    @cached_property
    def searches(self) -> bool:
        """Whether the residual filter has a field that no index finds (see ``Index.searches``)."""
        return not self.index.searches.keys().isdisjoint(self.residual)

    @property
    def limited(self) -> bool:
        """Whether a page by this path ends with an error if it drops too many rows."""
        return self.searches or self.instead_of > 0

    @cached_property
    def keys(self) -> Sequence[EqualityKey]:
        """The keys of all rows that pass the filters: every combination of the filters' values."""
        return list(equality_keys(self._specific))

    @property
    def _specific(self) -> Filters:
        """The filters without those that another filter implies (see ``Index.implies``)."""
        filters = self.query.filters
        implied = {one for name in filters for one in self.index.implies.get(name, ())}
        return {name: wanted for name, wanted in filters.items() if name not in implied}

    @cached_property
    def segments(self) -> Sequence[Segment]:
        """Every segment, without bounds and limit. The optimizer adds these."""
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
        """For each segment, the filters that all its rows pass."""
        return [{**self.index.covers, **filters_of(segment.key)} for segment in self.segments]


def access_paths(indexes: Sequence[Index], query: Query) -> Sequence[AccessPath]:
    """Return the access paths of a query.

    The path with the fewest fields in its residual filter comes first. Of paths with the same
    number of fields, the path with the fewest segments comes first, and of these a path that
    refines. But paths whose residual filter has a field of a sparse index come later, because very
    few rows may pass this filter.

    Paths with more than ``MAX_SEGMENTS`` segments are left out. If every path that covers the most
    filters is left out, pages have to drop more rows. If a page drops too many rows, the executor
    raises TooManySegmentsError.

    Raises NoIndexError if no index can answer the query, and TooManySegmentsError if every path has
    too many segments.
    """
    paths = [AccessPath(index, query) for index in indexes if refusal(index, query) is None]
    if not paths:
        raise NoIndexError(
            f"No index answers a filter by {', '.join(sorted(query.filters))}: declare one."
        )
    sparse = {name for path in paths for name in path.index.covers}
    paths.sort(
        key=lambda path: (
            len(path.uncovered & sparse),
            len(path.uncovered),
            path.size,
            not path.refines,
        )
    )
    fitting = [path for path in paths if path.size <= MAX_SEGMENTS]
    if not fitting:
        raise too_many_segments(paths[0].size)
    if len(fitting[0].uncovered) > len(paths[0].uncovered):
        return [AccessPath(path.index, query, paths[0].size) for path in fitting]
    return fitting


def too_many_segments(partitions: int) -> TooManySegmentsError:
    """Return the error of a filter that selects too many partitions."""
    return TooManySegmentsError(
        f"The filter selects {partitions} partitions; the maximum is {MAX_SEGMENTS}: "
        "filter by fewer values at a time."
    )


def too_rare() -> TooManySegmentsError:
    """Return the error of a page that has dropped too many rows, because few match a search."""
    return TooManySegmentsError(
        "Too few rows match the search: add filters or dates, or search for other words."
    )


def refusal(index: Index, query: Query) -> Refusal | None:
    """Return the first condition that an index does not meet; None if it can answer the query.

    An index can answer a query under four conditions:

    - The query filters by all fields in the index's keys (otherwise DIVIDED).
    - The index contains all matching rows (otherwise HOLDS_OTHERS).
    - The index projects every other filtered field (otherwise LACKS).
    - The query does not need consistent reads, or DynamoDB allows them for the index (otherwise
      LAGS).
    """
    asked = query.filters
    unasked = [name for name in index.fields if name not in asked]
    if unasked:
        return Refusal("DIVIDED", (unasked,))
    for name, held in index.covers.items():
        if asked.get(name) != held:
            return Refusal("HOLDS_OTHERS", (name, sorted(held)))
    within = {*index.fields, *index.covers, *index.projects, *index.packs, *index.searches}
    missing = asked.keys() - within
    if missing:
        return Refusal("LACKS", (sorted(missing),))
    # Global indexes have no consistent reads:
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.ReadConsistency.html
    if query.consistent and not index.consistent:
        return Refusal("LAGS")
    return None
