"""Checks of a page's rows and their order, against the whole list."""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence

from tools.conformance.algorithm import Ask
from tools.conformance.check import Finding, Level, Need, check
from tools.conformance.endpoint import Request
from tools.conformance.listing import Page
from tools.conformance.session import Session

FEW = 3
"""Number of rows per page in most checks."""


@check(
    Level.MUST,
    "connections.htm#sec-Forward-pagination-arguments",
    Need.READABLE,
    Need.FORWARD,
)
async def forward_walk(session: Session) -> AsyncGenerator[Finding]:
    """Paging by first and after returns the whole list, with each of two page sizes."""
    async for finding in _walk(session, backward=False):
        yield finding


@check(Level.MUST, "connections.htm#sec-Edge-order", Need.READABLE, Need.BACKWARD)
async def backward_walk(session: Session) -> AsyncGenerator[Finding]:
    """Paging by last and before returns the same list in the same order, with both page sizes."""
    async for finding in _walk(session, backward=True):
        yield finding


async def _walk(session: Session, *, backward: bool) -> AsyncGenerator[Finding]:
    """Page through the list with two page sizes, and compare the rows.

    If the session could not read the list (``session.fault``), there are no rows to compare. The
    session reads forward if the field has ``first`` and ``after``, otherwise backward. The check of
    the direction in which the session failed yields the fault. The check of the opposite direction
    pages through the list, and yields nothing if it reaches the end.
    """
    if session.fault is not None:
        if backward != session.shape.forward:
            yield session.fault
        else:
            await session.listing.walk(session.page_size, backward=backward)
        return
    smaller = max(1, min(session.page_size * 2 // 3, len(session.rows) // 3))
    for size in (session.page_size, smaller):
        walked = await session.listing.walk(size, backward=backward)
        named = "last" if backward else "first"
        where = f"The pages with {named}: {size} differ from the list"
        request = session.listing.request(**{named: size})
        for finding in difference(session.keys, [edge.key for edge in walked], where, request):
            yield finding


@check(Level.MUST, "connections.htm#sec-Cursor", Need.READABLE, Need.ROWS)
async def cursor_per_edge(session: Session) -> AsyncGenerator[Finding]:
    """Every edge has a cursor, and no two edges have the same cursor."""
    count = Counter(edge.cursor for edge in session.rows)
    if None in count:
        yield Finding(f"{count[None]} edges have a cursor that is null or not a string.")
    shared = [cursor for cursor, times in count.items() if times > 1 and cursor is not None]
    if shared:
        yield Finding(f"{count[shared[0]]} edges have the same cursor, {shared[0]}.")


@check(Level.MUST, "connections.htm#sec-Edge-order", Need.FORWARD, Need.ROWS)
async def after_cursor(session: Session) -> AsyncGenerator[Finding]:
    """With first and after, a page has the rows that follow the cursor's row, in list order."""
    for ask in _forward(session):
        for finding in _rows(session, ask, await session.ask(ask)):
            yield finding


@check(Level.MUST, "connections.htm#sec-Edge-order", Need.BACKWARD, Need.ROWS)
async def before_cursor(session: Session) -> AsyncGenerator[Finding]:
    """With last and before, a page has the rows that precede the cursor's row, in list order."""
    for ask in _backward(session):
        for finding in _rows(session, ask, await session.ask(ask)):
            yield finding


@check(
    Level.MUST,
    "connections.htm#ApplyCursorsToEdges()",
    Need.FORWARD,
    Need.BACKWARD,
    Need.ROWS,
)
async def between_cursors(session: Session) -> AsyncGenerator[Finding]:
    """With after and before, a page has the first or last rows between the two cursors."""
    for ask in _between(session):
        for finding in _rows(session, ask, await session.ask(ask)):
            yield finding


@check(Level.MUST, "connections.htm#EdgesToReturn()", Need.FORWARD, Need.BACKWARD, Need.ROWS)
async def first_and_last(session: Session) -> AsyncGenerator[Finding]:
    """With first and last together, the server follows EdgesToReturn or refuses the request."""
    for ask in (Ask(first=3, last=2), Ask(first=2, last=3)):
        page = await session.listing.attempt(**ask.arguments(session.rows))
        if not page.refused:
            for finding in _rows(session, ask, page):
                yield finding


@check(Level.SHOULD, "connections.htm#EdgesToReturn()", Need.ROWS)
async def null_arguments(session: Session) -> AsyncGenerator[Finding]:
    """A null argument counts as not given: Relay's client sends null for each unused argument."""
    size = "first" if session.shape.forward else "last"
    taken = [name for direction in session.directions for name in direction]
    page = await session.listing.page(**dict.fromkeys(taken) | {size: FEW})
    for finding in _rows(session, Ask(**{size: FEW}), page):
        yield finding


def asks(session: Session) -> list[Ask]:
    """Return the pages that the checks request, in the directions that the field supports."""
    forward = _forward(session) if session.shape.forward else []
    backward = _backward(session) if session.shape.backward else []
    return [*forward, *backward, *(_between(session) if forward and backward else [])]


def _forward(session: Session) -> list[Ask]:
    """Return pages from the list's start, and after some rows. One page ends at the list's end."""
    after = [Ask(first=FEW, after=place) for place in session.places]
    return [Ask(first=FEW), *after, Ask(first=2, after=len(session.rows) - 3)]


def _backward(session: Session) -> list[Ask]:
    """Return pages from the list's end, and before some rows.

    One page begins at the list's start.
    """
    before = [Ask(last=FEW, before=place) for place in session.places]
    return [Ask(last=FEW), *before, Ask(last=2, before=2)]


def _between(session: Session) -> list[Ask]:
    """Return pages between two rows that are far apart or adjacent.

    Two more pages have one cursor: a page by ``first`` and ``before``, and a page by ``last`` and
    ``after``.
    """
    end = len(session.rows) - 1
    pairs = ((0, end), (0, end // 2), (end // 2, end), (0, 1))
    between = [
        Ask(**{size: 2}, after=after, before=before)
        for after, before in pairs
        for size in ("first", "last")
    ]
    return [*between, Ask(first=2, before=end), Ask(last=2, after=0)]


def difference(
    expected: Sequence[str], got: Sequence[str], where: str, request: Request
) -> Iterator[Finding]:
    """Yield the differences between the expected rows and the rows that a walk returned.

    ``where`` is the beginning of each finding's sentence. ``request`` is the walk's first request.
    """
    if list(expected) == list(got):
        return
    extra, missing = Counter(got) - Counter(expected), Counter(expected) - Counter(got)
    for rows, wrong in ((missing, "missing"), (extra, "too many")):
        if rows:
            are = "rows are" if rows.total() > 1 else "row is"
            yield Finding(f"{where}: {rows.total()} {are} {wrong} ({next(iter(rows))}).", request)
    if not missing and not extra:
        at = next(place for place, key in enumerate(got) if key != expected[place])
        yield Finding(f"{where}: the order differs from row {at + 1} on.", request)


def _rows(session: Session, ask: Ask, page: Page) -> Iterator[Finding]:
    keys = session.keys
    places = ask.edges_to_return(len(keys))
    expected = keys[places.start : places.stop]
    if page.keys != expected:
        span = f"rows {places.start + 1} to {places.stop}" if places else "none"
        yield Finding(
            f"The page should have {span} of the list's {len(keys)} rows.",
            page.request,
            expected=_shown(expected),
            got=_shown(page.keys),
        )


def _shown(keys: Sequence[str]) -> str:
    """Return rows by their ids, or by their keys if they have no ids."""
    nodes = [json.loads(key) for key in keys]
    return json.dumps([node.get("id", node) if isinstance(node, dict) else node for node in nodes])


CHECKS = (
    forward_walk,
    backward_walk,
    cursor_per_edge,
    after_cursor,
    before_cursor,
    between_cursors,
    first_and_last,
    null_arguments,
)
