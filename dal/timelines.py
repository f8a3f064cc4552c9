"""Timelines: which rows stood where when they were last read.

A timeline proves nothing, since rows come and go. It tells a planner how far a page is likely to
reach and what stands on the way, where a planner that knows counts alone must guess.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from dal.filters import Filters, Kind, kinds_of
from dal.items import Item
from dal.positions import HEADS, Range

MOST = 2_000
"""A timeline that remembers more than so many rows and spans starts anew."""

_Span = tuple[str, str]
"""The lowest and the highest position of a range, both included."""


class Seen(NamedTuple):
    """A row that was read: where it stands, its fields, and its size in bytes."""

    position: str
    kind: Kind
    size: int


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one Query showed: all rows of a kind within a range, with their positions."""

    kind: Kind
    range: Range
    rows: Sequence[tuple[str, Item]]


class Timeline:
    """What was seen of one list, whichever parts of it were read and in whichever order."""

    def __init__(self) -> None:
        self._rows: list[Seen] = []
        self._spans: dict[Kind, list[_Span]] = {}

    def note(self, kind: Kind, span: Range, rows: Sequence[Seen]) -> None:
        """Remember that ``rows`` are all rows of ``kind`` within ``span``."""
        if len(self._rows) + sum(map(len, self._spans.values())) > MOST:
            self._rows, self._spans = [], {}
        part = self._part(span)
        others = [row for row in self._rows[part] if not kind <= row.kind]
        self._rows[part] = sorted([*others, *rows], key=_position)
        self._spans[kind] = _joined(self._spans.get(kind, []), _ends(span))

    def page(
        self, filters: Filters, span: Range, *, descending: bool, count: int
    ) -> Sequence[Seen] | None:
        """Return the first ``count`` rows of ``span`` that pass; None unless all are remembered.

        They are fewer where the range is remembered to its end.
        """
        kinds = list(kinds_of(filters))
        low, high = _ends(span)
        start, end = (high, low) if descending else (low, high)
        bounds = [end]
        for kind in kinds:
            reached = self._reach(kind, start, descending=descending)
            if reached is None:
                return None
            bounds.append(reached)
        nearest = max(bounds) if descending else min(bounds)
        known = span.until(nearest, descending=descending)
        rows = list(islice(self._within(kinds, known, descending=descending), count))
        return rows if len(rows) == count or nearest == end else None

    def rows(self, kind: Kind, span: Range) -> Sequence[Seen] | None:
        """Return the rows of ``kind`` within ``span``; None unless all are remembered."""
        low, high = _ends(span)
        reached = self._reach(kind, low, descending=False)
        if reached is None or reached < high:
            return None
        return list(self._within([kind], span, descending=False))

    def _reach(self, kind: Kind, start: str, *, descending: bool) -> str | None:
        """Return how far ``kind`` is remembered without a gap from ``start``, if at all."""
        spans = [one for known, held in self._spans.items() if known <= kind for one in held]
        reached, further = None, start
        while further != reached:
            reached = further
            here = [span for span in spans if span[0] <= reached <= span[1]]
            if not here:
                return None
            further = min(low for low, _ in here) if descending else max(high for _, high in here)
        return reached

    def _within(self, kinds: Sequence[Kind], span: Range, *, descending: bool) -> Iterator[Seen]:
        rows = self._rows[self._part(span)]
        for row in reversed(rows) if descending else rows:
            if any(kind <= row.kind for kind in kinds):
                yield row

    def _part(self, span: Range) -> slice:
        low, high = _ends(span)
        return slice(
            (bisect_right if span.low_open else bisect_left)(self._rows, low, key=_position),
            (bisect_left if span.high_open else bisect_right)(self._rows, high, key=_position),
        )


def _joined(spans: Sequence[_Span], new: _Span) -> list[_Span]:
    """Return spans that cover what the given ones do, none of them touching another."""
    low, high = new
    apart = []
    for span in spans:
        if span[1] < low or high < span[0]:
            apart.append(span)
        else:
            low, high = min(low, span[0]), max(high, span[1])
    return [*apart, (low, high)]


def _ends(span: Range) -> _Span:
    lowest, highest = HEADS
    low = lowest if span.low is None else span.low
    high = highest if span.high is None else span.high
    return low, high


def _position(row: Seen) -> str:
    return row.position
