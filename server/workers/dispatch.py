"""Hands connections round: those that the port accepts, and those that workers give back."""

import asyncio
import socket
from collections import deque
from contextlib import suppress

from server.serving import ACCEPT_AGAIN, ACCEPTS
from server.workers.channel import send_connection
from server.workers.fork_server import Worker

_FULL_AGAIN = 0.005
"""Seconds until workers that have taken nothing for some hundred connections are asked again."""


class Dispatcher:
    """Passes each connection to the next worker in turn that takes it."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._workers: deque[Worker] = deque()
        """The next in turn first."""
        self._waiting: deque[socket.socket] = deque()
        """Connections that no worker took yet."""
        self._later: asyncio.TimerHandle | None = None
        self._stopped = False

    def start(self) -> None:
        """Accept connections."""
        self._listener.setblocking(False)
        self._listen()

    def stop(self) -> None:
        """Accept no more, and close what no worker took or gives back."""
        self._stopped = True
        asyncio.get_running_loop().remove_reader(self._listener)
        if self._later is not None:
            self._later.cancel()
        self._workers.clear()
        while self._waiting:
            self._waiting.popleft().close()

    def add(self, worker: Worker) -> None:
        """Give a worker its share."""
        self._workers.append(worker)

    def remove(self, worker: Worker) -> None:
        """Give a worker no more."""
        with suppress(ValueError):
            self._workers.remove(worker)

    def take(self, connection: socket.socket) -> None:
        """Pass on a connection that a worker gives back."""
        if self._stopped:
            connection.close()
            return
        self._waiting.append(connection)
        if self._later is None:
            self._go_on()

    def _listen(self) -> None:
        asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _pause(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listener)
        self._later = loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        self._later = None
        if self._pass():
            self._listen()

    def _accept(self) -> None:
        for _ in range(ACCEPTS):
            try:
                self._waiting.append(self._listener.accept()[0])
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                self._pause(ACCEPT_AGAIN)
                return
            if not self._pass():
                return

    def _pass(self) -> bool:
        """Pass on what waits; where no worker takes it, do so later and return False."""
        while self._waiting:
            if not self._hand_on(self._waiting[0]):
                self._pause(_FULL_AGAIN)
                return False
            self._waiting.popleft().close()
        return True

    def _hand_on(self, connection: socket.socket) -> bool:
        for _ in range(len(self._workers)):
            channel = self._workers[0].channel
            self._workers.rotate(-1)
            with suppress(OSError):  # it has died, or took nothing for some hundred connections
                send_connection(channel, connection.fileno())
                return True
        return False
