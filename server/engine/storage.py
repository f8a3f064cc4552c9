"""Opens the table a command works on: the embedded engine's, an endpoint's, or Amazon's."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from dal.client import admin
from dal.client.table import Table, TableAddress, connect
from dal.entities import INDEXES
from dal.errors import StoreFullError, StoreRefusedError, StoreUnavailableError
from dal.maintenance.tables import create_table
from dal.statistics.mode import MaintenanceStore
from dal.table.definition import refuse_outdated
from server.engine.data_directory import DataDirectory
from server.engine.engine import Engine, embedded_engine
from server.errors import UNAVAILABLE, CommandError
from server.settings import Settings

logger = logging.getLogger(__name__)

_COPIED = (
    "This table is a copy (a restored backup, an import) of the one whose comments were counted, "
    "and may not be of one moment: its statistics may be wrong. Run `marginalia stats rebuild`. "
    "`marginalia table describe` says whether expiry is on, which is not copied."
)


@dataclass(frozen=True, slots=True)
class Store:
    """An open table, with what a server wants to know of it."""

    table: Table
    connection: TableAddress
    place: str
    """Where the table is, in words."""
    died: asyncio.Future[str]
    """Gets a sentence when the engine is gone for good."""
    created: bool = False
    """Whether opening created it, as it does over the embedded engine."""
    alone: bool = False
    """Whether no other process can use it: the engine is a command's own."""
    directory: DataDirectory | None = None
    """Where the embedded engine keeps its file."""


@asynccontextmanager
async def open_table(settings: Settings, *, share: bool) -> AsyncIterator[Table]:
    """Open the table; the embedded engine's is created if absent.

    ``share`` as in ``embedded_engine``, whose errors it raises beside those of ``dal``.
    """
    async with open_store(settings, share=share) as store:
        yield store.table


@asynccontextmanager
async def open_store(
    settings: Settings, *, share: bool, usable: bool = True
) -> AsyncIterator[Store]:
    """Open the table as ``open_table`` does, with what a server wants to know besides.

    Unless it need not be ``usable``, a table that is absent or lacks an index is refused.
    """
    opened = _embedded(settings, share=share) if settings.embedded else _remote(settings)
    async with opened as store:
        if usable:
            refuse_outdated(await admin.describe(store.table), INDEXES)
            if (await MaintenanceStore(store.table).read()).copied:
                # A server's role may not ask whether anything expires.
                logger.warning("%s", _COPIED)
        yield store


@asynccontextmanager
async def _embedded(settings: Settings, *, share: bool) -> AsyncIterator[Store]:
    directory = DataDirectory(settings.data_dir)
    async with (
        embedded_engine(settings.data_dir, share=share) as engine,
        _while_it_lives(engine, command=share),
    ):
        connection = TableAddress(settings.table, engine.endpoint_url, embedded=True)
        try:
            async with connect(connection) as table:
                created = await create_table(table)
                directory.begin()
                place = f"{directory.database}, table {settings.table}"
                yield Store(table, connection, place, engine.died, created, engine.own, directory)
        except (StoreFullError, StoreRefusedError, StoreUnavailableError):
            # The engine answers a write to a full disk with an internal error.
            directory.check_room()
            raise


@asynccontextmanager
async def _while_it_lives(engine: Engine, *, command: bool) -> AsyncIterator[None]:
    """End a command whose engine is gone for good: it would wait for it without end."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - this runs in one
    if command:
        engine.died.add_done_callback(lambda _: task.cancel())
    try:
        yield
    except asyncio.CancelledError:
        if command and engine.died.done():
            raise CommandError(engine.died.result(), UNAVAILABLE) from None
        raise


@asynccontextmanager
async def _remote(settings: Settings) -> AsyncIterator[Store]:
    place = f"{settings.endpoint_url or 'Amazon DynamoDB'}, table {settings.table}"
    connection = TableAddress(settings.table, settings.endpoint_url)
    async with connect(connection) as table:
        yield Store(table, connection, place, asyncio.get_running_loop().create_future())
