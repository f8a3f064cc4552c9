"""Loads the demo data into the table while the server answers requests."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib import resources
from typing import Any

import orjson

from dal.composition import KINDS
from dal.dynamodb.retries import Patience, patient
from dal.dynamodb.table import Table
from dal.model import Comment
from dal.model.loaded import loaded
from dal.stores import Stores
from dal.table.errors import DalError
from features.loading.kind import files_of
from features.loading.writer import Writer
from features.loading.zstandard import zstd

logger = logging.getLogger(__name__)

COMMENTS = 5_000
"""Number of comments in the demo data. The progress bar shows it before the file is read."""

_MARK = "demo"
_BATCH = 250


def read_demo(kind: str) -> list[Any]:
    """Return the demo's objects of one kind, parsed in the same way as by ``marginalia load``."""
    file = resources.files("server.demo") / f"{kind}.jsonl.zst"
    declared = files_of(KINDS)[kind]
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
    """Return whether all demo data was once written to the table."""
    return await stores.markers.marked(_MARK)


async def load_demo(stores: Stores, report: Callable[[int, int], None]) -> bool:
    """Write the demo data, but only once per table. Return True if this call has written it.

    The function calls ``report`` with the number of written comments and the number of all
    comments. If it is interrupted, the next call completes the load. If users delete comments after
    the load, the comments stay deleted. Raises DalError.
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
    """Loads the demo data into a table in the background."""

    def __init__(self, table: Table) -> None:
        self._stores = Stores(table)
        self._progress: tuple[int, int] | None = None

    def progress(self) -> tuple[int, int] | None:
        """Return the number of written comments and the number of all comments.

        Return None if no load is waiting or running.
        """
        return self._progress

    @asynccontextmanager
    async def in_background(
        self, greeted: asyncio.Event | None = None
    ) -> AsyncIterator[asyncio.Future[None]]:
        """Load the data during the ``with`` block. Yield the future of the load.

        The load begins when ``greeted`` is set. The server sets it after it has printed its
        addresses and a JWT, because Rich would break these long lines while it shows a progress
        bar. Without ``greeted``, the load begins immediately. If the data was loaded before, the
        future is done. The end of the block cancels a running load, and the next start of the
        server completes the load.
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
        """Load the data, and show a progress bar. If the store fails, log its error."""
        from server.progress import ProgressBar  # noqa: PLC0415 - takes a twentieth of the start

        boards = self._stores.boards
        with ProgressBar("Demo data", COMMENTS) as bar:

            def report(written: int, total: int) -> None:
                self._progress = written, total
                bar.update(written, f"{written:,} comments")

            def waiting(seconds: float, error: DalError) -> None:
                bar.say(f"Demo data: the store has not responded for {seconds:.0f} s. {error}")

            patience = Patience(waiting)
            patience.answered = True  # The server has already read the table.
            try:
                bar.say(f"Demo data: loading {COMMENTS:,} comments, orders and tickets.")
                with patient(patience):
                    boards.start()
                    await load_demo(self._stores, report)
                bar.say("Demo data: loaded.")
            except DalError as error:
                logger.error(  # noqa: TRY400 - the message needs no traceback
                    "The demo data is incomplete. The next start of the server loads the rest. %s",
                    error,
                )
            finally:
                self._progress = None
                await boards.finish()
