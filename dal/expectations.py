"""Expectations: what the places of a candidate hold of a page, by counts or by memory.

Counts tell how many rows a place has: what a page spans of it is a matter of chance, and its limit
needs a margin. Where a page's rows were read before, they tell what each place holds of it and
where the page ends. The reading is bounded there, so that no row beyond it is read, and a generous
limit costs nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dal.candidates import Candidate
from dal.costs import REQUEST, ROW, Ask, Odds, best_ask, capacity, exact_capacity
from dal.filters import Kind, filters_of
from dal.plans import Profile
from dal.positions import Range
from dal.timelines import Seen


@dataclass(frozen=True, slots=True)
class Expectation:
    """What to ask the places of a candidate for, in their order."""

    asks: Sequence[Ask]
    held: Sequence[int]
    """The rows of each: all that are counted, or those that the page is remembered to span."""
    passing: float
    """The part of these rows that passes the residual."""
    span: Range
    """What to read of the places."""
    until: str | None = None
    """The position that the span was cut at."""


def by_counts(candidate: Candidate, counted: Sequence[int], profile: Profile) -> Expectation:
    """Return what to expect of a page whose rows may stand in any order among those counted."""
    held = [math.ceil(count / candidate.index.shards) for count in counted]
    total = sum(held)
    passing = (
        profile.count(candidate.query.filters) / total if candidate.residual and total else 1.0
    )
    if passing == 0:  # nothing is expected to pass: reading on is the fan-out's part
        asks = [Ask(candidate.limit, cost=math.inf, capacity=math.inf)] * len(held)
        return Expectation(asks, held, passing, candidate.span)
    passing = min(1.0, passing)
    odds = [Odds(count / total if total else 1.0, passing) for count in held]
    asks = [
        best_ask(odd, candidate.limit, profile.row_bytes, most=count)
        for odd, count in zip(odds, held, strict=True)
    ]
    return Expectation(asks, held, passing, candidate.span)


def by_memory(
    candidate: Candidate, kinds: Sequence[Kind], page: Sequence[Seen], profile: Profile
) -> Expectation:
    """Return what to expect of a page of remembered rows; fewer than a page are all there are."""
    until = page[-1].position if len(page) == candidate.limit else None
    span = (
        candidate.span
        if until is None
        else candidate.span.until(until, descending=candidate.descending)
    )
    spent = [_spent(candidate, kind, page, span, profile) for kind in kinds]
    asks = [
        Ask(rows + candidate.limit, cost=units + REQUEST + ROW * rows, capacity=units)
        for rows, units in spent
    ]
    held = [rows for rows, _ in spent]
    passing = min(1.0, max(1, len(page)) / sum(held)) if any(held) else 1.0
    return Expectation(asks, held, passing, span, until)


def _spent(
    candidate: Candidate, kind: Kind, page: Sequence[Seen], span: Range, profile: Profile
) -> tuple[int, float]:
    """Return how many rows of a kind the page spans, and the RCU of reading them.

    Rows that do not pass the residual may never have been read: they are then expected to be as
    frequent here as everywhere.
    """
    seen = profile.timeline.rows(kind, span)
    if seen is not None:
        return len(seen), exact_capacity(sum(row.size for row in seen))
    passing = sum(kind <= row.kind for row in page)
    among = profile.count({**candidate.query.filters, **filters_of(kind)})
    rows = math.ceil(passing * profile.count(filters_of(kind)) / max(1, among))
    return rows, capacity(rows, profile.row_bytes)
