"""Candidates: the ways to answer a query, one for each index that can."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dal.filters import Filters, Kind, kinds_of
from dal.indexes import Index
from dal.plans import Query
from dal.positions import Range


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of one kind stand in an index, or one shard of them."""

    partition: str
    prefix: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Candidate:
    """A query's first ``limit`` rows within ``span``, from one index.

    Every combination of the values of the index's fields is a place to read, in each shard.
    """

    index: Index
    query: Query
    span: Range
    descending: bool
    limit: int

    @property
    def size(self) -> int:
        """How many places there are."""
        combinations = math.prod(len(self.query.filters[name]) for name in self.index.fields)
        return combinations * self.index.shards

    @property
    def residual(self) -> Filters:
        """The filters that the places do not cover."""
        covered = {*self.index.fields, *self.index.covers}
        return {name: wanted for name, wanted in self.query.filters.items() if name not in covered}

    def places(self) -> Sequence[Place]:
        """Return every place to read."""
        index, places = self.index, []
        for kind in kinds_of({name: self.query.filters[name] for name in index.fields}):
            values = dict(kind)
            for shard in range(index.shards):
                partition = index.partition_of(values, shard)
                places.append(Place(partition, index.prefix_of(values), kind))
        return places
