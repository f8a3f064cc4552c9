"""Row locations: where this process found the rows of a list when it last read them.

The locations may be out of date, because clients add and delete rows. From row locations the
optimizer estimates where a page ends, and how many rows each Query reads. Estimates from counts are
less precise. With them, the Queries read a larger number of rows that are not on the page.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations, compress, islice
from operator import itemgetter
from typing import NamedTuple

from dal.query.plan import EqualityKey
from dal.table.entity import Row
from dal.table.key_parts import LAST_CHARACTER
from dal.table.ranges import HEADS, Range

MOST = 10_000
"""Maximum number of remembered rows and spans (ranges of positions that were read) of one list.
Above the maximum, the process forgets all rows and spans of the list."""

_LIST, _KEY = 20, 3
"""The memory of a list without rows, and of each requested key (a combination of field values). The
unit is the memory of one row."""

MOST_VALUES = 256
"""Maximum different combinations of field values in a list. One byte encodes a combination.
If a list has more combinations, the process forgets its rows."""

_OTHERS = b"\1\0".ljust(MOST_VALUES, b"\0")
"""A table for ``bytes.translate``. It translates 0 into 1, and every other byte into 0. So it
selects the rows that a mask (see ``_Known.mask``) does not select."""

_Span = tuple[str, str]
"""The lowest and the highest position of a range. Both are included."""


class RangeRead(NamedTuple):
    """The result of one Query: all rows with the field values ``key`` within a range."""

    key: EqualityKey
    range: Range
    rows: Sequence[Row]


class LocatedRow(NamedTuple):
    """A row that a page read: its position, its field values, and its size in bytes."""

    position: str
    values: EqualityKey
    size: int


class _Known(NamedTuple):
    """The data with which ``RowLocations`` finds the rows of one key."""

    mask: bytes
    """A table for ``bytes.translate``. It translates a byte into 1 if the byte encodes field values
    that include the key's values, and into 0 otherwise."""
    spans: Sequence[list[_Span]]
    """The spans within which the process remembers all rows of the key. Each list has the spans of
    the key itself, or of a coarser key (a part of the key's values)."""


class LocatedPage(NamedTuple):
    """A page of rows that this process has read before.

    If the page has fewer rows than requested, the requested span has no further rows.
    """

    rows: int
    """The number of rows."""
    span: Range
    """The requested span; if the page is full, only up to the page's last row."""
    ends: _Span
    """The lowest and the highest position of ``span``."""
    until: str | None
    """The position of the last row; None if the page was not full."""
    known: Callable[[EqualityKey], _Known]
    passing: int
    """The mask of the field values that the page's rows may have, as a number. See
    ``_Known.mask``."""
    codes: bytearray
    sizes: Sequence[int]
    """The codes and the sizes of all remembered rows within the span. A code is the byte that
    encodes the row's field values."""

    def matching(self, key: EqualityKey) -> int:
        """Return how many of the page's rows have the key."""
        both = self.passing & int.from_bytes(self.known(key).mask)
        return self.codes.translate(both.to_bytes(MOST_VALUES)).count(1)

    def among(self, key: EqualityKey) -> tuple[int, int] | None:
        """Return the number of rows with the key within the span, and their size in bytes.

        Rows that the page's filter drops are included. Return None if this process does not
        remember all rows with the key.
        """
        known = self.known(key)
        if _reach(known.spans, *self.ends) != self.ends[1]:
            return None
        marks = self.codes.translate(known.mask)
        return marks.count(1), sum(compress(self.sizes, marks))


class RowLocations:
    """The remembered rows of one list. A process may have read the list's parts in any order.

    Positions, values and sizes of the rows are in three separate sequences. So one call of a
    built-in function selects, counts or sums many rows. This is fast even if a page's filter drops
    most of the rows. One byte encodes the field values of a row.
    """

    def __init__(self) -> None:
        self._forget()

    def weight(self) -> int:
        """Return the memory of these locations. The unit is one row or span, about 180 bytes."""
        return _LIST + len(self._sizes) + self._joined + _KEY * len(self._known)

    def _forget(self) -> None:
        self._positions: list[str] = []
        self._codes = bytearray()
        self._sizes: list[int] = []
        self._values: dict[EqualityKey, int] = {}
        """The byte that encodes each combination of field values."""
        self._spans: dict[EqualityKey, list[_Span]] = {}
        """The remembered spans of each key, sorted. Spans that touch are joined into one."""
        self._joined = 0
        """The number of spans in ``_spans``."""
        self._known: dict[EqualityKey, _Known] = {}
        """The keys that were requested before, prepared for searching. All of them are dropped when
        the list gets a new combination of values, or a key gets its first span."""

    def note(self, key: EqualityKey, span: Range, rows: Sequence[LocatedRow]) -> None:
        """Remember that ``rows`` are all rows of ``key`` within ``span``."""
        values = {row.values for row in rows}
        if len(values) > MOST_VALUES:
            return
        if (
            len(self._sizes) + self._joined > MOST
            or len(values | self._values.keys()) > MOST_VALUES
        ):
            self._forget()
        if key not in self._spans or not values <= self._values.keys():
            self._known.clear()
        for one in values:
            self._values.setdefault(one, len(self._values))
        self._replace(key, self._part(span), rows)
        spans = self._spans.setdefault(key, [])
        self._joined -= len(spans)
        _join(spans, _ends(span))
        self._joined += len(spans)

    def _replace(self, key: EqualityKey, part: slice, rows: Sequence[LocatedRow]) -> None:
        """Replace the remembered rows of ``key`` in a part of the list by ``rows``."""
        noted = [(row.position, self._values[row.values], row.size) for row in rows]
        marks = self._codes[part].translate(self._mask(key))
        if 0 in marks:
            known = zip(self._positions[part], self._codes[part], self._sizes[part], strict=True)
            noted += compress(known, marks.translate(_OTHERS))
        noted.sort(key=itemgetter(0))
        self._positions[part] = [position for position, _, _ in noted]
        self._codes[part] = bytes(code for _, code, _ in noted)
        self._sizes[part] = [size for _, _, size in noted]

    def page(
        self, keys: Sequence[EqualityKey], span: Range, *, descending: bool, count: int
    ) -> LocatedPage | None:
        """Return the first ``count`` rows of ``span`` that have one of ``keys``.

        The result has fewer rows only if ``span`` has no more. Return None unless the remembered
        spans cover all these rows.
        """
        low, high = _ends(span)
        start, end = (high, low) if descending else (low, high)
        nearest, passing = end, 0
        for key in keys:
            known = self._of(key)
            reached = _reach(known.spans, start, end, descending=descending)
            if reached is None:
                return None
            nearest = max(nearest, reached) if descending else min(nearest, reached)
            passing |= int.from_bytes(known.mask)
        part = self._part(span if nearest == end else span.until(nearest, descending=descending))
        marks = self._codes[part].translate(passing.to_bytes(MOST_VALUES))
        rows, until = min(count, marks.count(1)), None
        if rows < count and nearest != end:
            return None
        if rows == count > 0:
            # ``place`` is the number of remembered rows that precede the page's last row, in the
            # direction of reading.
            found = compress(range(len(marks)), reversed(marks) if descending else marks)
            place = next(islice(found, count - 1, None))
            until = self._positions[part.stop - 1 - place if descending else part.start + place]
            span = span.until(until, descending=descending)
            part = self._part(span)
        codes, sizes = self._codes[part], self._sizes[part]
        return LocatedPage(rows, span, _ends(span), until, self._of, passing, codes, sizes)

    def among(self, key: EqualityKey, span: Range) -> tuple[list[str], list[int]] | None:
        """Return the positions and sizes of the rows of ``key`` within ``span``.

        Return None unless the remembered spans cover all of ``span``.
        """
        known, (low, high) = self._of(key), _ends(span)
        if _reach(known.spans, low, high) != high:
            return None
        part = self._part(span)
        marks = self._codes[part].translate(known.mask)
        positions, sizes = self._positions[part], self._sizes[part]
        return list(compress(positions, marks)), list(compress(sizes, marks))

    def _of(self, key: EqualityKey) -> _Known:
        known = self._known.get(key)
        if known is None:
            spans = [self._spans[one] for one in _coarser(key) if one in self._spans]
            known = _Known(self._mask(key), spans)
            # A key without rows is not cached, because clients can request any number of such keys.
            if 1 in known.mask:
                self._known[key] = known
        return known

    def _mask(self, key: EqualityKey) -> bytes:
        return bytes(key <= values for values in self._values).ljust(MOST_VALUES, b"\0")

    def _part(self, span: Range) -> slice:
        low, high = _ends(span)
        lower = bisect_right if span.low_open else bisect_left
        upper = bisect_left if span.high_open else bisect_right
        first = lower(self._positions, low)
        return slice(first, upper(self._positions, high, first))


@lru_cache(maxsize=10_000)
def _coarser(key: EqualityKey) -> Sequence[EqualityKey]:
    """Return all subsets of ``key``. A row that has ``key`` has each of these keys too."""
    return [frozenset(some) for size in range(len(key) + 1) for some in combinations(key, size)]


def _join(spans: list[_Span], new: _Span) -> None:
    """Add a span to sorted spans. Join it with the spans that it touches."""
    first = bisect_left(spans, new[0], key=itemgetter(1))
    end = bisect_right(spans, new[1], key=itemgetter(0))
    joined = [*spans[first:end], new]
    spans[first:end] = [(min(low for low, _ in joined), max(high for _, high in joined))]


def _reach(
    known: Sequence[Sequence[_Span]], start: str, end: str, *, descending: bool = False
) -> str | None:
    """Return the last position of the unbroken range from ``start`` that the spans cover.

    The result is never beyond ``end``. Return None if no span covers ``start``.
    """
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
