"""Slices: which rows of a connection a page shows, and the walk that reads them.

A slice speaks in list order (after, before, next, previous). A walk speaks in reading order: it
leaves from ``start``, stops before ``end``, and what lies ``ahead`` or ``behind`` is seen from
there. Reading goes the list's own way for ``first`` and the opposite way for ``last``.
"""

from dataclasses import dataclass

from dal.positions import Range


@dataclass(frozen=True, slots=True)
class Slice:
    """Up to ``limit`` rows between two positions, both excluded, from one end or the other.

    ``next_page`` and ``previous_page`` say whether the page must know that rows follow or precede
    it, which costs a row or a Query more.
    """

    limit: int
    backward: bool = False
    after: str | None = None
    before: str | None = None
    next_page: bool = False
    previous_page: bool = False


@dataclass(frozen=True, slots=True)
class Walk:
    """A slice as it is read; ``descending`` is the direction through the keys."""

    limit: int
    start: str | None
    end: str | None
    ahead: bool
    behind: bool
    descending: bool

    @property
    def touches_start(self) -> bool:
        """Whether to read the start's own row too.

        If it is still there it proves that rows lie behind: one more row in the same Query instead
        of another Query.
        """
        return self.behind and self.start is not None

    @property
    def count(self) -> int:
        """How many rows to read: the page, and those that answer what lies around it."""
        return self.limit + self.ahead + self.touches_start

    @property
    def span(self) -> Range:
        """The keys between start and end."""
        return _span(
            self.start, self.end, descending=self.descending, start_open=not self.touches_start
        )

    @property
    def beyond(self) -> Range:
        """The keys from the end on, the end's own included."""
        return _span(self.end, None, descending=self.descending, start_open=False)

    @property
    def before_start(self) -> Range:
        """The keys that the walk has left behind, the start's own included."""
        return _span(self.start, None, descending=not self.descending, start_open=False)


def walk(cut: Slice, *, descending: bool) -> Walk:
    """Return how ``cut`` is read in a list that goes through its keys in the given direction."""
    if cut.backward:
        return Walk(
            cut.limit, cut.before, cut.after, cut.previous_page, cut.next_page, not descending
        )
    return Walk(cut.limit, cut.after, cut.before, cut.next_page, cut.previous_page, descending)


def _span(start: str | None, end: str | None, *, descending: bool, start_open: bool) -> Range:
    if descending:
        return Range(low=end, high=start, low_open=True, high_open=start_open)
    return Range(low=start, high=end, low_open=start_open, high_open=True)
