"""The k-way merge of sources with sorted rows."""

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Protocol

from dal.dynamodb.concurrency import in_parallel
from dal.table.entity import Row

_position = itemgetter(0)


class Source(Protocol):
    """A source of rows in batches. The rows are sorted in the direction of the merge."""

    async def more(self) -> Sequence[Row]:
        """Return the next batch of rows; an empty batch at the end."""

    @property
    def ended(self) -> bool:
        """Whether the source has no further rows."""


class Merge:
    """The k-way merge: returns the rows of all sources in order, and one row for each position.

    If a field of a row changes, the row moves to another segment. Reads at that moment can return
    the row from both segments, at the same position. The merge then returns only one of the two
    rows.
    """

    def __init__(self, sources: Sequence[Source], *, descending: bool) -> None:
        self._first, self._descending = (max if descending else min), descending
        self._dry = sources
        """Sources from which the merge has returned every row that it has read. The merge reads
        from them next."""
        self._open: list[tuple[str, Source]] = []
        """The other sources that may have further rows, each with the position of the last row
        that the merge has read from it."""
        self._waiting: list[Row] = []
        """Rows that cannot be returned yet, because a source may still have an earlier row."""

    @property
    def ended(self) -> bool:
        """Whether the merge has returned all rows."""
        return not (self._dry or self._open)

    async def more(self) -> Sequence[Row]:
        """Return the next rows in order; no row at the end.

        Only the sources that may have the next row are read, in parallel.
        """
        batches = await in_parallel([source.more() for source in self._dry])
        for source, rows in zip(self._dry, batches, strict=True):
            if not source.ended:
                self._open.append((rows[-1].position, source))
        if len(batches) == 1 and not self._waiting:
            merged = list(batches[0])
        else:
            merged = sorted(chain(self._waiting, *batches), key=_position, reverse=self._descending)
            merged = list({row[0]: row for row in merged}.values())
        if not self._open:
            self._dry, self._waiting = (), []
            return merged
        bound = self._first(self._open, key=_position)[0]
        self._dry = [source for last, source in self._open if last == bound]
        self._open = [one for one in self._open if one[0] != bound]
        end = next(number for number, row in enumerate(merged, 1) if row[0] == bound)
        self._waiting = merged[end:]
        return merged[:end]
