"""The specification's pagination algorithm, over the positions of a list's rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tools.conformance.listing import Edge


@dataclass(frozen=True, slots=True)
class Ask:
    """Pagination arguments, with positions of rows in place of their cursors."""

    first: int | None = None
    after: int | None = None
    last: int | None = None
    before: int | None = None

    def arguments(self, rows: Sequence[Edge]) -> dict[str, Any]:
        """Return the arguments of the request, without those that are None."""
        given = {
            "first": self.first,
            "after": None if self.after is None else rows[self.after].cursor,
            "last": self.last,
            "before": None if self.before is None else rows[self.before].cursor,
        }
        return {name: value for name, value in given.items() if value is not None}


def between_cursors(ask: Ask, length: int) -> range:
    """Return the positions that ApplyCursorsToEdges keeps."""
    low = 0 if ask.after is None else ask.after + 1
    high = length if ask.before is None else ask.before
    return range(low, max(low, high))


def edges_to_return(ask: Ask, length: int) -> range:
    """Return the positions of EdgesToReturn."""
    left = between_cursors(ask, length)
    if ask.first is not None:
        left = left[: ask.first]
    if ask.last is not None:
        left = left[max(0, len(left) - ask.last) :]
    return left


@dataclass(frozen=True, slots=True)
class Flag:
    """The values that the specification allows for a flag, and the exact one."""

    allowed: frozenset[bool]
    exact: bool | None
    """None where the specification's prose and algorithm disagree."""


def has_next_page(ask: Ask, length: int) -> Flag:
    """Return the rule for ``hasNextPage``."""
    shown = edges_to_return(ask, length)
    left = between_cursors(ask, length)
    asked = None if ask.first is None else len(left) > ask.first
    return _flag(shown.stop < length, asked, edge_only=ask.before == length - 1 == shown.stop)


def has_previous_page(ask: Ask, length: int) -> Flag:
    """Return the rule for ``hasPreviousPage``."""
    shown = edges_to_return(ask, length)
    left = between_cursors(ask, length)
    asked = None if ask.last is None else len(left) > ask.last
    return _flag(shown.start > 0, asked, edge_only=ask.after == 0 and shown.start == 1)


def _flag(around: bool, asked: bool | None, *, edge_only: bool) -> Flag:  # noqa: FBT001 - facts
    """Return the rule for a flag.

    ``around``: rows lie beyond the page. ``asked``: the algorithm's result; None if the client does
    not page in the flag's direction. The server may then return false even if rows follow, but not
    true if none do. ``edge_only``: the cursor's own row is the only row beyond the page, which the
    specification's prose counts and its algorithm does not.
    """
    if asked is None:
        return Flag(frozenset({False, around}), None if edge_only else around)
    return Flag(frozenset({asked, around}), around if asked == around else None)
