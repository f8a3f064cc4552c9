"""Checks of a page's rows and their order, against the whole list."""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence

from tools.conformance import specification
from tools.conformance.algorithm import Ask, edges_to_return
from tools.conformance.check import Finding, Level, Need, check
from tools.conformance.endpoint import Request
from tools.conformance.listing import Page
from tools.conformance.session import Session

FEW = 3
"""Rows of a compared page."""


@check(
    Level.MUST,
    specification.FORWARD_ARGUMENTS,
    "Following endCursor with first and after returns the whole list, with pages of any size.",
    Need.READABLE,
    Need.FORWARD,
)
async def forward_walk(session: Session) -> AsyncGenerator[Finding]:
    """Page through the list with two page sizes, and compare the rows."""
    async for finding in _walk(session, backward=False):
        yield finding


@check(
    Level.MUST,
    specification.EDGE_ORDER,
    "Following startCursor with last and before returns the same list in the same order.",
    Need.READABLE,
    Need.BACKWARD,
)
async def backward_walk(session: Session) -> AsyncGenerator[Finding]:
    """Page from the end with two page sizes, and compare the rows."""
    async for finding in _walk(session, backward=True):
        yield finding


async def _walk(session: Session, *, backward: bool) -> AsyncGenerator[Finding]:
    if session.fault is not None:
        if backward == session.reads_backward:
            yield session.fault
        else:
            await session.listing.walk(session.page_size, backward=backward)
        return
    smaller = max(1, min(session.page_size * 2 // 3, len(session.rows) // 3))
    for size in (session.page_size, smaller):
        walked = await session.listing.walk(size, backward=backward)
        named = "last" if backward else "first"
        where = f"Pages of {named}: {size} return another list"
        request = session.listing.request(**{named: size})
        for finding in difference(session.keys, [edge.key for edge in walked], where, request):
            yield finding


@check(
    Level.MUST,
    specification.CURSOR,
    "Every edge has a cursor, and no two edges have the same.",
    Need.READABLE,
    Need.ROWS,
)
async def cursor_per_edge(session: Session) -> AsyncGenerator[Finding]:
    """Collect the cursors of the whole list."""
    count = Counter(edge.cursor for edge in session.rows)
    if None in count:
        yield Finding(f"{count[None]} edges have a cursor that is null or not a string.")
    shared = [cursor for cursor, times in count.items() if times > 1 and cursor is not None]
    if shared:
        yield Finding(f"{count[shared[0]]} edges have the cursor {shared[0]}.")


@check(
    Level.MUST,
    specification.EDGE_ORDER,
    "first and after return the rows that follow the cursor's row, in list order.",
    Need.FORWARD,
    Need.ROWS,
)
async def after_cursor(session: Session) -> AsyncGenerator[Finding]:
    """Request pages after rows from all parts of the list."""
    async for finding in _compared(session, forward_asks(session)):
        yield finding


@check(
    Level.MUST,
    specification.EDGE_ORDER,
    "last and before return the rows that precede the cursor's row, in list order.",
    Need.BACKWARD,
    Need.ROWS,
)
async def before_cursor(session: Session) -> AsyncGenerator[Finding]:
    """Request pages before rows from all parts of the list."""
    async for finding in _compared(session, backward_asks(session)):
        yield finding


@check(
    Level.MUST,
    specification.APPLY_CURSORS,
    "after and before together, with first or with last, return the rows between both cursors.",
    Need.FORWARD,
    Need.BACKWARD,
    Need.ROWS,
)
async def between_cursors(session: Session) -> AsyncGenerator[Finding]:
    """Request pages between near and distant rows, and with the other direction's cursor only."""
    async for finding in _compared(session, between_asks(session)):
        yield finding


@check(
    Level.MUST,
    specification.EDGES_TO_RETURN,
    "first and last together follow the algorithm, or are refused.",
    Need.FORWARD,
    Need.BACKWARD,
    Need.ROWS,
)
async def first_and_last(session: Session) -> AsyncGenerator[Finding]:
    """Send both sizes: first the larger, then last the larger."""
    for ask in (Ask(first=3, last=2), Ask(first=2, last=3)):
        page = await session.listing.attempt(**ask.arguments(session.rows))
        if not page.refused:
            for finding in _rows(session, ask, page):
                yield finding


@check(
    Level.SHOULD,
    specification.EDGES_TO_RETURN,
    "A null argument counts as not given: Relay sends all four arguments.",
    Need.ROWS,
)
async def null_arguments(session: Session) -> AsyncGenerator[Finding]:
    """Request the first page with null in the other arguments."""
    size = "first" if session.shape.forward else "last"
    taken = [
        name for name in ("first", "after", "last", "before") if name in session.shape.field.args
    ]
    page = await session.listing.page(**dict.fromkeys(taken) | {size: FEW})
    ask = Ask(first=FEW) if size == "first" else Ask(last=FEW)
    for finding in _rows(session, ask, page):
        yield finding


def asks(session: Session) -> Iterator[Ask]:
    """Yield the pages of the checks, in the directions that the field supports."""
    if session.shape.forward:
        yield from forward_asks(session)
    if session.shape.backward:
        yield from backward_asks(session)
    if session.shape.forward and session.shape.backward:
        yield from between_asks(session)


def forward_asks(session: Session) -> Iterator[Ask]:
    """Yield pages from the start and after rows. One ends exactly at the list's end."""
    yield Ask(first=FEW)
    yield from (Ask(first=FEW, after=place) for place in session.places)
    yield Ask(first=2, after=len(session.rows) - 3)


def backward_asks(session: Session) -> Iterator[Ask]:
    """Yield pages from the end and before rows. One begins exactly at the list's start."""
    yield Ask(last=FEW)
    yield from (Ask(last=FEW, before=place) for place in session.places)
    yield Ask(last=2, before=2)


def between_asks(session: Session) -> Iterator[Ask]:
    """Yield pages between two rows that are distant, near, or adjacent."""
    end = len(session.rows) - 1
    for after, before in ((0, end), (0, end // 2), (end // 2, end), (0, 1)):
        yield Ask(first=2, after=after, before=before)
        yield Ask(last=2, after=after, before=before)
    yield Ask(first=2, before=end)
    yield Ask(last=2, after=0)


def difference(
    expected: Sequence[str], got: Sequence[str], where: str, request: Request
) -> Iterator[Finding]:
    """Yield the differences between two lists of rows. ``request`` is the first of the walk."""
    if list(expected) == list(got):
        return
    extra, missing = Counter(got) - Counter(expected), Counter(expected) - Counter(got)
    if missing:
        yield Finding(f"{where}: {_rows_of(missing)} missing.", request)
    if extra:
        yield Finding(f"{where}: {_rows_of(extra)} too many.", request)
    if not missing and not extra:
        at = next(place for place, key in enumerate(got) if key != expected[place])
        yield Finding(f"{where}: the order differs from row {at + 1} on.", request)


def _rows_of(rows: Counter[str]) -> str:
    count = rows.total()
    example = next(iter(rows))
    return f"{count} row{'s are' if count > 1 else ' is'} ({example})"


async def _compared(session: Session, wanted: Iterator[Ask]) -> AsyncGenerator[Finding]:
    for ask in wanted:
        for finding in _rows(session, ask, await session.ask(ask)):
            yield finding


def _rows(session: Session, ask: Ask, page: Page) -> Iterator[Finding]:
    keys = session.keys
    places = edges_to_return(ask, len(keys))
    expected = keys[places.start : places.stop]
    if page.keys != expected:
        yield Finding(
            f"The page should have {_span(places)} of the list's {len(keys)} rows.",
            page.request,
            expected=_shown(expected),
            got=_shown(page.keys),
        )


def _span(places: range) -> str:
    if not places:
        return "none"
    return f"rows {places.start + 1} to {places.stop}"


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
