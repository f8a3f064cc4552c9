"""Filters, and the kinds of rows that they let pass."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TypeAlias

Filters: TypeAlias = Mapping[str, frozenset[str]]
"""Each filtered field and the values wanted of it."""

Kind: TypeAlias = frozenset[tuple[str, str]]
"""Values of some fields: a row is of this kind if it has them all."""


def kinds_of(filters: Filters) -> Iterator[Kind]:
    """Yield the kinds that pass ``filters``: every combination of the wanted values, sorted."""
    for values in product(*map(sorted, filters.values())):
        yield frozenset(zip(filters, values, strict=True))


def filters_of(kind: Kind) -> Filters:
    """Return the filters that only rows of ``kind`` pass."""
    return {name: frozenset({value}) for name, value in kind}
