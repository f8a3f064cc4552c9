"""The pagination algorithm of Relay's specification, applied to positions of a list's rows."""

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
        """Return the arguments of the request, except arguments that are None."""
        given = {
            "first": self.first,
            "after": None if self.after is None else rows[self.after].cursor,
            "last": self.last,
            "before": None if self.before is None else rows[self.before].cursor,
        }
        return {name: value for name, value in given.items() if value is not None}

    def between_cursors(self, length: int) -> range:
        """Return the positions that the specification's function ApplyCursorsToEdges returns."""
        low = 0 if self.after is None else self.after + 1
        high = length if self.before is None else self.before
        return range(low, max(low, high))

    def edges_to_return(self, length: int) -> range:
        """Return the positions that the specification's function EdgesToReturn returns."""
        left = self.between_cursors(length)
        if self.first is not None:
            left = left[: self.first]
        if self.last is not None:
            left = left[max(0, len(left) - self.last) :]
        return left


@dataclass(frozen=True, slots=True)
class Flag:
    """The rule for ``hasNextPage`` or ``hasPreviousPage``: the allowed and the exact value."""

    allowed: frozenset[bool]
    exact: bool | None
    """Whether the list has rows beyond the page, in the flag's direction.

    None if the specification's prose and algorithm disagree.
    """


def flags(ask: Ask, length: int) -> dict[str, Flag]:
    """Return the rules for both flags of the page for ``ask``, in a list of ``length`` rows."""
    shown, left = ask.edges_to_return(length), len(ask.between_cursors(length))
    # The prose of the specification counts the cursor's own row among the rows beyond the page, but
    # the algorithm does not. So prose and algorithm disagree if no other row is beyond the page.
    only_before = ask.before == length - 1 == shown.stop
    only_after = ask.after == 0 and shown.start == 1
    return {
        "hasNextPage": _flag(shown.stop < length, ask.first, left, unclear=only_before),
        "hasPreviousPage": _flag(shown.start > 0, ask.last, left, unclear=only_after),
    }


def _flag(around: bool, size: int | None, left: int, *, unclear: bool) -> Flag:  # noqa: FBT001 - a value, not a switch
    """Return the rule for a flag.

    ``around`` is whether the list has rows beyond the page, in the flag's direction. ``size`` is
    ``first`` for ``hasNextPage`` and ``last`` for ``hasPreviousPage``. ``left`` is the number of
    rows between the cursors.

    If ``size`` is given, two values are allowed: ``around``, and the algorithm's value, which is
    whether more than ``size`` rows are between the cursors. The flag has no exact value if these
    two differ.

    If ``size`` is None, the client does not page in this direction, and ``around`` and false are
    allowed. The flag has no exact value if ``unclear``: the prose and the algorithm disagree.
    """
    if size is None:
        return Flag(frozenset({False, around}), None if unclear else around)
    by_algorithm = left > size
    exact = around if by_algorithm == around else None
    return Flag(frozenset({by_algorithm, around}), exact)
