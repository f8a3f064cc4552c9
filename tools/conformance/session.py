"""A session with one connection: its schema, the whole list, and the positions to test."""

import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tools.conformance.algorithm import Ask
from tools.conformance.check import FailedError, Finding, Need
from tools.conformance.endpoint import ConformanceError, Endpoint
from tools.conformance.listing import Edge, Listing, Page
from tools.conformance.shape import Shape, introspected, read_schema, suggestions
from tools.conformance.target import parse_target
from tools.conformance.writing import Writer, parse_mutation

PAGE_SIZE = 20
MOST = 5_000
FEWEST = 3
"""Minimum number of rows for most checks."""
RANDOM_PLACES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The connection to check, the mutations of its rows, and limits."""

    connection: str
    insert: str | None = None
    delete: str | None = None
    page_size: int = PAGE_SIZE
    """Rows per page when reading the whole list; the server must allow this size."""
    most: int = MOST
    """Maximum number of rows in the list."""


@dataclass(slots=True)
class Session:
    """The input of checks: the listing, its rows, and a writer if mutations are given."""

    listing: Listing
    page_size: int
    writer: Writer | None = None
    rows: Sequence[Edge] = ()
    """All rows in list order, as read at the start of the session."""
    fault: Finding | None = None
    """The reason why the whole list could not be read."""
    lacks: Sequence[Need] = ()
    """Requirements of checks that are not met."""
    _pages: dict[Ask, Page] = field(default_factory=dict)
    """A cache of some dozens of pages: checks request the same ones."""

    @property
    def shape(self) -> Shape:
        """The connection's types and arguments."""
        return self.listing.shape

    @property
    def reads_backward(self) -> bool:
        """Whether whole lists are read from the end: the field has no ``first`` and ``after``."""
        return not self.shape.forward

    @property
    def keys(self) -> list[str]:
        """The keys of the rows, in list order."""
        return [edge.key for edge in self.rows]

    @property
    def places(self) -> list[int]:
        """Positions to test: the list's ends, around a page's end, and some in between."""
        length = len(self.rows)
        chosen = {0, 1, self.page_size - 1, self.page_size, length // 2, length - 2, length - 1}
        dice = random.Random(length)  # noqa: S311 - the same places for the same list
        chosen |= {dice.randrange(length) for _ in range(RANDOM_PLACES)}
        return sorted(place for place in chosen if 0 <= place < length)

    @property
    def ids(self) -> list[str]:
        """Ids of rows from all parts of the list."""
        found = (json.loads(self.rows[place].key) for place in self.places)
        return list(dict.fromkeys(node["id"] for node in found if node))

    async def ask(self, ask: Ask) -> Page:
        """Return a page of the list; each page is requested once."""
        if ask not in self._pages:
            self._pages[ask] = await self.listing.page(**ask.arguments(self.rows))
        return self._pages[ask]

    async def read(self) -> list[Edge]:
        """Return all current rows."""
        return await self.listing.walk(self.page_size, backward=self.reads_backward)

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
async def open_session(endpoint: Endpoint, options: Options) -> AsyncIterator[Session]:
    """Read the schema and the list; at the end delete the rows that the checks inserted."""
    target = parse_target(options.connection)
    writer = _writer(endpoint, options)
    shape = await introspected(endpoint, target)
    listing = Listing(endpoint, target, shape, options.most)
    if shape.readable and (faults := listing.faults()):
        raise ConformanceError(f"--connection: {faults[0]}")
    session = Session(listing, options.page_size, writer)
    await _read(session)
    try:
        session.lacks = _lacks(session)
        yield session
    finally:
        if writer is not None:
            await writer.clear()


async def connections(endpoint: Endpoint) -> list[str]:
    """Return paths of the server's connections, as ``--connection`` takes them."""
    return suggestions(await read_schema(endpoint))


def _writer(endpoint: Endpoint, options: Options) -> Writer | None:
    if options.insert is None:
        if options.delete is not None:
            raise ConformanceError("--delete deletes the rows of --insert: give both.")
        return None
    delete = None if options.delete is None else parse_mutation("--delete", options.delete)
    return Writer(endpoint, parse_mutation("--insert", options.insert), delete)


async def _read(session: Session) -> None:
    shape = session.shape
    if not shape.readable or not (shape.forward or shape.backward):
        return
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
    shape = session.shape
    nodes = shape.schema.query_type and "nodes" in shape.schema.query_type.fields
    there = {
        Need.READABLE: shape.readable,
        Need.FORWARD: shape.forward,
        Need.BACKWARD: shape.backward,
        Need.ROWS: len(session.rows) >= FEWEST,
        Need.IDS: shape.refetchable,
        Need.NODES: shape.has_id and nodes,
        Need.INSERT: session.writer is not None,
        Need.DELETE: session.writer is not None and session.writer.delete_document is not None,
    }
    return [need for need, has in there.items() if not has]
