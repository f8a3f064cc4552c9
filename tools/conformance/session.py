"""A session has the input of all checks: a connection, its whole list, and positions to test."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tools.conformance.algorithm import Ask
from tools.conformance.check import FailedError, Finding, Need
from tools.conformance.endpoint import ConformanceError, Endpoint
from tools.conformance.listing import Edge, Listing, Page
from tools.conformance.shape import Shape, field_of, introspected
from tools.conformance.target import parse_target
from tools.conformance.writing import Writer, parse_mutation

PAGE_SIZE = 20
MOST = 5_000
FEWEST = 3
"""Minimum number of rows in the list. With fewer rows, no check runs."""
RANDOM_PLACES = 3


@dataclass(slots=True)
class Session:
    """The input of checks: the listing, its rows, and a writer if ``--insert`` is given."""

    listing: Listing
    page_size: int
    """Rows per page when reading the whole list; the server must allow this size."""
    writer: Writer | None = None
    rows: Sequence[Edge] = ()
    """All rows in list order, as read at the start of the session."""
    fault: Finding | None = None
    """The reason why the whole list could not be read."""
    lacks: Sequence[Need] = ()
    """The requirements of checks that the connection or the options do not fulfil."""
    _pages: dict[Ask, Page] = field(default_factory=dict)
    """A cache of some dozens of pages, because many checks request the same pages."""

    @property
    def shape(self) -> Shape:
        """The connection's types and arguments."""
        return self.listing.shape

    @property
    def keys(self) -> list[str]:
        """The keys of the rows, in list order."""
        return [edge.key for edge in self.rows]

    @property
    def places(self) -> list[int]:
        """Positions to test: the list's ends and middle, the first page's end, and random ones."""
        length = len(self.rows)
        chosen = {0, 1, self.page_size - 1, self.page_size, length // 2, length - 2, length - 1}
        dice = random.Random(length)  # noqa: S311 - the same places for the same list
        chosen |= {dice.randrange(length) for _ in range(RANDOM_PLACES)}
        return sorted(place for place in chosen if 0 <= place < length)

    @property
    def directions(self) -> list[tuple[str, str]]:
        """The names of the size and cursor arguments for each direction that the field supports."""
        forward = [("first", "after")] * self.shape.forward
        return forward + [("last", "before")] * self.shape.backward

    async def ask(self, ask: Ask) -> Page:
        """Return a page of the list.

        Each page is requested once, and then cached until ``renew``.
        """
        if ask not in self._pages:
            self._pages[ask] = await self.listing.page(**ask.arguments(self.rows))
        return self._pages[ask]

    async def read(self) -> list[Edge]:
        """Return all current rows, read from the end if the field does not take ``first``."""
        return await self.listing.walk(self.page_size, backward=not self.shape.forward)

    async def renew(self) -> None:
        """Delete the remaining inserted rows and read the list again, for the next check."""
        with suppress(FailedError):
            if self.writer is not None:
                await self.writer.clear()
            self.rows = await self.read()
        self._pages.clear()

    async def changed(self) -> bool:
        """Return whether the list has changed since the start of the session."""
        return [edge.key for edge in await self.read()] != self.keys


@asynccontextmanager
async def open_session(
    endpoint: Endpoint,
    connection: str,
    *,
    insert: str | None = None,
    delete: str | None = None,
    page_size: int = PAGE_SIZE,
    most: int = MOST,
) -> AsyncIterator[Session]:
    """Read the schema and the list. At the end, delete the rows that the checks inserted.

    Raise ConformanceError if no check can run. Without ``delete``, the inserted rows stay.
    """
    target = parse_target(connection)
    deletion = None if delete is None else parse_mutation("--delete", delete)
    if insert is None and deletion is not None:
        raise ConformanceError(
            "--delete deletes the rows that --insert inserts: give both options."
        )
    writer = None
    if insert is not None:
        writer = Writer(endpoint, parse_mutation("--insert", insert), deletion)
    shape = await introspected(endpoint, target)
    listing = Listing(endpoint, target, shape, most)
    if shape.readable and (faults := listing.faults()):
        raise ConformanceError(f"--connection: {faults[0]}")
    session = Session(listing, page_size, writer)
    if shape.readable and session.directions:
        await _read(session)
    session.lacks = _lacks(session)
    try:
        yield session
    finally:
        if writer is not None:
            await writer.clear()


async def _read(session: Session) -> None:
    try:
        session.rows = await session.read()
    except FailedError as failed:
        session.fault = failed.finding
        return
    if len(session.rows) < FEWEST:
        raise ConformanceError(
            f"The list has {len(session.rows)} rows, and most checks need at least {FEWEST}: "
            "choose another list in --connection, or add rows."
        )


def _lacks(session: Session) -> list[Need]:
    shape, query = session.shape, session.shape.schema.query_type
    has_id = field_of(shape.node, "id") is not None
    there = {
        Need.READABLE: shape.readable,
        Need.FORWARD: shape.forward,
        Need.BACKWARD: shape.backward,
        Need.ROWS: len(session.rows) >= FEWEST,
        Need.IDS: has_id and field_of(query, "node") is not None,
        Need.NODES: has_id and field_of(query, "nodes") is not None,
        Need.INSERT: session.writer is not None,
        Need.DELETE: session.writer is not None and session.writer.delete_document is not None,
    }
    return [need for need, has in there.items() if not has]
