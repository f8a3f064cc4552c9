"""Loads the demo data from its files, one for each kind, while the server answers requests."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib import resources
from typing import Any

import orjson

from dal.client.retries import Patience, patient
from dal.client.table import Table
from dal.errors import DalError
from dal.model import Comment
from dal.model.loaded import loaded
from dal.stores import Stores
from server.importer.file_kinds import FILE_KINDS, FileKindName
from server.importer.writer import Writer
from server.zstandard import zstd

logger = logging.getLogger(__name__)

COMMENTS = 5_000
"""Number of comments in the file. The progress bar needs it before the file is read."""

_MARK = "demo"
_BATCH = 250


def read_demo(kind: FileKindName) -> list[Any]:
    """Return the objects of one kind from the demo's file, parsed as ``load`` parses them."""
    file = resources.files("server.demo") / f"{kind}.jsonl.zst"
    declared = FILE_KINDS[kind]
    return [
        declared.make(
            {
                one.name: one.parse(one.name, cells[one.name])
                for one in declared.fields
                if cells.get(one.name) not in (None, "")
            }
        )
        for cells in map(orjson.loads, zstd.decompress(file.read_bytes()).splitlines())
    ]


def demo_comments() -> list[Comment]:
    """Return the comments of the demo."""
    return [loaded(row).comment for row in read_demo("comments")]


async def is_loaded(stores: Stores) -> bool:
    """Return whether all demo data was loaded into the table before."""
    return await stores.markers.marked(_MARK)


async def load_demo(stores: Stores, report: Callable[[int, int], None]) -> bool:
    """Write the demo data once per table. Return True if this call wrote it.

    ``report`` receives the number of comments that are written, and the number of all comments.
    After an interruption, the next call completes the load. Comments that users delete after the
    load stay deleted. Raises DalError.
    """
    if await is_loaded(stores):
        return False
    comments = await asyncio.to_thread(demo_comments)
    await stores.products.put_many(dict(read_demo("products")))
    report(0, len(comments))
    async with Writer(stores.comments.put_many) as writer:
        for start in range(0, len(comments), _BATCH):
            batch = comments[start : start + _BATCH]
            await writer.write({comment.comment_id: comment for comment in batch})
            report(writer.outcome.total, len(comments))
    report(len(comments), len(comments))
    await stores.boards.finish()
    await stores.users.put_profiles(dict(read_demo("profiles")))
    await stores.orders.put_many(read_demo("orders"))
    await stores.organizations.put_many(read_demo("organizations"))
    await stores.tickets.put_many(read_demo("tickets"))
    await stores.markers.mark(_MARK)
    return True


class DemoLoad:
    """Loads the demo data into a table that does not have it."""

    def __init__(self, table: Table) -> None:
        self._stores = Stores(table)
        self._progress: tuple[int, int] | None = None

    def progress(self) -> tuple[int, int] | None:
        """Return the numbers of written and of all comments; None before and after the load."""
        return self._progress

    @asynccontextmanager
    async def in_background(
        self, greeted: asyncio.Event | None = None
    ) -> AsyncIterator[asyncio.Future[None]]:
        """Yield the load, which runs while the ``with`` block runs.

        The load begins when ``greeted`` is set, after the addresses were printed: while Rich shows
        a progress bar, it breaks long lines such as the JWT. After an interruption, the next start
        completes the load.
        """
        if await is_loaded(self._stores):
            loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            loaded.set_result(None)
            yield loaded
            return
        self._progress = 0, COMMENTS

        async def load() -> None:
            if greeted is not None:
                await greeted.wait()
            await self._run()

        loading = asyncio.create_task(load())
        try:
            yield loading
        finally:
            loading.cancel()
            with suppress(asyncio.CancelledError):
                await loading

    async def _run(self) -> None:
        """Load the data, and show a progress bar. Log an error of the store."""
        from server.progress import ProgressBar  # noqa: PLC0415 - a twentieth of every start

        boards = self._stores.boards
        with ProgressBar("Demo data", COMMENTS) as bar:

            def report(written: int, total: int) -> None:
                self._progress = written, total
                bar.update(written, f"{written:,} comments")

            def waiting(seconds: float, error: DalError) -> None:
                bar.say(f"Demo data: waiting for the store for {seconds:.0f} s. {error}")

            patience = Patience(waiting)
            patience.answered = True  # the server's start has already read the table
            try:
                bar.say(f"Demo data: loading {COMMENTS:,} comments, orders and tickets.")
                with patient(patience):
                    boards.start()
                    await load_demo(self._stores, report)
                bar.say("Demo data: loaded.")
            except DalError as error:
                logger.error(  # noqa: TRY400 - the traceback adds nothing
                    "The demo data is incomplete, the next start loads the rest: %s", error
                )
            finally:
                self._progress = None
                await boards.finish()
