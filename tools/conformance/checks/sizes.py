"""Checks of unusual arguments: zero, negative, huge and missing page sizes, and invalid cursors."""

from collections.abc import AsyncGenerator, AsyncIterator

from tools.conformance.check import Finding, Level, Need, check
from tools.conformance.checks.pages import FEW
from tools.conformance.listing import Page
from tools.conformance.session import Session

HUGE = 1_000_000
NO_CURSOR = "this-is-no-cursor"


@check(Level.MUST, "connections.htm#EdgesToReturn()", Need.ROWS)
async def size_zero(session: Session) -> AsyncGenerator[Finding]:
    """A size of 0 returns a page without edges. The specification refuses only negative sizes."""
    for name, _ in session.directions:
        page = await session.listing.page(**{name: 0})
        if page.edges:
            yield Finding(f"{name}: 0 returns {len(page.edges)} edges.", page.request, "none")


@check(Level.MUST, "connections.htm#EdgesToReturn()", Need.READABLE)
async def negative_size(session: Session) -> AsyncGenerator[Finding]:
    """A negative size is refused with an error."""
    for name, _ in session.directions:
        page = await session.listing.attempt(**{name: -1})
        if not page.refused:
            got = f"{len(page.edges)} edges"
            yield Finding(f"{name}: -1 is not refused.", page.request, "an error", got)


@check(Level.MUST, "connections.htm#EdgesToReturn()", Need.ROWS)
async def huge_size(session: Session) -> AsyncGenerator[Finding]:
    """A size larger than the list returns the whole list.

    A server with a limit may refuse the size, or return fewer rows and report a further page.
    """
    for name, _ in session.directions:
        page = await session.listing.attempt(**{name: HUGE})
        if page.refused:
            continue
        keys, count = session.keys, len(page.edges)
        expected = keys[:count] if name == "first" else keys[len(keys) - count :]
        more = page.info.get("hasNextPage" if name == "first" else "hasPreviousPage")
        if page.keys != expected:
            yield Finding(f"{name}: {HUGE} does not return the list's {name} rows.", page.request)
        elif count < len(keys) and not more:
            yield Finding(
                f"{name}: {HUGE} returns {count} of {len(keys)} rows and reports no further page.",
                page.request,
            )


@check(Level.MUST, "connections.htm#EdgesToReturn()", Need.ROWS, Need.FORWARD)
async def no_size(session: Session) -> AsyncGenerator[Finding]:
    """A page without a size starts at the list's first row, or is refused."""
    page = await session.listing.attempt()
    if not page.refused and page.keys != session.keys[: len(page.edges)]:
        yield Finding(
            "The page without a size does not begin at the list's first row.", page.request
        )


@check(Level.MUST, "connections.htm#ApplyCursorsToEdges()", Need.ROWS)
async def bad_cursor(session: Session) -> AsyncGenerator[Finding]:
    """An invalid cursor is refused, or ignored as in the algorithm.

    The page must not be empty, because an empty page would look like the end of the list.
    """
    async for name, page in _bad_cursors(session):
        end, ignored = "first", session.keys[:FEW]
        if name == "before":
            end, ignored = "last", session.keys[-FEW:]
        if not page.refused and page.keys != ignored:
            yield Finding(
                f"{name}: {NO_CURSOR} returns {len(page.edges)} edges that are not the {end} of "
                "the list.",
                page.request,
                "an error",
            )


@check(Level.SHOULD, "connections.htm#ApplyCursorsToEdges()", Need.ROWS)
async def bad_cursor_refused(session: Session) -> AsyncGenerator[Finding]:
    """An invalid cursor is refused. If it were ignored, a client would read the same rows again."""
    async for name, page in _bad_cursors(session):
        if not page.refused:
            yield Finding(f"{name}: {NO_CURSOR} is not refused.", page.request, "an error")


async def _bad_cursors(session: Session) -> AsyncIterator[tuple[str, Page]]:
    for size, cursor in session.directions:
        yield cursor, await session.listing.attempt(**{size: FEW, cursor: NO_CURSOR})


CHECKS = (size_zero, negative_size, huge_size, no_size, bad_cursor, bad_cursor_refused)
