"""Health checks: liveness, and readiness, which reads and writes the store.

A supervisor restarts a server that is not live. A load balancer sends no requests to a server that
is not ready: a restart would not help, for example, with a full disk.
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
"""Seconds for a check of the store; usual probes time out soon after."""

GOOD_FOR = 5.0
"""Seconds for which a result is kept, because each check of the store costs a write."""

_MARKER = "health"


def health_routes(table: Table, directory: DataDirectory | None) -> list[Route]:
    """Return the routes of health checks; ``directory`` has the embedded engine's file."""
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
    """The result of the last check of the store, kept for ``GOOD_FOR`` seconds."""

    table: Table
    directory: DataDirectory | None
    _checked_at: float = float("-inf")
    _fault: str | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def fault(self) -> str | None:
        """Return why the store cannot be used; None if it can."""
        clock = asyncio.get_running_loop().time
        async with self._lock:
            if clock() - self._checked_at >= GOOD_FOR:
                fault = await self._check()
                if fault is None and self._fault is not None:
                    logger.warning("The store can be used again.")
                elif fault != self._fault:
                    logger.error("The store cannot be used: %s", fault)
                self._fault, self._checked_at = fault, clock()
        return self._fault

    async def _check(self) -> str | None:
        """Write a marker and read it."""
        if self.table.damage is not None:  # damage is in other pages of the file than the marker
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
