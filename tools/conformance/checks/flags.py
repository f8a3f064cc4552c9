"""Checks of ``pageInfo``: the flags, and the cursors of a page's ends."""

from collections.abc import AsyncGenerator, AsyncIterator

from tools.conformance.algorithm import Flag, flags
from tools.conformance.check import Finding, Level, Need, check
from tools.conformance.checks.pages import asks
from tools.conformance.listing import Page
from tools.conformance.session import Session


@check(Level.MUST, "connections.htm#HasNextPage()", Need.ROWS)
async def has_next(session: Session) -> AsyncGenerator[Finding]:
    """With first, hasNextPage is true if rows follow the page, and false otherwise.

    Without first, hasNextPage is false if no rows follow the page.
    """
    async for page, rules in _pages(session):
        rule = rules["hasNextPage"]
        if page.info.get("hasNextPage") not in rule.allowed:
            yield _wrong("hasNextPage", page, expected=rule.allowed == {True})


@check(Level.MUST, "connections.htm#HasPreviousPage()", Need.ROWS)
async def has_previous(session: Session) -> AsyncGenerator[Finding]:
    """With last, hasPreviousPage is true if rows precede the page, and false otherwise.

    Without last, hasPreviousPage is false if no rows precede the page.
    """
    async for page, rules in _pages(session):
        rule = rules["hasPreviousPage"]
        if page.info.get("hasPreviousPage") not in rule.allowed:
            yield _wrong("hasPreviousPage", page, expected=rule.allowed == {True})


@check(Level.SHOULD, "connections.htm#HasPreviousPage()", Need.ROWS)
async def exact_flags(session: Session) -> AsyncGenerator[Finding]:
    """If rows follow the page, hasNextPage is true. If rows precede it, hasPreviousPage is true.

    This applies even where the specification also allows false.
    """
    async for page, rules in _pages(session):
        for name, rule in rules.items():
            got = page.info.get(name)
            if rule.exact is not None and got in rule.allowed and got != rule.exact:
                yield _wrong(name, page, expected=rule.exact)


@check(Level.MUST, "connections.htm#sec-undefined.PageInfo.Fields", Need.ROWS)
async def page_cursors(session: Session) -> AsyncGenerator[Finding]:
    """The page's startCursor and endCursor are the cursors of its first and last edge."""
    async for page, _ in _pages(session):
        ends = (("startCursor", 0), ("endCursor", -1)) if page.edges else ()
        for name, place in ends:
            edge = page.edges[place]
            if page.info.get(name) != edge.cursor:
                got = str(page.info.get(name))
                sentence = (
                    f"{name} is not the cursor of the page's {'last' if place else 'first'} edge."
                )
                yield Finding(sentence, page.request, expected=str(edge.cursor), got=got)


async def _pages(session: Session) -> AsyncIterator[tuple[Page, dict[str, Flag]]]:
    for ask in dict.fromkeys(asks(session)):
        yield await session.ask(ask), flags(ask, len(session.rows))


def _wrong(name: str, page: Page, *, expected: bool) -> Finding:
    rows = "rows" if expected else "no rows"
    beyond = "follow" if name == "hasNextPage" else "precede"
    got = str(page.info.get(name)).lower()
    sentence = f"{name} is wrong: {rows} {beyond} the page."
    return Finding(sentence, page.request, expected=str(expected).lower(), got=got)


CHECKS = (has_next, has_previous, exact_flags, page_cursors)
