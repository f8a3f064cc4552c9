"""The k-way merge: several sorted sources become one list, in total order.

It sees sources of rows and nothing of what is behind them; a row is a tuple that begins with its
position. All sources that have run dry are asked at once, so their reads run in parallel; when one
fails, the others are cancelled and its error is raised.
"""

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, Protocol, TypeVar

from dal.client.concurrency import in_parallel

Row = TypeVar("Row", bound=tuple[Any, ...])
Row_co = TypeVar("Row_co", bound=tuple[Any, ...], covariant=True)
_position = itemgetter(0)


class Source(Protocol[Row_co]):
    """Rows that come some at a time, sorted in the direction of the merge."""

    async def more(self) -> Sequence[Row_co]:
        """Return the rows that follow; none at the end."""

    @property
    def ended(self) -> bool:
        """Whether nothing follows the rows that came."""


class Merge(Generic[Row]):
    """The rows of all sources in order; a position met twice is one row.

    A row moves between segments when its rating or language changes. Read while it moves, it can
    stand in both. Its position is the same in both, so it comes once.
    """

    def __init__(self, sources: Sequence[Source[Row]], *, descending: bool) -> None:
        self._foremost, self._descending = (max if descending else min), descending
        self._dry = sources
        self._open: list[tuple[str, Source[Row]]] = []
        """Sources that go on, each with the position of its last row so far."""
        self._waiting: list[Row] = []

    async def more(self) -> Sequence[Row]:
        """Return the rows up to where a source has run dry, which is then asked; none at the end.

        Only the sources that a further row hangs on are asked.
        """
        came = await in_parallel([source.more() for source in self._dry])
        for source, rows in zip(self._dry, came, strict=True):
            if not source.ended:
                self._open.append((rows[-1][0], source))
        if len(came) == 1 and not self._waiting:
            merged = list(came[0])
        else:
            merged = sorted(chain(self._waiting, *came), key=_position, reverse=self._descending)
            merged = list({row[0]: row for row in merged}.values())
        if not self._open:
            self._dry, self._waiting = (), []
            return merged
        bound = self._foremost(self._open, key=_position)[0]
        self._dry = [source for last, source in self._open if last == bound]
        self._open = [one for one in self._open if one[0] != bound]
        end = next(number for number, row in enumerate(merged, 1) if row[0] == bound)
        self._waiting = merged[end:]
        return merged[:end]
