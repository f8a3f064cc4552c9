"""The broker of several processes on one machine: sockets by way of the process that started them.

A worker sends each change as a line of JSON. Its parent gives it the next number and sends it to
all workers, so that order and numbers are given in one place: ``<number> <JSON>``. A line
``<number> <epoch>`` of two numbers begins an epoch. That is what the parent sends where a worker is
gone, which may have written what it told nobody of. A worker that has told all says so by an empty
line, and its end interrupts nobody.

What stands after the number may be another version's while workers are replaced. A worker that
cannot read it has whoever listens there reload, and goes on.

A new worker is told the latest changes of the epoch, and then an empty line: clients of others go
on at it from the last event that they saw.
"""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from live.broker import PublishingBroker
from live.changes import UNREADABLE, News, decode, encode
from live.positions import new_epoch

logger = logging.getLogger(__name__)

MAX_LINE = 1_000_000
"""Bytes of a line; the longest comment takes 60,000."""

MAX_BACKLOG = 8_000_000
"""Bytes that wait for one process: whoever takes nothing for so long is cut off."""


MAX_KEPT = 10_000
MAX_KEPT_BYTES = 4_000_000
"""Changes, and bytes of their lines, that a new worker is told: well below MAX_BACKLOG."""

GOODBYE = 2.0
"""Seconds that a worker which ends takes to tell what it has not told."""


class Exchange:
    """The parent's end: what one worker says, all of them hear."""

    def __init__(self) -> None:
        self._number = 0
        self._workers: set[asyncio.StreamWriter] = set()
        self._begin()

    async def connect(self, channel: socket.socket) -> None:
        """Take part in what a worker says until it is gone."""
        reader, writer = await asyncio.open_unix_connection(sock=channel, limit=MAX_LINE)
        writer.writelines([self._beginning(), *self._kept, b"\n"])
        self._workers.add(writer)
        told_all = False
        try:
            with suppress(OSError):  # it was killed, which its parent tells
                while not told_all and (line := await reader.readline()):
                    told_all = line == b"\n"
                    if not told_all:
                        self._tell(line)
        except ValueError as error:
            logger.warning("A worker's changes cannot be read: %s", error)
        finally:
            self._workers.discard(writer)
            writer.close()
            if not told_all:
                self._begin()
                self._send(self._beginning())

    def _begin(self) -> None:
        """Begin an epoch: something may be missing before it."""
        self._epoch = new_epoch()
        self._kept: deque[bytes] = deque()
        self._bytes = 0

    def _beginning(self) -> bytes:
        """Return the line that says where the kept changes begin."""
        return b"%d %d\n" % (self._number - len(self._kept), self._epoch)

    def _tell(self, line: bytes) -> None:
        """Give a change its number, keep it, and send it to all workers."""
        self._number += 1
        numbered = b"%d %b" % (self._number, line)
        self._kept.append(numbered)
        self._bytes += len(numbered)
        while len(self._kept) > MAX_KEPT or self._bytes > MAX_KEPT_BYTES:
            self._bytes -= len(self._kept.popleft())
        self._send(numbered)

    def _send(self, line: bytes) -> None:
        for writer in self._workers:
            if writer.is_closing():
                continue
            writer.write(line)
            if writer.transport.get_write_buffer_size() > MAX_BACKLOG:
                logger.warning("A worker takes no changes any more: it is cut off.")
                writer.transport.abort()


class LocalSocketBroker(PublishingBroker):
    """A worker's end: changes go to the parent, and come back in their order."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        super().__init__()
        self._writer = writer
        self._warned = False
        """Whether it was said that changes of another version come."""

    def publish(self, news: News) -> None:
        """Send a change; a parent that takes nothing any more is as good as gone.

        Where it is gone nobody listens any more, and the write that was acknowledged stays one.
        """
        if self._writer.is_closing():
            return
        self._writer.write(encode(news) + b"\n")
        if self._writer.transport.get_write_buffer_size() > MAX_BACKLOG:
            self._writer.transport.abort()

    def leave(self) -> None:
        """Say that nothing follows."""
        if not self._writer.is_closing():
            self._writer.write(b"\n")

    def hear(self, line: bytes) -> None:
        """Do what a line of the parent's says."""
        number, _, said = line.rstrip().partition(b" ")
        if said.isdigit():
            self.log.begin(int(said), int(number))
            return
        try:
            self.log.append(int(number), decode(said))
        except UNREADABLE as error:
            self._skip(int(number), error)

    def _skip(self, number: int, error: Exception) -> None:
        """Go on after a change that cannot be read: whoever has heard of less reloads."""
        if not self._warned:
            self._warned = True
            logger.warning(
                "A change of another version cannot be read (%r): listeners reload instead.", error
            )
        self.log.begin(self.log.last.epoch, number)


@asynccontextmanager
async def joined(
    channel: socket.socket, lost: Callable[[], None]
) -> AsyncIterator[LocalSocketBroker]:
    """Take part until the block ends; ``lost`` is called when the parent is gone before."""
    reader, writer = await asyncio.open_unix_connection(sock=channel, limit=MAX_LINE)
    broker = LocalSocketBroker(writer)
    while (line := await reader.readline()).strip():
        broker.hear(line)

    async def listen() -> None:
        try:
            while line := await reader.readline():
                broker.hear(line)
        except OSError:
            pass
        except ValueError as error:
            logger.warning("What other workers change cannot be read any more: %s", error)
        lost()

    listening = asyncio.create_task(listen())
    try:
        yield broker
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(GOODBYE):
                await writer.wait_closed()
