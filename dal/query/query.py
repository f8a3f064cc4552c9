"""Query: what is asked for, as fields and the values wanted of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from dal.table.ranges import UNBOUNDED, Range

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
