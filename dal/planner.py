"""The query planner: pure functions from what is asked for to what is read.

``plan`` picks the index whose partitions are exactly the asked-for sets of rows, and lists one
segment for each partition. All segments of a plan share one total order, so one position resumes
them all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product as cartesian_product

from dal.errors import NoIndexError, TooManySegmentsError
from dal.indexes import Index
from dal.positions import Range

MAX_SEGMENTS = 60
"""A page reads at most this many partitions: twelve languages of five ratings."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for: each filtered field and the values wanted of it.

    An absent field is not filtered; a field with no value selects nothing.
    """

    access_pattern: str
    filters: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Segment:
    """One contiguous key range of one partition, and how many rows to ask of it at a time."""

    partition: str
    range: Range
    limit: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is answered: the segments of one index, read in one direction."""

    access_pattern: str
    index: Index
    segments: tuple[Segment, ...]
    descending: bool


def plan(
    indexes: Sequence[Index], query: Query, span: Range, *, descending: bool, limit: int
) -> Plan:
    """Return the plan that reads the rows of ``query`` within ``span`` of the total order.

    Without statistics any segment may hold the whole page, so each is asked for ``limit`` rows.
    Raises NoIndexError when no index is partitioned by the filtered fields.
    """
    index = _index_of(indexes, query)
    values = [sorted(query.filters[field]) for field in index.partition]
    combinations = list(cartesian_product(*values))
    if len(combinations) > MAX_SEGMENTS:
        raise TooManySegmentsError(
            f"The filter selects {len(combinations)} partitions; the most is {MAX_SEGMENTS}: "
            "choose fewer languages or ratings."
        )
    segments = tuple(
        Segment(index.partition_of(dict(zip(index.partition, chosen, strict=True))), span, limit)
        for chosen in combinations
    )
    return Plan(query.access_pattern, index, segments, descending)


def _index_of(indexes: Sequence[Index], query: Query) -> Index:
    for index in indexes:
        if set(index.partition) == query.filters.keys():
            return index
    raise NoIndexError(f"No index is partitioned by {', '.join(sorted(query.filters))}.")
