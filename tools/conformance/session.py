"""One run against one connection: the list as it was read, and the places that are tried."""

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
"""Rows without which most checks show nothing."""
RANDOM_PLACES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is checked, and how far."""

    connection: str
    insert: str | None = None
    delete: str | None = None
    page_size: int = PAGE_SIZE
    """Rows of a page while the list is read: the server must allow as many."""
    most: int = MOST
    """Rows of the longest list that is read."""


@dataclass(slots=True)
class Session:
    """What checks ask: the listing, its rows, and a writer where there is one."""

    listing: Listing
    page_size: int
    writer: Writer | None = None
    rows: Sequence[Edge] = ()
    """All rows in list order, as they were when the session began."""
    fault: Finding | None = None
    """Why the list could not be read to its end."""
    lacks: Sequence[Need] = ()
    """What checks would need and there is not."""
    _pages: dict[Ask, Page] = field(default_factory=dict)
    """As many as checks ask for: some dozens."""

    @property
    def shape(self) -> Shape:
        """What the schema says."""
        return self.listing.shape

    @property
    def reads_backward(self) -> bool:
        """Whether whole lists are read from their end, for want of ``first`` and ``after``."""
        return not self.shape.forward

    @property
    def keys(self) -> list[str]:
        """The rows as they are told apart."""
        return [edge.key for edge in self.rows]

    @property
    def places(self) -> list[int]:
        """Places in the list: its ends, around a page's end, and some in between."""
        length = len(self.rows)
        chosen = {0, 1, self.page_size - 1, self.page_size, length // 2, length - 2, length - 1}
        dice = random.Random(length)  # noqa: S311 - the same places for the same list
        chosen |= {dice.randrange(length) for _ in range(RANDOM_PLACES)}
        return sorted(place for place in chosen if 0 <= place < length)

    @property
    def ids(self) -> list[str]:
        """Ids of rows from all over the list."""
        found = (json.loads(self.rows[place].key) for place in self.places)
        return list(dict.fromkeys(node["id"] for node in found if node))

    async def ask(self, ask: Ask) -> Page:
        """Return a page of the list as it was read; each is asked for once."""
        if ask not in self._pages:
            self._pages[ask] = await self.listing.page(**ask.arguments(self.rows))
        return self._pages[ask]

    async def read(self) -> list[Edge]:
        """Return all rows as they are now."""
        return await self.listing.walk(self.page_size, backward=self.reads_backward)

    async def renew(self) -> None:
        """Delete what is left of inserted rows, and begin anew with the rows that there are.

        So checks may run in any order.
        """
        with suppress(FailedError):
            if self.writer is not None:
                await self.writer.clear()
            self.rows = await self.read()
        self._pages.clear()

    async def changed(self) -> bool:
        """Return whether the list is another than it was when the session began."""
        return [edge.key for edge in await self.read()] != self.keys


@asynccontextmanager
async def open_session(endpoint: Endpoint, options: Options) -> AsyncIterator[Session]:
    """Introspect, and read the list; at the end delete what the checks have inserted."""
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
            raise ConformanceError("--delete deletes what --insert inserts: give both.")
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
            f"The list has {len(session.rows)} rows, and with fewer than {FEWEST} most checks show "
            "nothing: choose another in --connection, or add some."
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
