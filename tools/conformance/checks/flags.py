"""Checks of ``pageInfo``: the flags, and the cursors of a page's ends."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator

from tools.conformance import specification
from tools.conformance.algorithm import Ask, Flag, has_next_page, has_previous_page
from tools.conformance.check import Finding, Level, Need, check
from tools.conformance.checks.pages import asks
from tools.conformance.listing import Page
from tools.conformance.session import Session


@check(
    Level.MUST,
    specification.HAS_NEXT_PAGE,
    "With first, hasNextPage is true exactly if rows follow. It is never true if none do.",
    Need.ROWS,
)
async def has_next(session: Session) -> AsyncGenerator[Finding]:
    """Compare the flag with the list wherever the specification defines its value."""
    async for ask, page in _pages(session):
        rule = has_next_page(ask, len(session.rows))
        for finding in _flag("hasNextPage", rule, page.next, page):
            yield finding


@check(
    Level.MUST,
    specification.HAS_PREVIOUS_PAGE,
    "With last, hasPreviousPage is true exactly if rows precede. It is never true if none do.",
    Need.ROWS,
)
async def has_previous(session: Session) -> AsyncGenerator[Finding]:
    """Compare the flag with the list wherever the specification defines its value."""
    async for ask, page in _pages(session):
        rule = has_previous_page(ask, len(session.rows))
        for finding in _flag("hasPreviousPage", rule, page.previous, page):
            yield finding


@check(
    Level.SHOULD,
    specification.HAS_PREVIOUS_PAGE,
    "Both flags are exact in both directions, although the specification also allows false.",
    Need.ROWS,
)
async def exact_flags(session: Session) -> AsyncGenerator[Finding]:
    """Compare the flag of the direction in which the client does not page."""
    length = len(session.rows)
    async for ask, page in _pages(session):
        for name, rule, got in (
            ("hasNextPage", has_next_page(ask, length), page.next),
            ("hasPreviousPage", has_previous_page(ask, length), page.previous),
        ):
            if rule.exact is not None and got in rule.allowed and got != rule.exact:
                yield _wrong(name, rule.exact, got, page)


@check(
    Level.MUST,
    specification.PAGE_INFO_FIELDS,
    "startCursor and endCursor are the cursors of the page's first and last edge.",
    Need.ROWS,
)
async def page_cursors(session: Session) -> AsyncGenerator[Finding]:
    """Compare both cursors with the edges of each page that is not empty."""
    async for _, page in _pages(session):
        if not page.edges:
            continue
        for name, edge in (("startCursor", page.edges[0]), ("endCursor", page.edges[-1])):
            if page.info.get(name) != edge.cursor:
                yield Finding(
                    f"{name} is not the edge's cursor.",
                    page.request,
                    expected=str(edge.cursor),
                    got=str(page.info.get(name)),
                )


async def _pages(session: Session) -> AsyncIterator[tuple[Ask, Page]]:
    for ask in dict.fromkeys(asks(session)):
        yield ask, await session.ask(ask)


def _flag(name: str, rule: Flag, got: bool | None, page: Page) -> Iterator[Finding]:  # noqa: FBT001 - a flag
    if got not in rule.allowed:
        yield _wrong(name, rule.allowed == {True}, got, page)


def _wrong(name: str, expected: bool, got: bool | None, page: Page) -> Finding:  # noqa: FBT001 - flags
    rows = ("no rows", "rows")[expected]
    beyond = "follow" if name == "hasNextPage" else "precede"
    sentence = f"{name} is wrong: {rows} {beyond} the page."
    return Finding(sentence, page.request, expected=str(expected).lower(), got=str(got).lower())


CHECKS = (has_next, has_previous, exact_flags, page_cursors)
