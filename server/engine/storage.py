"""Opens a command's table: at the embedded engine, at an endpoint, or at Amazon."""

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
from server.engine.engine import embedded_engine
from server.errors import UNAVAILABLE, CommandError
from server.settings import Settings

logger = logging.getLogger(__name__)

_COPIED = (
    "This table is a copy (a restored backup, an import) of a table with statistics, and may mix "
    "states of several moments: its statistics may be wrong. Run `marginalia stats rebuild`. "
    "A copy does not have the setting of expiry: check it with `marginalia table describe`."
)


@dataclass(frozen=True, slots=True)
class Store:
    """An open table, and the facts about its store that servers and long commands need."""

    table: Table
    connection: TableAddress
    place: str
    """Where the table is, for messages."""
    died: asyncio.Future[str]
    """Gets a message when the engine has ended and cannot be restarted."""
    created: bool = False
    """Whether ``open_table`` has created the table, as a server does with the embedded engine."""
    alone: bool = False
    """Whether this command is the only user of the table, because it runs the engine itself."""
    directory: DataDirectory | None = None
    """The embedded engine's data directory."""


@asynccontextmanager
async def open_table(
    settings: Settings, *, share: bool, create: bool | None = None
) -> AsyncIterator[Table]:
    """Open the table; a server creates the embedded engine's table if it is absent.

    A command that shares the engine creates no table unless ``create`` is true: otherwise a command
    with a wrong directory or name would succeed on an empty table. ``share`` and its errors are
    those of ``embedded_engine``; raises DalError, too.
    """
    async with open_store(settings, share=share, create=create) as store:
        yield store.table


@asynccontextmanager
async def open_store(
    settings: Settings, *, share: bool, create: bool | None = None, usable: bool = True
) -> AsyncIterator[Store]:
    """Open the store as ``open_table`` does.

    If it must be ``usable``, a table that is absent or lacks an index is an error.
    """
    create = not share if create is None else create
    opened = (
        _embedded(settings, share=share, create=create) if settings.embedded else _remote(settings)
    )
    async with opened as store:
        if usable:
            refuse_outdated(await admin.describe(store.table), INDEXES)
            if (await MaintenanceStore(store.table).read()).copied:
                # A server may have no right to read the table's expiry from DynamoDB.
                logger.warning("%s", _COPIED)
        yield store


@asynccontextmanager
async def _embedded(settings: Settings, *, share: bool, create: bool) -> AsyncIterator[Store]:
    directory = DataDirectory(settings.data_dir)
    async with embedded_engine(settings.data_dir, share=share, create=create) as engine:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this runs in one
        if share:  # otherwise a command would wait for the ended engine without a limit
            engine.died.add_done_callback(lambda _: task.cancel())
        connection = TableAddress(settings.table, engine.endpoint_url, embedded=True)
        try:
            async with connect(connection) as table:
                created = create and await create_table(table)
                if create:
                    directory.begin()
                place = f"{directory.database}, table {settings.table}"
                yield Store(table, connection, place, engine.died, created, engine.own, directory)
        except (StoreFullError, StoreRefusedError, StoreUnavailableError):
            # If the disk is full, the engine answers a write with an internal error.
            directory.check_room()
            raise
        except asyncio.CancelledError:
            if share and engine.died.done():
                raise CommandError(engine.died.result(), UNAVAILABLE) from None
            raise


@asynccontextmanager
async def _remote(settings: Settings) -> AsyncIterator[Store]:
    place = f"{settings.endpoint_url or 'Amazon DynamoDB'}, table {settings.table}"
    connection = TableAddress(settings.table, settings.endpoint_url)
    async with connect(connection) as table:
        yield Store(table, connection, place, asyncio.get_running_loop().create_future())
