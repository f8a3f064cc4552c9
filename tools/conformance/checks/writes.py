"""Checks of pages while rows come and go: the rows that stay are shown once, in their order.

The specification's algorithm speaks of a list that stands still. Its "edges after the cursor" are
read here as those after the edge that the cursor was given with, wherever that stands by now.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from tools.conformance import specification
from tools.conformance.check import FailedError, Finding, Level, Need, check
from tools.conformance.checks.pages import FEW, difference
from tools.conformance.listing import Between, Edge
from tools.conformance.session import Session
from tools.conformance.writing import Writer

BOUNDARIES = 3
"""Pages after which something is written."""
PAGES = 6
"""Into how many a list is cut, unless they would be larger than the session's."""
WRITERS = 3
WALKS = 2
"""In each direction, while others write."""

PATIENCE = 40
PAUSE = 0.25
"""How often, and after how many seconds, a list is read again until a write shows."""


@check(
    Level.MUST,
    specification.EDGE_ORDER,
    "Rows that are inserted between two pages make no other row come twice or be left out.",
    Need.ROWS,
    Need.INSERT,
)
async def inserts_between_pages(session: Session) -> AsyncGenerator[Finding]:
    """Insert a row after each of the first pages, in both directions."""
    writer = _writer(session)

    async def insert(number: int) -> None:
        if number <= BOUNDARIES:
            await writer.insert()

    before = await session.read()
    for backward in _directions(session):
        async for finding in _walk(session, before, insert, backward=backward):
            yield finding
    await _await(session, lambda now: len(now) > len(before), "--insert")


@check(
    Level.MUST,
    specification.EDGE_ORDER,
    "Rows that are deleted between two pages make no other row be left out or come twice.",
    Need.ROWS,
    Need.DELETE,
)
async def deletes_between_pages(session: Session) -> AsyncGenerator[Finding]:
    """Delete inserted rows after each of the first pages, in both directions."""
    writer = _writer(session)
    stayed = await session.read()
    for backward in _directions(session):
        victims = [await writer.insert() for _ in range(BOUNDARIES)]
        await _await(session, lambda now: len(now) >= len(stayed) + BOUNDARIES, "--insert")

        between = partial(_delete_one, writer, victims)
        async for finding in _walk(session, stayed, between, backward=backward):
            yield finding
        for row in victims:
            await writer.delete(row)


@check(
    Level.MUST,
    specification.EDGE_ORDER,
    "Rows that come and go at any moment make no other row come twice or be left out.",
    Need.ROWS,
    Need.DELETE,
)
async def concurrent_writes(session: Session) -> AsyncGenerator[Finding]:
    """Walk several times while several clients insert and delete."""
    stayed = await session.read()
    found: list[Finding] = []
    async with _writing(_writer(session)):
        for _ in range(WALKS):
            for backward in _directions(session):
                walk = _walk(session, stayed, None, backward=backward)
                found += [finding async for finding in walk]
    for finding in found:
        yield finding


@check(
    Level.SHOULD,
    specification.APPLY_CURSORS,
    "The cursor of a row that was deleted meanwhile still gives the rows that followed it.",
    Need.ROWS,
    Need.FORWARD,
    Need.DELETE,
)
async def deleted_cursor(session: Session) -> AsyncGenerator[Finding]:
    """Insert a row, keep its cursor, delete it, and ask for the rows after it."""
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
        yield Finding("Other rows follow the deleted one's cursor.", page.request)


async def _delete_one(writer: Writer, rows: list[dict[str, Any]], _: int) -> None:
    if rows:
        await writer.delete(rows.pop())


async def _walk(
    session: Session, stayed: Sequence[Edge], between: Between | None, *, backward: bool
) -> AsyncGenerator[Finding]:
    """Walk, and compare the rows that were there before; what was written meanwhile is left out."""
    size = max(1, min(session.page_size, len(stayed) // PAGES))
    walked = await session.listing.walk(size, backward=backward, between=between)
    keys = [edge.key for edge in stayed]
    known = set(keys)
    got = [edge.key for edge in walked if edge.key in known]
    named = "last" if backward else "first"
    where = f"A walk by {named}: {size} meanwhile"
    for finding in difference(keys, got, where, session.listing.request(**{named: size})):
        yield finding


async def _await(session: Session, shows: Callable[[list[Edge]], bool], option: str) -> list[Edge]:
    """Read the list until a write shows in it; FailedError where it never does."""
    for _ in range(PATIENCE):
        now = await session.read()
        if shows(now):
            return now
        await asyncio.sleep(PAUSE)
    seconds = PATIENCE * PAUSE
    raise FailedError(
        Finding(f"What {option} did does not show in the list within {seconds:.0f} seconds.")
    )


@asynccontextmanager
async def _writing(writer: Writer) -> AsyncIterator[None]:
    """Insert and delete rows by several clients until the block ends."""
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
    assert session.writer is not None  # noqa: S101 - checks say that they need it
    return session.writer


def _directions(session: Session) -> list[bool]:
    """Return whether to walk backward, for each direction that the field takes."""
    shape = session.shape
    return [
        backward for backward in (False, True) if (shape.backward if backward else shape.forward)
    ]


CHECKS = (inserts_between_pages, deletes_between_pages, concurrent_writes, deleted_cursor)
