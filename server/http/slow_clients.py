"""Disconnects clients that read too slowly."""

from asyncio import AbstractEventLoop, TimerHandle, Transport

from dal.limits import MIN_TAKEN, SEND_TIMEOUT


class UnreadTimer:
    """Aborts a connection when its client reads next to nothing."""

    def __init__(self, loop: AbstractEventLoop, transport: Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._unread = 0
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        """The write buffer is full: after ``SEND_TIMEOUT`` check how much the client has read."""
        self._unread = self._transport.get_write_buffer_size()
        self._timer = self._loop.call_later(SEND_TIMEOUT, self._look)

    def stop(self) -> None:
        """Stop the timer: the write buffer has room again, or the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        if self._unread - self._transport.get_write_buffer_size() < MIN_TAKEN:
            self._transport.abort()
        else:
            self.start()
