"""Checks of pages during writes: each row that exists throughout a walk is shown once, in order.

A walk reads the list page by page, from one end to the other.

The specification's algorithm assumes that the list does not change. In these checks, the "edges
after the cursor" are the edges that follow the row of the cursor at the time of the request. If
this row was deleted, they follow its former position.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from tools.conformance.check import FailedError, Finding, Level, Need, check
from tools.conformance.checks.pages import FEW, difference
from tools.conformance.listing import Between, Edge
from tools.conformance.session import Session
from tools.conformance.writing import Writer

BOUNDARIES = 3
"""Number of page boundaries of a walk at which a row is inserted or deleted."""
PAGES = 6
"""Minimum number of pages in a walk, if the list has at least this number of rows."""
WRITERS = 3
WALKS = 2
"""Walks in each direction during concurrent writes."""

PATIENCE = 40
"""Maximum number of times that a check reads the list to find a write that is not visible yet."""
PAUSE = 0.25
"""Seconds between two of these reads."""


@check(Level.MUST, "connections.htm#sec-Edge-order", Need.ROWS, Need.INSERT)
async def inserts_between_pages(session: Session) -> AsyncGenerator[Finding]:
    """If rows are inserted between two page requests, no other row is repeated or missing."""
    writer = _writer(session)

    async def insert(number: int) -> None:
        if number <= BOUNDARIES:
            await writer.insert()

    before = await session.read()
    for size, _ in session.directions:
        for finding in await _walked(session, before, size, insert):
            yield finding
    await _await(session, lambda now: len(now) > len(before), "--insert")


@check(Level.MUST, "connections.htm#sec-Edge-order", Need.ROWS, Need.DELETE)
async def deletes_between_pages(session: Session) -> AsyncGenerator[Finding]:
    """If rows are deleted between two page requests, no other row is repeated or missing."""
    writer = _writer(session)
    stayed = await session.read()
    for size, _ in session.directions:
        victims = [await writer.insert() for _ in range(BOUNDARIES)]
        await _await(session, lambda now: len(now) >= len(stayed) + BOUNDARIES, "--insert")
        for finding in await _walked(session, stayed, size, partial(_delete_one, writer, victims)):
            yield finding
        for row in victims:
            await writer.delete(row)


@check(Level.MUST, "connections.htm#sec-Edge-order", Need.ROWS, Need.DELETE)
async def concurrent_writes(session: Session) -> AsyncGenerator[Finding]:
    """If clients insert and delete rows during a walk, no other row is repeated or missing."""
    stayed = await session.read()
    found: list[Finding] = []
    async with _writing(_writer(session)):
        for size, _ in session.directions * WALKS:
            found += await _walked(session, stayed, size)
    for finding in found:
        yield finding


@check(Level.SHOULD, "connections.htm#ApplyCursorsToEdges()", Need.ROWS, Need.FORWARD, Need.DELETE)
async def deleted_cursor(session: Session) -> AsyncGenerator[Finding]:
    """After a row is deleted, its cursor still returns the rows that followed it."""
    writer = _writer(session)
    known = {edge.key for edge in await session.read()}
    row = await writer.insert()
    now = await _await(session, lambda now: any(edge.key not in known for edge in now), "--insert")
    place = next(place for place, edge in enumerate(now) if edge.key not in known)
    await writer.delete(row)
    gone = now[place].key
    await _await(session, lambda now: all(edge.key != gone for edge in now), "--delete")
    page = await session.listing.page(first=FEW, after=now[place].cursor)
    expected = [edge.key for edge in now[place + 1 : place + 1 + FEW]]
    if page.keys != expected:
        yield Finding(
            "After a row was deleted, its cursor does not return the rows that followed it.",
            page.request,
        )


async def _delete_one(writer: Writer, rows: list[dict[str, Any]], _: int) -> None:
    if rows:
        await writer.delete(rows.pop())


async def _walked(
    session: Session, stayed: Sequence[Edge], named: str, between: Between | None = None
) -> list[Finding]:
    """Page through the list, and compare its rows with ``stayed``. All other rows are ignored."""
    size = max(1, min(session.page_size, len(stayed) // PAGES))
    walked = await session.listing.walk(size, backward=named == "last", between=between)
    keys = [edge.key for edge in stayed]
    known = set(keys)
    got = [edge.key for edge in walked if edge.key in known]
    where = f"Read during writes, the pages with {named}: {size} differ from the list"
    return list(difference(keys, got, where, session.listing.request(**{named: size})))


async def _await(session: Session, shows: Callable[[list[Edge]], bool], option: str) -> list[Edge]:
    """Read the list until the write is visible. Raise FailedError if it does not become visible."""
    for _ in range(PATIENCE):
        now = await session.read()
        if shows(now):
            return now
        await asyncio.sleep(PAUSE)
    seconds = PATIENCE * PAUSE
    raise FailedError(
        f"The write of {option} is not visible in the list after {seconds:.0f} seconds."
    )


@asynccontextmanager
async def _writing(writer: Writer) -> AsyncIterator[None]:
    """Insert and delete rows with WRITERS clients until the ``with`` block ends."""
    ended = asyncio.Event()

    async def write() -> None:
        while not ended.is_set():
            await writer.delete(await writer.insert())

    clients = [asyncio.create_task(write()) for _ in range(WRITERS)]
    try:
        yield
    finally:
        ended.set()
        await asyncio.gather(*clients)


def _writer(session: Session) -> Writer:
    assert session.writer is not None  # noqa: S101 - guaranteed by Check.needs
    return session.writer


CHECKS = (inserts_between_pages, deletes_between_pages, concurrent_writes, deleted_cursor)
