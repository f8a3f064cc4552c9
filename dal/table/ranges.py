"""Ranges of positions and of sort keys.

A position is a string that determines a row's place in its list, for example ``<createdAt>#<id>``.
It ends in the row's id. A sort key is the index's label, a prefix (such as a status), and the
position. DynamoDB orders strings by their UTF-8 bytes, and Python by code points. Both orders are
the same.
"""

from datetime import datetime
from typing import NamedTuple

from dal.table.key_parts import LAST_CHARACTER, format_instant

HEADS = ("", LAST_CHARACTER)
"""The two possible positions of a partition's head item (see ``dal.table.index.Index.head``):
before all rows, or after all rows."""

_LAST_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000


class Range(NamedTuple):
    """A range of sort keys or positions. A bound that is None does not limit the range.

    ``low_open`` and ``high_open`` exclude the bounds themselves.
    """

    low: str | None = None
    high: str | None = None
    low_open: bool = False
    high_open: bool = False

    @property
    def empty(self) -> bool:
        """Whether the range contains no key. DynamoDB rejects a Query of such a range."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def __and__(self, other: "Range") -> "Range":
        """Return the range of the keys that are in both ranges."""
        if self == UNBOUNDED:
            return other
        lows = [(one.low, one.low_open) for one in (self, other) if one.low is not None]
        highs = [(one.high, not one.high_open) for one in (self, other) if one.high is not None]
        low, low_open = max(lows, default=(None, False))
        high, high_closed = min(highs, default=(None, True))
        return Range(low, high, low_open, not high_closed)

    def until(self, position: str, *, descending: bool) -> "Range":
        """Return the part of this range from its start to ``position``, including ``position``.

        With ``descending``, the range starts at its high bound.
        """
        return self & (Range(low=position) if descending else Range(high=position))

    def beyond(self, position: str, *, descending: bool) -> "Range":
        """Return the part of this range after ``position``, in ascending or descending order."""
        if descending:
            return self & Range(high=position, high_open=True)
        return self & Range(low=position, low_open=True)

    def under(self, prefix: str) -> "Range":
        """Return the range of sort keys for this range of positions.

        A sort key is ``prefix``, followed by the position.
        """
        if not prefix:
            return self
        low = prefix if self.low is None else prefix + self.low
        high = prefix + (LAST_CHARACTER if self.high is None else self.high)
        return Range(low, high, self.low_open, self.high_open)

    def __str__(self) -> str:
        """Return the range as a plan shows it: ``> 2020-… and <= 2021-…``."""
        bounds = []
        if self.low is not None:
            bounds.append(f"{'>' if self.low_open else '>='} {self.low}")
        if self.high is not None:
            bounds.append(f"{'<' if self.high_open else '<='} {self.high}")
        return " and ".join(bounds) or "all"


UNBOUNDED = Range()


def between(start: datetime | None, end: datetime | None) -> Range:
    """Return the positions from ``start`` (included) to ``end`` (excluded). None means unbounded.

    A position is an instant, ``#`` and an id. So an instant alone sorts before all positions with
    this instant.
    """
    if start is None and end is None:
        return UNBOUNDED
    low, high = (None if one is None else format_instant(one) for one in (start, end))
    return Range(low, high, high_open=high is not None)


def just_above(position: str) -> str:
    """Return the smallest string that sorts after ``position``."""
    return position + "\0"


def just_below(position: str) -> str:
    """Return a string that sorts before ``position``, with no possible key between the two strings.

    The last character of ``position`` is replaced by two characters: the previous character in
    Unicode, and U+10FFFF. A key between the two strings would contain U+10FFFF, which identifiers
    never contain. Surrogates are skipped, because UTF-8 has no surrogates. If the last character is
    U+0000, it is removed and nothing replaces it.
    """
    last = ord(position[-1])
    if last == 0:
        return position[:-1]
    previous = _LAST_BEFORE_SURROGATES if last == _AFTER_SURROGATES else last - 1
    return position[:-1] + chr(previous) + LAST_CHARACTER
