"""Looks once a second at what is a state, not an event: queues, connections, the circuit."""

import asyncio

from dal.table.client import Table
from server.observability.declared import (
    CIRCUIT,
    CONNECTIONS,
    LOOP_LATE,
    REFUSED,
    RUNNING,
    WAITING,
)
from server.observability.load import Loaded
from server.observability.metrics import Metrics
from server.observability.state_files import StateFiles

EVERY = 1.0
"""Seconds; who scrapes comes every few of them."""


class Sampler:
    """Sets the gauges of one process."""

    def __init__(
        self, metrics: Metrics, table: Table, server: Loaded, files: StateFiles | None = None
    ) -> None:
        self._metrics = metrics
        self._table = table
        self._server = server
        self._files = files
        self._refused = 0

    async def run(self) -> None:
        """Look again and again until cancelled, and at the end."""
        loop = asyncio.get_running_loop()
        late = 0.0
        try:
            while True:
                self._look(late)
                due = loop.time() + EVERY
                await asyncio.sleep(EVERY)
                late = max(0.0, loop.time() - due)
        finally:
            self._look(late)

    def _look(self, late: float) -> None:
        load, put = self._server.load, self._metrics.set
        put(RUNNING, load.running)
        put(WAITING, load.waiting)
        put(CONNECTIONS, load.connections)
        put(CIRCUIT, self._table.circuit_open)
        put(LOOP_LATE, late)
        self._metrics.add(REFUSED, load.refused - self._refused)
        self._refused = load.refused
        if self._files is not None:
            self._files.write(self._metrics)
