"""Opens the table: on the embedded engine, on a DynamoDB API at a URL, or on Amazon DynamoDB."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dal.counts.mode import MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.errors import StoreFullError, StoreUnavailableError
from dal.dynamodb.table import Table, TableAddress, connect
from dal.entities import INDEXES
from dal.maintenance.tables import create_table
from dal.table.definition import refuse_outdated
from dal.table.errors import StoreRefusedError
from server.errors import UNAVAILABLE, CommandError
from server.local_engine.data_directory import DataDirectory
from server.settings import Settings

if TYPE_CHECKING:
    from dal.stores import Stores

logger = logging.getLogger(__name__)

_COPIED = (
    "This table is a copy of another table, for example a restored backup. Its statistics may be "
    "wrong: run `marginalia stats rebuild`. A copy also lacks the setting that deletes expired "
    "items: check it with `marginalia table describe`."
)


@dataclass(frozen=True, slots=True)
class Store:
    """An open table, and facts about its store that servers and long commands need."""

    table: Table
    connection: TableAddress
    place: str
    """The location of the table in messages."""
    died: asyncio.Future[str]
    """A future. Its result is a message if the engine has ended and is not restarted. If the table
    is not on the embedded engine, the future never has a result."""
    created: bool = False
    """Whether the table was missing and has just been created."""
    alone: bool = False
    """Whether this command runs the engine itself. If so, no other process uses the table."""
    directory: DataDirectory | None = None
    """The embedded engine's data directory, or None if the table is on another store."""
    engine_restarts: Sequence[float] = ()
    """The times at which the embedded engine started again. The sequence grows."""

    @property
    def stores(self) -> "Stores":
        """The repositories of the table, new at each access."""
        from dal.stores import Stores  # noqa: PLC0415 - some commands use only the table

        return Stores(self.table)


@asynccontextmanager
async def open_table(
    settings: Settings, *, share: bool, create: bool | None = None
) -> AsyncIterator[Table]:
    """Open the table. On the embedded engine, a server creates a missing table.

    A command sets ``share``, to use the engine of a running server if there is one. It creates a
    missing table only if it also sets ``create``. If every command created the table, a command
    with a wrong directory or table name would succeed on an empty table. On other stores, this
    function creates no table. Raises DalError, and the errors of ``embedded_engine``.
    """
    async with open_store(settings, share=share, create=create) as store:
        yield store.table


@asynccontextmanager
async def open_store(
    settings: Settings, *, share: bool, create: bool | None = None, usable: bool = True
) -> AsyncIterator[Store]:
    """Open the store. The arguments ``share`` and ``create`` are the same as in ``open_table``.

    With ``usable``, raise a DalError if the table is missing or lacks indexes, and log a warning if
    the table is a copy.
    """
    create = not share if create is None else create
    opened = (
        _embedded(settings, share=share, create=create) if settings.embedded else _remote(settings)
    )
    async with opened as store:
        if usable:
            refuse_outdated(await admin.describe(store.table), INDEXES)
            if (await MaintenanceStore(store.table).read()).copied:
                # The message asks the operator to check the expiry of items, because the server may
                # lack the permission to check it.
                logger.warning("%s", _COPIED)
        yield store


@asynccontextmanager
async def _embedded(settings: Settings, *, share: bool, create: bool) -> AsyncIterator[Store]:
    # A server with another store needs neither SQLite nor psutil, which this module imports.
    from server.local_engine.engine import embedded_engine  # noqa: PLC0415

    directory = DataDirectory(settings.data_dir)
    async with embedded_engine(settings.data_dir, share=share, create=create) as engine:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - async code runs in a task
        if share:  # If the engine ends, cancel the command, which would otherwise wait forever.
            engine.died.add_done_callback(lambda _: task.cancel())
        connection = TableAddress(settings.table, engine.endpoint_url, embedded=True)
        try:
            async with connect(connection) as table:
                created = create and await create_table(table)
                if create:
                    directory.begin()
                place = f"{directory.database}, table {settings.table}"
                yield Store(
                    table,
                    connection,
                    place,
                    engine.died,
                    created=created,
                    alone=engine.own,
                    directory=directory,
                    engine_restarts=engine.restarts,
                )
        except (StoreFullError, StoreRefusedError, StoreUnavailableError):
            # If the disk is full, raise DiskFullError, because the engine's error does not say so.
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
