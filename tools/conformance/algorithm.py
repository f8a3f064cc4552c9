"""The specification's pagination algorithm over the places of a list, 0 to its length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tools.conformance.listing import Edge


@dataclass(frozen=True, slots=True)
class Ask:
    """Pagination arguments, with the places of rows where a request has their cursors."""

    first: int | None = None
    after: int | None = None
    last: int | None = None
    before: int | None = None

    def arguments(self, rows: Sequence[Edge]) -> dict[str, Any]:
        """Return what is sent; what is not set is left out."""
        given = {
            "first": self.first,
            "after": None if self.after is None else rows[self.after].cursor,
            "last": self.last,
            "before": None if self.before is None else rows[self.before].cursor,
        }
        return {name: value for name, value in given.items() if value is not None}


def between_cursors(ask: Ask, length: int) -> range:
    """Return the places that ApplyCursorsToEdges leaves."""
    low = 0 if ask.after is None else ask.after + 1
    high = length if ask.before is None else ask.before
    return range(low, max(low, high))


def edges_to_return(ask: Ask, length: int) -> range:
    """Return the places of EdgesToReturn."""
    left = between_cursors(ask, length)
    if ask.first is not None:
        left = left[: ask.first]
    if ask.last is not None:
        left = left[max(0, len(left) - ask.last) :]
    return left


@dataclass(frozen=True, slots=True)
class Flag:
    """What a flag may be, and what it is where it tells exactly what lies around the page."""

    allowed: frozenset[bool]
    exact: bool | None
    """None where prose and algorithm of the specification disagree."""


def has_next_page(ask: Ask, length: int) -> Flag:
    """Return what ``hasNextPage`` may be."""
    shown = edges_to_return(ask, length)
    left = between_cursors(ask, length)
    asked = None if ask.first is None else len(left) > ask.first
    return _flag(shown.stop < length, asked, edge_only=ask.before == length - 1 == shown.stop)


def has_previous_page(ask: Ask, length: int) -> Flag:
    """Return what ``hasPreviousPage`` may be."""
    shown = edges_to_return(ask, length)
    left = between_cursors(ask, length)
    asked = None if ask.last is None else len(left) > ask.last
    return _flag(shown.start > 0, asked, edge_only=ask.after == 0 and shown.start == 1)


def _flag(around: bool, asked: bool | None, *, edge_only: bool) -> Flag:  # noqa: FBT001 - facts
    """Return a flag by whether rows lie around the page, and by what the algorithm says.

    ``asked`` is None where the client does not read in the flag's direction: then the server may
    leave unsaid that rows are there, but not say so where there are none. ``edge_only``: the
    cursor's own row is all that lies there, which prose counts and the algorithm does not.
    """
    if asked is None:
        return Flag(frozenset({False, around}), None if edge_only else around)
    return Flag(frozenset({asked, around}), around if asked == around else None)
