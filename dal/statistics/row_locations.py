"""Row locations: which rows of one list stood where when they were last read.

They are inexact, since rows come and go. They tell the optimizer how far a page is likely to reach
and what stands on the way, where counts alone leave a margin.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice
from operator import itemgetter

from dal.query.protocols import LocatedPage, LocatedRow
from dal.query.query import EqualityKey, Filters, equality_keys
from dal.table.ranges import HEADS, Range

MOST = 2_000
"""Rows and spans of a list; when it has more, all are dropped and remembered anew."""

_Span = tuple[str, str]
"""The lowest and the highest position of a range, both included."""


class RowLocations:
    """What was read of one list, whichever parts of it and in whichever order."""

    def __init__(self) -> None:
        self._rows: list[LocatedRow] = []
        self._values: set[EqualityKey] = set()
        """Those of the rows; they are few."""
        self._finer: dict[EqualityKey, set[EqualityKey]] = {}
        """The values of rows that have a key, as they were asked for."""
        self._spans: dict[EqualityKey, list[_Span]] = {}
        """What of each key is remembered, sorted; no two of a key touch."""

    def note(self, key: EqualityKey, span: Range, rows: Sequence[LocatedRow]) -> None:
        """Remember that ``rows`` are all rows of ``key`` within ``span``."""
        if len(self._rows) + sum(map(len, self._spans.values())) > MOST:
            self._rows, self._spans = [], {}
        part = self._part(span)
        others = [row for row in self._rows[part] if not key <= row.values]
        self._rows[part] = sorted([*others, *rows], key=_position)
        if not self._values.issuperset(values := {row.values for row in rows}):
            self._values |= values
            self._finer.clear()
        self._spans[key] = _joined(self._spans.get(key, []), _ends(span))

    def page(
        self, filters: Filters, span: Range, *, descending: bool, count: int
    ) -> LocatedPage | None:
        """Return the first ``count`` rows of ``span`` that pass; None unless all are remembered.

        They are fewer where the range is remembered to its end.
        """
        keys = list(equality_keys(filters))
        low, high = _ends(span)
        start, end = (high, low) if descending else (low, high)
        bounds = [end]
        for key in keys:
            reached = self._reach(key, start, descending=descending)
            if reached is None:
                return None
            bounds.append(reached)
        nearest = max(bounds) if descending else min(bounds)
        known = span.until(nearest, descending=descending)
        rows = list(islice(self._within(keys, known, descending=descending), count))
        return LocatedPage(rows, self.among) if len(rows) == count or nearest == end else None

    def among(self, key: EqualityKey, span: Range) -> Sequence[LocatedRow] | None:
        """Return the rows of ``key`` within ``span``; None unless all are remembered."""
        low, high = _ends(span)
        reached = self._reach(key, low, descending=False)
        if reached is None or reached < high:
            return None
        wanted = self._values_of(key)
        return [row for row in self._rows[self._part(span)] if row.values in wanted]

    def _reach(self, key: EqualityKey, start: str, *, descending: bool) -> str | None:
        """Return how far ``key`` is remembered without a gap from ``start``, if at all."""
        covering = [self._spans[known] for known in _coarser(key) if known in self._spans]
        reached, further = None, start
        while further != reached:
            reached = further
            here = [span for held in covering if (span := _span_at(held, reached))]
            if not here:
                return None
            further = min(low for low, _ in here) if descending else max(high for _, high in here)
        return reached

    def _within(
        self, keys: Sequence[EqualityKey], span: Range, *, descending: bool
    ) -> Iterator[LocatedRow]:
        wanted = set[EqualityKey]().union(*map(self._values_of, keys))
        rows = self._rows[self._part(span)]
        return (row for row in (reversed(rows) if descending else rows) if row.values in wanted)

    def _values_of(self, key: EqualityKey) -> set[EqualityKey]:
        found = self._finer.get(key)
        if found is None:
            found = {values for values in self._values if key <= values}
            if found:  # anybody can ask for what no row has
                self._finer[key] = found
        return found

    def _part(self, span: Range) -> slice:
        low, high = _ends(span)
        return slice(
            (bisect_right if span.low_open else bisect_left)(self._rows, low, key=_position),
            (bisect_left if span.high_open else bisect_right)(self._rows, high, key=_position),
        )


@lru_cache(maxsize=10_000)
def _coarser(key: EqualityKey) -> Sequence[EqualityKey]:
    """Return the keys that all rows of ``key`` have too."""
    return [frozenset(some) for size in range(len(key) + 1) for some in combinations(key, size)]


def _joined(spans: Sequence[_Span], new: _Span) -> list[_Span]:
    """Return spans that cover what the given ones do, sorted, none of them touching another."""
    low, high = new
    apart = []
    for span in spans:
        if span[1] < low or high < span[0]:
            apart.append(span)
        else:
            low, high = min(low, span[0]), max(high, span[1])
    return sorted([*apart, (low, high)])


def _span_at(spans: Sequence[_Span], position: str) -> _Span | None:
    number = bisect_right(spans, position, key=_position) - 1
    return spans[number] if number >= 0 and position <= spans[number][1] else None


def _ends(span: Range) -> _Span:
    lowest, highest = HEADS
    low = lowest if span.low is None else span.low
    high = highest if span.high is None else span.high
    return low, high


_position = itemgetter(0)
