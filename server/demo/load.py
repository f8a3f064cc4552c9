"""The demo's data on its way into a table, while a server answers already."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from dal.errors import DalError
from dal.stores import Stores
from dal.table.client import Table
from server.demo import is_loaded, load_demo
from server.demo.comments import demo_size

logger = logging.getLogger(__name__)


class DemoLoad:
    """One load of the demo's data, if the table has not had it."""

    def __init__(self, table: Table) -> None:
        self._stores = Stores(table)
        self._so_far: tuple[int, int] | None = None

    def so_far(self) -> tuple[int, int] | None:
        """Return how many comments are written and of how many; None when no load is under way."""
        return self._so_far

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[None]:
        """Load while the block runs; what is not done at its end is left to the next start."""
        if await is_loaded(self._stores):
            yield
            return
        self._so_far = 0, demo_size()
        loading = asyncio.create_task(self._run())
        try:
            yield
        finally:
            loading.cancel()
            with suppress(asyncio.CancelledError):
                await loading

    async def finish(self) -> None:
        """Load before anything else happens."""
        if not await is_loaded(self._stores):
            await self._run()

    async def _run(self) -> None:
        """Load, and say how far it is; a store that fails is a line of the log."""
        from server.progress import ProgressBar  # noqa: PLC0415 - a twentieth of every start

        boards = self._stores.comments.boards
        with ProgressBar("Demo data", demo_size()) as bar:

            def tell(written: int, total: int) -> None:
                self._so_far = written, total
                bar.update(written, f"{written:,} comments")

            try:
                bar.say(f"Demo data: loading {demo_size():,} comments, orders and tickets.")
                boards.start()
                await load_demo(self._stores, tell)
                bar.say("Demo data: loaded.")
            except DalError as error:
                logger.error(  # noqa: TRY400 - its sentence says it all
                    "The demo data is not loaded, the next start goes on with it: %s", error
                )
            finally:
                self._so_far = None
                await boards.finish()
