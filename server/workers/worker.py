"""A worker: serves the connections that its parent accepts."""

import asyncio
import logging
import signal
import socket
import sys
from pathlib import Path

import uvloop

from dal.errors import DalError
from dal.table.client import TableAddress, connect
from server.auth.secret import secret_source
from server.brokers import open_broker
from server.errors import CommandError
from server.logs import set_up_logs
from server.observability.signals import open_signals
from server.serving import HttpServer, application
from server.settings import Settings

READY = b"ready"
"""What a worker says once it serves."""

logger = logging.getLogger(__name__)


def work(
    settings: Settings,
    address: TableAddress,
    channel: socket.socket,
    changes: socket.socket,
    metrics: Path | None,
) -> None:
    """Serve what comes by ``channel`` until SIGTERM, or until its other end is gone.

    ``changes`` carries changes of comments to the other workers, and theirs here; ``metrics`` is
    the directory to leave metrics in.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent tells us
    set_up_logs(settings.log_format)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_work(settings, address, channel, changes, metrics))
    except (CommandError, DalError) as error:
        logger.error("A worker cannot serve: %s", error)  # noqa: TRY400 - its sentence says it all
        sys.exit(1)


async def _work(
    settings: Settings,
    address: TableAddress,
    channel: socket.socket,
    changes: socket.socket,
    metrics: Path | None,
) -> None:
    lost = asyncio.Event()
    async with (
        open_signals(settings) as signals,
        connect(address) as table,
        open_broker(settings, changes, lost.set) as broker,
    ):
        secret = secret_source(settings.jwt_secret, settings.data_dir)
        app = await application(settings, table, secret, broker, signals)
        server = _WorkerServer(app, settings, "")
        ending = asyncio.create_task(_end_when(lost, server))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.end)
        try:
            async with signals.sampling(table, server, metrics):
                await server.serve(sockets=[channel])
        finally:
            ending.cancel()


async def _end_when(lost: asyncio.Event, server: HttpServer) -> None:
    """End a worker that hears of no changes any more: its parent starts another one."""
    await lost.wait()
    server.end()


class _WorkerServer(HttpServer):
    """Takes connections from a channel as from a listener, and says so to who sends them."""

    def _greet(self) -> None:
        self._listener.send(READY)

    def _next(self) -> socket.socket:
        said, descriptors, *_ = socket.recv_fds(self._listener, 1, 1)
        if not said:
            asyncio.get_running_loop().remove_reader(self._listener)
            self.end()
        if not descriptors:
            raise ConnectionAbortedError
        return socket.socket(fileno=descriptors[0])
