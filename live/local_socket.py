"""The broker of several processes on one machine: sockets by way of the process that started them.

A worker sends each change as a line of JSON. Its parent gives it the next number and sends it to
all workers, so that order and numbers are given in one place: ``<number> <JSON>``. A line
``<number> <epoch>`` of two numbers begins an epoch. That is what the parent sends where a worker is
gone, which may have written what it told nobody of.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from live.broker import PublishingBroker
from live.changes import News, decode, encode
from live.positions import new_epoch

logger = logging.getLogger(__name__)

MAX_LINE = 1_000_000
"""Bytes of a line; the longest comment takes 60,000."""

MAX_BACKLOG = 8_000_000
"""Bytes that wait for one process: whoever takes nothing for so long is cut off."""


class Exchange:
    """The parent's end: what one worker says, all of them hear."""

    def __init__(self) -> None:
        self._epoch = new_epoch()
        self._number = 0
        self._workers: set[asyncio.StreamWriter] = set()

    async def connect(self, channel: socket.socket) -> None:
        """Take part in what a worker says until it is gone."""
        reader, writer = await asyncio.open_unix_connection(sock=channel, limit=MAX_LINE)
        writer.write(b"%d %d\n" % (self._number, self._epoch))
        self._workers.add(writer)
        try:
            with suppress(OSError):  # it was killed, which its parent tells
                while line := await reader.readline():
                    self._number += 1
                    self._send(b"%d %b" % (self._number, line))
        except ValueError as error:
            logger.warning("A worker's changes cannot be read: %s", error)
        finally:
            self._workers.discard(writer)
            writer.close()
            self._epoch = new_epoch()
            self._send(b"%d %d\n" % (self._number, self._epoch))

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

    def publish(self, news: News) -> None:
        """Send a change; a parent that takes nothing any more is as good as gone.

        Where it is gone nobody listens any more, and the write that was acknowledged stays one.
        """
        if self._writer.is_closing():
            return
        self._writer.write(encode(news) + b"\n")
        if self._writer.transport.get_write_buffer_size() > MAX_BACKLOG:
            self._writer.transport.abort()

    def hear(self, line: bytes) -> None:
        """Do what a line of the parent's says."""
        number, _, said = line.rstrip().partition(b" ")
        if said.isdigit():
            self.log.begin(int(said), int(number))
        else:
            self.log.append(int(number), decode(said))


@asynccontextmanager
async def joined(
    channel: socket.socket, lost: Callable[[], None]
) -> AsyncIterator[LocalSocketBroker]:
    """Take part until the block ends; ``lost`` is called when the parent is gone before."""
    reader, writer = await asyncio.open_unix_connection(sock=channel, limit=MAX_LINE)
    broker = LocalSocketBroker(writer)
    broker.hear(await reader.readline())

    async def listen() -> None:
        with suppress(OSError):
            while line := await reader.readline():
                broker.hear(line)
        lost()

    listening = asyncio.create_task(listen())
    try:
        yield broker
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        writer.close()
