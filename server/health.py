"""Health checks for supervisors and load balancers: liveness and readiness.

The server is live if its event loop runs. It is ready if it can also read the store. Supervisors
and load balancers that replace servers must check only liveness, because a new server would not
repair the store. If requests are throttled, if writes fail or if the disk is full, the server is
still ready, because it can serve pages. Metrics and alerts report such faults.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dal.dynamodb.deadline import deadline_in
from dal.dynamodb.errors import ThrottledError
from dal.dynamodb.table import Table
from dal.repositories.markers import MarkerRepository
from dal.table.errors import DalError
from server.errors import CommandError
from server.http.errors import failure
from server.local_engine.data_directory import DataDirectory

logger = logging.getLogger(__name__)

DEADLINE = 2.0
"""Maximum seconds for a check of the store. Many load balancers wait only a little longer."""

GOOD_FOR = 5.0
"""Seconds for which a result is cached. Without the cache, each check would read the store."""

PROBE_SECONDS = 1.0
"""Seconds between two looks at the circuit breaker."""

_MARKER = "health"


def health_routes(table: Table, directory: DataDirectory | None) -> list[Route]:
    """Return the routes of the health checks.

    ``directory`` is the data directory of the embedded engine, or None for another store.
    """
    readiness = Readiness(table, directory)

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        if await readiness.fault() is None:
            return JSONResponse({"status": "ok"})
        # The response does not contain the reason, because any client may read the response, and
        # the reason may contain paths or the AWS account.
        return failure(503, "The store cannot be used. The server's log contains the reason.")

    return [
        Route("/health/live", live),
        Route("/health/ready", ready),
        Route("/health", ready),
    ]


async def probe(table: Table) -> None:
    """Probe the store until cancelled, but only while the circuit breaker is open.

    Without these probes, the circuit of a server without requests stays open after the outage.
    """
    while True:
        await asyncio.sleep(PROBE_SECONDS)
        if table.circuit_open:
            with suppress(DalError):
                await _read_from(table)


async def _read_from(table: Table) -> None:
    """Read an item that does not exist. Raise DalError if the store fails."""
    with deadline_in(DEADLINE):
        await MarkerRepository(table).marked(_MARKER)


@dataclass(slots=True)
class Readiness:
    """Checks the store, and caches the result for ``GOOD_FOR`` seconds."""

    table: Table
    directory: DataDirectory | None
    _checked_at: float = float("-inf")
    _fault: str | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def fault(self) -> str | None:
        """Return the reason why the store cannot be used, or None if it can be used."""
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
        """Check the data file and the store.

        Return the reason why the store cannot be used, or None if it can be used.
        """
        # Report damage that an earlier request found. The read below may still succeed, because it
        # does not read the damaged part.
        if self.table.damage is not None:
            return str(self.table.damage)
        try:
            if self.directory is not None:
                self.directory.check_data()
            await _read_from(self.table)
        except ThrottledError:  # The store works, and limits the rate of requests.
            return None
        except (CommandError, DalError) as error:
            return str(error)
        return None
