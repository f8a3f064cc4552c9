"""Whether the server lives, and whether it is ready: whether its store can be read and written.

Liveness is for who restarts a server, readiness for who sends it requests: a restart mends no full
disk.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dal.client.table import Table
from dal.deadline import Deadline, deadline
from dal.errors import DalError
from dal.stores import Stores
from server.engine.data_directory import DataDirectory
from server.errors import CommandError
from server.http.errors import failure

logger = logging.getLogger(__name__)

DEADLINE = 2.0
"""Seconds; a probe that waits for longer gives up anyway."""

GOOD_FOR = 5.0
"""Seconds between two looks at the store, however many probes come: each costs a write."""

_MARKER = "health"


def health_routes(table: Table, directory: DataDirectory | None) -> list[Route]:
    """Return the routes of the health checks of a table, and of the directory of its file."""
    readiness = Readiness(table, directory)

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        fault = await readiness.fault()
        return JSONResponse({"status": "ok"}) if fault is None else failure(503, fault)

    return [
        Route("/health/live", live),
        Route("/health/ready", ready),
        Route("/health", ready),
    ]


@dataclass(slots=True)
class Readiness:
    """What the last look at the store has found, for as long as that is fresh."""

    table: Table
    directory: DataDirectory | None
    _looked: float = float("-inf")
    _found: str | None = None
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def fault(self) -> str | None:
        """Return why the store cannot be used, in a sentence; None when it can."""
        clock = asyncio.get_running_loop().time
        async with self._looking:
            if clock() - self._looked >= GOOD_FOR:
                self._tell(await self._look())
                self._looked = clock()
        return self._found

    def _tell(self, found: str | None) -> None:
        if found is None and self._found is not None:
            logger.warning("The store can be used again.")
        elif found != self._found:
            logger.error("The store cannot be used: %s", found)
        self._found = found

    async def _look(self) -> str | None:
        """Write an item that says nothing, and read it: what fails there fails for others too.

        Damage is elsewhere in the file, and has shown itself to whoever read there.
        """
        if self.table.damage is not None:
            return str(self.table.damage)
        markers = Stores(self.table).markers
        try:
            if self.directory is not None:
                self.directory.check_data()
            limit = Deadline()
            limit.restart(DEADLINE)
            with deadline(limit):
                await markers.mark(_MARKER)
                await markers.marked(_MARKER)
        except (CommandError, DalError) as error:
            return str(error)
        return None
