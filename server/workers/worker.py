"""A worker: serves the connections that its parent accepts."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections import deque

import uvloop
from starlette.types import ASGIApp

from dal.client.table import connect
from dal.errors import DalError
from server.auth.secret import secret_source
from server.brokers import open_broker
from server.errors import CommandError
from server.logs import set_up_logs
from server.loop_watchdog import watched
from server.observability.signals import open_signals
from server.serving import HttpServer, application
from server.settings import Settings
from server.workers.channel import DRAINING, READY, STOPPING, receive, send, send_connection
from server.workers.config import WorkerConfig

_FULL_AGAIN = 0.005
"""Seconds until a parent that has taken nothing for some hundred connections is asked again."""

logger = logging.getLogger(__name__)


def run(config: WorkerConfig, channel: socket.socket) -> None:
    """Serve what comes by ``channel`` until SIGTERM, or until nothing more comes."""
    set_up_logs(config.settings.log_format)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(config, channel))
    except (CommandError, DalError) as error:
        logger.error("A worker cannot serve: %s", error)  # noqa: TRY400 - its sentence says it all
        sys.exit(1)


async def _serve(config: WorkerConfig, channel: socket.socket) -> None:
    settings = config.settings
    async with (
        open_signals(settings) as signals,
        connect(config.address) as table,
        open_broker(settings) as broker,
    ):
        secret = secret_source(settings.jwt_secret, settings.data_dir)
        async with application(settings, table, secret, broker, signals) as app:
            server = _WorkerServer(app, settings, channel)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.ask_to_drain)
            async with signals.sampling(table, server.admission):
                with watched(end=settings.ends_when_blocked):
                    await server.serve(sockets=[channel])


class _WorkerServer(HttpServer):
    """Takes connections from a channel as from a listener, and gives back those that are idle."""

    def __init__(self, app: ASGIApp, settings: Settings, channel: socket.socket) -> None:
        super().__init__(app, settings, "")
        self._channel = channel
        self._returned: deque[int] = deque()
        """Descriptors of connections to give back."""
        self._given = asyncio.Event()
        self._given.set()
        self._stopping = False
        """Whether the parent ends all workers: connections are closed then, and answers say so."""

    def ask_to_drain(self) -> None:
        """Have the parent send no more connections; the end of what it has sent ends us."""
        send(self._channel, DRAINING)

    def _greet(self) -> None:
        send(self._channel, READY)

    def _next(self) -> socket.socket:
        said, connection = receive(self._channel)
        self._stopping |= said == STOPPING
        if not said:
            asyncio.get_running_loop().remove_reader(self._channel)
            self.end()
        if connection is None:
            raise ConnectionAbortedError
        return connection

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        """End after the requests in flight, and give back the connections where others go on.

        The channel stays open: by its end our parent sees that we are gone.
        """
        if not self._stopping:
            self._connections.give_back = self._give_back
        await super().shutdown([])
        await self._given.wait()

    def _give_back(self, descriptor: int) -> None:
        self._returned.append(descriptor)
        if self._given.is_set():
            self._give()

    def _give(self) -> None:
        """Send connections to the parent, as fast as it takes them; without a parent they end."""
        self._given.clear()
        while self._returned:
            try:
                send_connection(self._channel, self._returned[0])
            except BlockingIOError:
                asyncio.get_running_loop().call_later(_FULL_AGAIN, self._give)
                return
            except OSError:
                pass
            os.close(self._returned.popleft())
        self._given.set()
