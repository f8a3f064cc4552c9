"""Row locations: which rows of one list stood where when they were last read.

They are inexact, since rows come and go. They tell the optimizer how far a page is likely to reach
and what stands on the way, where counts alone leave a margin.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, compress, islice
from operator import attrgetter, itemgetter
from typing import NamedTuple

from dal.query.protocols import LocatedPage, LocatedRow
from dal.query.query import EqualityKey, Filters, equality_keys
from dal.table.keys import LAST_CHARACTER
from dal.table.ranges import HEADS, Range, just_above

MOST = 2_000
"""Rows and spans of a list; when it has more, all are dropped and remembered anew."""

MOST_VALUES = 256
"""Different values of rows, as a byte says which ones a row has; all are dropped here too."""

_Span = tuple[str, str]
"""The lowest and the highest position of a range, both included."""


class _Known(NamedTuple):
    """What rows of a key are found by."""

    mask: bytes
    """For each byte, 1 if it stands for values that have the key."""
    spans: Sequence[list[_Span]]
    """Those of the key, and those of every coarser one."""


class RowLocations:
    """What was read of one list, whichever parts of it and in whichever order.

    Rows are selected by a byte each: a page of few rows may stand among all that are remembered.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._rows: list[LocatedRow] = []
        self._codes = bytearray()
        """For each row, the byte that stands for its values."""
        self._values: dict[EqualityKey, int] = {}
        self._spans: dict[EqualityKey, list[_Span]] = {}
        """What of each key is remembered, sorted; no two of a key touch."""
        self._known: dict[EqualityKey, _Known] = {}
        """Of keys that were asked for; values and spans of further keys make them anew."""

    def note(self, key: EqualityKey, span: Range, rows: Sequence[LocatedRow]) -> None:
        """Remember that ``rows`` are all rows of ``key`` within ``span``."""
        values = {row.values for row in rows}
        if len(values) > MOST_VALUES:
            return
        spans = sum(map(len, self._spans.values()))
        if len(self._rows) + spans > MOST or len(values | self._values.keys()) > MOST_VALUES:
            self._forget()
        if key not in self._spans or not values <= self._values.keys():
            self._known.clear()
        for one in values:
            self._values.setdefault(one, len(self._values))
        part = self._part(span)
        others = [row for row in self._rows[part] if not key <= row.values]
        merged = sorted([*others, *rows], key=attrgetter("position"))
        self._rows[part] = merged
        self._codes[part] = bytes(self._values[row.values] for row in merged)
        _join(self._spans.setdefault(key, []), _ends(span))

    def page(
        self, filters: Filters, span: Range, *, descending: bool, count: int
    ) -> LocatedPage | None:
        """Return the first ``count`` rows of ``span`` that pass; None unless all are remembered.

        They are fewer where the range is remembered to its end.
        """
        low, high = _ends(span)
        start, end = (high, low) if descending else (low, high)
        nearest, mask = end, 0
        for key in equality_keys(filters):
            known = self._of(key)
            reached = _reach(known.spans, start, end, descending=descending)
            if reached is None:
                return None
            nearest = max(nearest, reached) if descending else min(nearest, reached)
            mask |= int.from_bytes(known.mask)
        part = self._part(span if nearest == end else span.until(nearest, descending=descending))
        way = slice(None, None, -1 if descending else 1)
        passing = self._codes[part].translate(mask.to_bytes(MOST_VALUES))
        rows = list(islice(compress(self._rows[part][way], passing[way]), count))
        return LocatedPage(rows, self.among) if len(rows) == count or nearest == end else None

    def among(self, key: EqualityKey, span: Range) -> Sequence[LocatedRow] | None:
        """Return the rows of ``key`` within ``span``; None unless all are remembered."""
        low, high = _ends(span)
        known = self._of(key)
        reached = _reach(known.spans, low, high, descending=False)
        if reached != high:
            return None
        part = self._part(span)
        return list(compress(self._rows[part], self._codes[part].translate(known.mask)))

    def _of(self, key: EqualityKey) -> _Known:
        known = self._known.get(key)
        if known is None:
            mask = bytes(key <= values for values in self._values).ljust(MOST_VALUES, b"\0")
            spans = [self._spans[one] for one in _coarser(key) if one in self._spans]
            known = _Known(mask, spans)
            if any(mask):  # anybody can ask for what no row has
                self._known[key] = known
        return known

    def _part(self, span: Range) -> slice:
        low, high = _ends(span)
        return slice(
            bisect_left(self._rows, (just_above(low) if span.low_open else low,)),
            bisect_left(self._rows, (high if span.high_open else just_above(high),)),
        )


@lru_cache(maxsize=10_000)
def _coarser(key: EqualityKey) -> Sequence[EqualityKey]:
    """Return the keys that all rows of ``key`` have too."""
    return [frozenset(some) for size in range(len(key) + 1) for some in combinations(key, size)]


def _join(spans: list[_Span], new: _Span) -> None:
    """Add a span to sorted ones, none of which touches another."""
    first = bisect_left(spans, new[0], key=itemgetter(1))
    end = bisect_right(spans, new[1], key=itemgetter(0))
    joined = [*spans[first:end], new]
    spans[first:end] = [(min(low for low, _ in joined), max(high for _, high in joined))]


def _reach(
    known: Sequence[Sequence[_Span]], start: str, end: str, *, descending: bool
) -> str | None:
    """Return how far spans go without a gap from ``start``, at most to ``end``; None if nowhere."""
    reached, further = None, start
    while further != reached:
        reached, found = further, False
        for spans in known:
            number = bisect_right(spans, (reached, LAST_CHARACTER)) - 1
            if number < 0 or spans[number][1] < reached:
                continue
            low, high = spans[number]
            if low <= end <= high:
                return end
            found, further = True, min(further, low) if descending else max(further, high)
        if not found:
            return None
    return reached


def _ends(span: Range) -> _Span:
    lowest, highest = HEADS
    low = lowest if span.low is None else span.low
    high = highest if span.high is None else span.high
    return low, high
