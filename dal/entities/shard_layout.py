"""Shard layouts: over how many shards comments are spread, also while that changes.

A product's rows of one index stand in one partition, or in several shards of it. To move them from
one number of shards to another without a moment in which a reader may miss a row, however much an
index lags its table, two of the four indexes move while the other two are read:

1. Nobody reads the first two any more: ``all`` and ``byLangAndRating``.
2. They are written anew, and their rows are moved.
3. They are read, and nobody reads the other two any more: ``byLang`` and ``byRating``.
4. Those are written anew, and their rows are moved.

Each step is announced and waited for. Either two answer every filter: what has no index of its own
there is read by all five ratings, or by a coarser index with a residual filter. So in steps 1 and
2 a list of all ratings lacks comments that other programs rated other than 1 to 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from dal.entities.comment import ALL, BY_LANGUAGE_AND_RATING, COMMENT
from dal.table.index import Index
from dal.table.item import Item

MOST_SHARDS = 16

FIRST = (ALL, BY_LANGUAGE_AND_RATING)
SECOND = tuple(index for index in COMMENT.indexes if index not in FIRST)
"""The indexes in the order in which they move."""

_WRITTEN = {1: (), 2: FIRST, 3: FIRST, 4: (*FIRST, *SECOND)}
_READ = {0: COMMENT.indexes, 1: SECOND, 2: SECOND, 3: FIRST, 4: FIRST}
"""By step: the indexes that are written to the new number of shards, and those that are read."""

LAST = max(_WRITTEN)


@dataclass(frozen=True, slots=True)
class ShardLayout:
    """``shards`` of each partition, or a ``step`` of the move to ``target``; 0 is no step."""

    shards: int = 1
    target: int = 0
    step: int = 0

    @property
    def plain(self) -> bool:
        """Whether no partition has shards, nor is about to."""
        return self == PLAIN

    @property
    def moves(self) -> Sequence[Index]:
        """The indexes whose rows are moved in this step."""
        return {2: FIRST, 4: SECOND}.get(self.step, ())

    def next(self, target: int) -> "ShardLayout":
        """Return the step that follows on the way to ``target``."""
        if self.step == LAST:
            return ShardLayout(target)
        return ShardLayout(self.shards, target, self.step + 1)

    def written(self, index: Index) -> Index:
        """Return one of the indexes as it is written."""
        anew = self.step and index in _WRITTEN[self.step]
        return _sharded(str(index.name), self.target if anew else self.shards)

    @property
    def read(self) -> Sequence[Index]:
        """The indexes that are read: no row of theirs is being moved."""
        return [self.written(index) for index in _READ[self.step]]

    def keys(self, item: Item, indexes: Sequence[Index] = COMMENT.indexes) -> Item:
        """Return the partition keys of a comment's item in ``indexes``, in these shards.

        Keys that the item does not have stay away.
        """
        return {
            index.partition_key: {"S": self.written(index).in_shard(item)}
            for index in indexes
            if index.partition_key in item and index.sort_key in item
        }


PLAIN = ShardLayout()


_BY_NAME = {str(index.name): index for index in COMMENT.indexes}


@lru_cache(maxsize=len(_BY_NAME) * MOST_SHARDS)
def _sharded(name: str, shards: int) -> Index:
    return replace(_BY_NAME[name], shards=shards)
