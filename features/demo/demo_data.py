"""Loads the demo data into the table while the server answers requests."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import resources
from typing import Any

import orjson

from dal.dynamodb.retries import Patience, patient
from dal.kinds.item_kind import FileKind, ItemKind, Thing
from dal.model import Comment
from dal.table.errors import DalError
from features.loading import kind as loading
from features.loading.loaded import CommentRow, CommentState, loaded
from features.loading.writer import Writer
from features.loading.zstandard import zstd
from server.local_engine.storage import Store

logger = logging.getLogger(__name__)

COMMENTS = 5_010
"""Number of comments in the demo data, of which moderators have not published 10. The progress bar
shows the number before the file is read."""

_MARK = "demo"
_BATCH = 250
_FILES = resources.files("features.demo")


def read_demo(kind: FileKind[Thing]) -> list[Thing]:
    """Return the demo's objects of one kind, parsed in the same way as by ``marginalia load``."""
    # The import takes milliseconds, and most starts of a server find the data loaded.
    from features.loading.column_mapping import make_column_mapping  # noqa: PLC0415

    content = zstd.decompress((_FILES / f"{kind.name}.jsonl.zst").read_bytes())
    make = make_column_mapping(kind, [], []).make
    return [make(cells) for cells in map(orjson.loads, content.splitlines())]


def demo_rows() -> list[CommentRow]:
    """Return the comments of the demo in all states."""
    return read_demo(loading.COMMENTS)


def demo_comments() -> list[Comment]:
    """Return the published comments of the demo."""
    rows = map(loaded, demo_rows())
    return [
        row.comment
        for row in rows
        if row.given.get("state", CommentState.PUBLISHED) is CommentState.PUBLISHED
    ]


class DemoLoad:
    """Loads the demo data into the store of a server, in the background.

    ``kinds`` are all kinds of items. The load skips the demo's files of other kinds: they belong to
    features that this server does not have.
    """

    def __init__(self, store: Store, kinds: Sequence[ItemKind]) -> None:
        self._stores = store.stores
        self._files = [
            one.file
            for one in kinds
            if one.file is not None and (_FILES / f"{one.file.name}.jsonl.zst").is_file()
        ]
        self._progress: tuple[int, int] | None = None

    def progress(self) -> tuple[int, int] | None:
        """Return the number of written comments and the number of all comments.

        Return None if no load is waiting or running.
        """
        return self._progress

    async def is_complete(self) -> bool:
        """Return whether all demo data was once written to the table."""
        return await self._stores.markers.marked(_MARK)

    async def write(self, report: Callable[[int, int], None]) -> bool:
        """Write the demo data, but only once per table. Return True if this call has written it.

        The method calls ``report`` with the number of written comments and the number of all
        comments. If it is interrupted, the next call completes the load. If users delete comments
        after the load, the comments stay deleted. Raises DalError.
        """
        if await self.is_complete():
            return False
        stores = self._stores
        rows = await asyncio.to_thread(demo_rows)
        await self._put(loading.PRODUCTS)
        report(0, len(rows))
        async with Writer(loading.COMMENTS.put(stores)) as writer:
            for start in range(0, len(rows), _BATCH):
                batch = rows[start : start + _BATCH]
                await writer.write({loading.COMMENTS.identity(row): row for row in batch})
                report(writer.outcome.total, len(rows))
        report(len(rows), len(rows))
        for kind in self._files:
            if kind not in (loading.PRODUCTS, loading.COMMENTS):
                await self._put(kind)
        for work in stores.background:
            await work.finish()
        await stores.markers.mark(_MARK)
        return True

    async def _put(self, kind: FileKind[Any]) -> None:
        await kind.put(self._stores)(read_demo(kind))

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
        if await self.is_complete():
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

        background = self._stores.background
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
                    for work in background:
                        work.start()
                    await self.write(report)
                bar.say("Demo data: loaded.")
            except DalError as error:
                logger.error(  # noqa: TRY400 - the message needs no traceback
                    "The demo data is incomplete. The next start of the server loads the rest. %s",
                    error,
                )
            finally:
                self._progress = None
                for work in background:
                    await work.finish()
