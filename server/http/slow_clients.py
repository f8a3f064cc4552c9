"""Clients that read too slowly what is sent to them."""

from asyncio import AbstractEventLoop, TimerHandle, Transport

from dal.limits import MIN_TAKEN, SEND_TIMEOUT


class UnreadTimer:
    """Aborts a connection whose client takes next to nothing of what is sent to it."""

    def __init__(self, loop: AbstractEventLoop, transport: Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._unread = 0
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        """Look after ``SEND_TIMEOUT`` at what the client has taken: the write buffer is full."""
        self._unread = self._transport.get_write_buffer_size()
        self._timer = self._loop.call_later(SEND_TIMEOUT, self._look)

    def stop(self) -> None:
        """Wait no longer: the write buffer has room again, or the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        if self._unread - self._transport.get_write_buffer_size() < MIN_TAKEN:
            self._transport.abort()
        else:
            self.start()
