"""Checks of which rows a page has, in which order, against the whole list."""

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
"""Rows of a page that is compared."""


@check(
    Level.MUST,
    specification.FORWARD_ARGUMENTS,
    "Following endCursor with first and after gives the whole list, with pages of any size.",
    Need.READABLE,
    Need.FORWARD,
)
async def forward_walk(session: Session) -> AsyncGenerator[Finding]:
    """Walk by pages of two sizes and compare the rows."""
    async for finding in _walk(session, backward=False):
        yield finding


@check(
    Level.MUST,
    specification.EDGE_ORDER,
    "Following startCursor with last and before gives the same list in the same order.",
    Need.READABLE,
    Need.BACKWARD,
)
async def backward_walk(session: Session) -> AsyncGenerator[Finding]:
    """Walk from the end, by pages of two sizes, and compare the rows."""
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
        where = f"Pages of {named}: {size} give another list"
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
    """Look through the whole list."""
    count = Counter(edge.cursor for edge in session.rows)
    if None in count:
        yield Finding(f"{count[None]} edges have a cursor that is null or no string.")
    shared = [cursor for cursor, times in count.items() if times > 1 and cursor is not None]
    if shared:
        yield Finding(f"{count[shared[0]]} edges have the cursor {shared[0]}.")


@check(
    Level.MUST,
    specification.EDGE_ORDER,
    "first and after give the rows right after the cursor's, the closest first.",
    Need.FORWARD,
    Need.ROWS,
)
async def after_cursor(session: Session) -> AsyncGenerator[Finding]:
    """Ask after rows from all over the list."""
    async for finding in _compared(session, forward_asks(session)):
        yield finding


@check(
    Level.MUST,
    specification.EDGE_ORDER,
    "last and before give the rows right before the cursor's, the closest last.",
    Need.BACKWARD,
    Need.ROWS,
)
async def before_cursor(session: Session) -> AsyncGenerator[Finding]:
    """Ask before rows from all over the list."""
    async for finding in _compared(session, backward_asks(session)):
        yield finding


@check(
    Level.MUST,
    specification.APPLY_CURSORS,
    "after and before together, with first or with last, give the rows between both cursors.",
    Need.FORWARD,
    Need.BACKWARD,
    Need.ROWS,
)
async def between_cursors(session: Session) -> AsyncGenerator[Finding]:
    """Ask between rows near and far, with one cursor of the other direction too."""
    async for finding in _compared(session, between_asks(session)):
        yield finding


@check(
    Level.MUST,
    specification.EDGES_TO_RETURN,
    "first and last together are answered by the algorithm, or refused.",
    Need.FORWARD,
    Need.BACKWARD,
    Need.ROWS,
)
async def first_and_last(session: Session) -> AsyncGenerator[Finding]:
    """Ask for both, either being the larger."""
    for ask in (Ask(first=3, last=2), Ask(first=2, last=3)):
        page = await session.listing.attempt(**ask.arguments(session.rows))
        if not page.refused:
            for finding in _rows(session, ask, page):
                yield finding


@check(
    Level.SHOULD,
    specification.EDGES_TO_RETURN,
    "Arguments that are null are as if they were not given: Relay sends all four.",
    Need.ROWS,
)
async def null_arguments(session: Session) -> AsyncGenerator[Finding]:
    """Ask for the first page with null in the other arguments."""
    size = "first" if session.shape.forward else "last"
    taken = [
        name for name in ("first", "after", "last", "before") if name in session.shape.field.args
    ]
    page = await session.listing.page(**dict.fromkeys(taken) | {size: FEW})
    ask = Ask(first=FEW) if size == "first" else Ask(last=FEW)
    for finding in _rows(session, ask, page):
        yield finding


def asks(session: Session) -> Iterator[Ask]:
    """Yield all that the checks of pages ask for, as far as the field takes it."""
    if session.shape.forward:
        yield from forward_asks(session)
    if session.shape.backward:
        yield from backward_asks(session)
    if session.shape.forward and session.shape.backward:
        yield from between_asks(session)


def forward_asks(session: Session) -> Iterator[Ask]:
    """Yield pages from the beginning and after rows; some just reach the end."""
    yield Ask(first=FEW)
    yield from (Ask(first=FEW, after=place) for place in session.places)
    yield Ask(first=2, after=len(session.rows) - 3)


def backward_asks(session: Session) -> Iterator[Ask]:
    """Yield pages from the end and before rows; some just reach the beginning."""
    yield Ask(last=FEW)
    yield from (Ask(last=FEW, before=place) for place in session.places)
    yield Ask(last=2, before=2)


def between_asks(session: Session) -> Iterator[Ask]:
    """Yield pages between two rows: far from each other, near, and next to each other."""
    end = len(session.rows) - 1
    for after, before in ((0, end), (0, end // 2), (end // 2, end), (0, 1)):
        yield Ask(first=2, after=after, before=before)
        yield Ask(last=2, after=after, before=before)
    yield Ask(first=2, before=end)
    yield Ask(last=2, after=0)


def difference(
    expected: Sequence[str], got: Sequence[str], where: str, request: Request
) -> Iterator[Finding]:
    """Yield what the second list of rows has otherwise than the first; ``request`` begins it."""
    if list(expected) == list(got):
        return
    extra, missing = Counter(got) - Counter(expected), Counter(expected) - Counter(got)
    if missing:
        yield Finding(f"{where}: {_rows_of(missing)} missing.", request)
    if extra:
        yield Finding(f"{where}: {_rows_of(extra)} too many.", request)
    if not missing and not extra:
        at = next(place for place, key in enumerate(got) if key != expected[place])
        yield Finding(f"{where}: its order differs from row {at + 1} on.", request)


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
            f"The page has other rows than {_span(places)} of the {len(keys)} of the list.",
            page.request,
            expected=_shown(expected),
            got=_shown(page.keys),
        )


def _span(places: range) -> str:
    if not places:
        return "none"
    return f"rows {places.start + 1} to {places.stop}"


def _shown(keys: Sequence[str]) -> str:
    """Return rows by their ids, or as they are told apart where they have none."""
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
