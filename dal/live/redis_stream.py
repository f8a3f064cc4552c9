"""The broker of several processes: a stream in Redis, or in a server with the same protocol.

The id of a stream entry is ``<epoch>-<number>``, the position of its event. Number 0 begins an
epoch. A script in Redis assigns the numbers, so every process reads the same events in the same
order. The stream is trimmed to what the logs keep. While Redis is unreachable, changes wait here.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.exceptions import RedisError

from dal.live.changes import UNREADABLE, Change, LogEntry, decode, encode
from dal.live.log import PublishingBroker

logger = logging.getLogger(__name__)

MAX_BACKLOG = 8_000_000
"""Bytes of changes that wait for Redis. Above it they are dropped and all listeners reload."""

HEARTBEAT_INTERVAL = 4.0
"""Seconds after which a process sends a heartbeat, if it has no change to publish."""

DEAD_AFTER = 15.0
"""Seconds without a heartbeat after which a process is dead and its last changes may be lost."""

RESPONSE_TIMEOUT = 5.0
"""Seconds that Redis may take to respond. A blocking read ends earlier."""

LEAVE_TIMEOUT = 2.0
"""Seconds that a stopping process has to publish its last changes."""

_BLOCK = 2_000
"""Milliseconds that a read blocks for entries."""

_ENTRIES = 100
"""Entries of one read: all are delivered in one turn of the event loop."""

_BACKOFF = ExponentialWithJitterBackoff(cap=5, base=0.1)

_EXCHANGE = Path(__file__).with_name("exchange.lua").read_text("utf-8")


class BadOptionError(Exception):
    """The query string of the Redis URL has an option that the client library refuses."""


class RedisBroker(PublishingBroker):
    """One process's connection to the stream. ``run`` connects, and reconnects after errors."""

    def __init__(self, client: Redis, *, address: str, table: str) -> None:
        super().__init__()
        self._client = client
        self._address = address
        self._stream = f"marginalia:{{{table}}}:changes"
        self._processes = f"marginalia:{{{table}}}:servers"
        self._exchange = client.register_script(_EXCHANGE)
        self._id = secrets.token_hex(8)
        self._redis_run = ""
        self._last_entry = b"0-0"
        """The id of the last entry in the log."""
        self._unpublished: deque[tuple[int, bytes]] = deque()
        """Changes that Redis has not confirmed, each with the epoch in which it was made."""
        self._bytes = 0
        self._lossy = False
        """True if a change may be missing from the stream."""
        self._wake = asyncio.Event()
        self._publishing = asyncio.Lock()
        self._left = False
        self._unreachable = False
        self.tried = asyncio.Event()
        """Set once the log has all entries of the stream, or Redis is found to be unreachable."""

    def publish(self, entry: LogEntry) -> None:
        """Queue an entry for Redis; the writer does not wait."""
        line = encode(entry)
        self._unpublished.append((self.log.last.epoch, line))
        self._bytes += len(line)
        self._bound()
        self._wake.set()

    async def run(self) -> None:
        """Publish and read until cancelled."""
        failures = 0
        while not _cancelled():
            try:
                await self._join()
                failures = 0
                await self._publish_and_read()
            except Exception as error:  # noqa: BLE001 - writes continue whatever fails here
                self._report(error)
            failures += 1
            await asyncio.sleep(_BACKOFF.compute(failures))

    async def leave(self) -> None:
        """Publish the queued changes and sign off. If that fails, the others miss its heartbeat."""
        if self._unreachable or not self._redis_run:
            return
        with suppress(RedisError, OSError):
            async with asyncio.timeout(LEAVE_TIMEOUT):
                await self._publish_unless_left()
                async with self._publishing:
                    self._left = True
                    await self._client.hdel(self._processes, self._id)

    async def _join(self) -> None:
        """Register this process, and read all entries of the stream."""
        self._redis_run = (await self._client.info("server"))["run_id"]
        await self._publish_unless_left()
        while await self._read(block=None):
            pass
        if _cancelled():
            raise asyncio.CancelledError
        if self._unreachable:
            logger.warning("Redis at %s is back: live comments continue.", self._address)
        self._unreachable = False
        self.tried.set()

    def _report(self, error: Exception) -> None:
        if not self._unreachable:
            expected = isinstance(error, (RedisError, OSError))
            logger.warning(
                "Redis at %s is unreachable (%s): live comments wait until it is back.",
                self._address,
                error,
                exc_info=None if expected else error,
            )
        self._unreachable = True
        self.tried.set()

    async def _publish_and_read(self) -> None:
        tasks = [asyncio.create_task(self._publish_all()), asyncio.create_task(self._read_all())]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _publish_all(self) -> None:
        while not _cancelled():
            self._wake.clear()
            await self._publish_unless_left()
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_INTERVAL):
                    await self._wake.wait()

    async def _publish_unless_left(self) -> None:
        """Publish the queued changes. Unconfirmed ones are published again in a new epoch."""
        async with self._publishing:
            if not self._left:
                await self._publish_queued()

    async def _publish_queued(self) -> None:
        sent, self._unpublished, self._bytes = self._unpublished, deque[tuple[int, bytes]](), 0
        lossy, self._lossy = self._lossy, False
        try:
            await self._exchange(
                keys=[self._stream, self._processes],
                args=[
                    self._id,
                    self._redis_run,
                    int(lossy),
                    self._last_entry.partition(b"-")[0],
                    int(DEAD_AFTER * 1_000_000),
                    self._floor(),
                    *(part for change in sent for part in change),
                ],
            )
        except BaseException:
            self._lossy |= lossy or bool(sent)
            self._unpublished.extendleft(reversed(sent))
            self._bytes += sum(len(line) for _, line in sent)
            self._bound()
            raise

    def _bound(self) -> None:
        if self._bytes > MAX_BACKLOG:
            self._unpublished.clear()
            self._bytes = 0
            self._lossy = True

    def _floor(self) -> str:
        """Return the id of the log's last dropped entry: Redis may trim up to here."""
        if self._last_entry == b"0-0":
            return "0-0"
        return f"{self.log.floor.epoch}-{self.log.floor.number}"

    async def _read_all(self) -> None:
        while not _cancelled():
            await self._read(block=_BLOCK)

    async def _read(self, *, block: int | None) -> bool:
        """Append the next entries to the log; return whether there were any."""
        after: dict[Any, Any] = {self._stream: self._last_entry}
        found: Any = await self._client.xread(after, count=_ENTRIES, block=block)
        for _, entries in found or ():
            for entry, fields in entries:
                self._append(entry, fields)
        return bool(found)

    def _append(self, entry: bytes, fields: dict[bytes, bytes]) -> None:
        epoch, number = map(int, entry.split(b"-"))
        self._last_entry = entry
        if number == 0:
            self.log.begin(epoch, 0)
            return
        if (epoch, number - 1) != self.log.last:
            self.log.begin(epoch, number - 1)
        try:
            ((kind, line),) = fields.items()
            change = decode(line)
            if kind == b"late" and isinstance(change, Change):
                change = replace(change, late=True)
            self.log.append(number, change)
        except UNREADABLE as error:
            logger.warning("Cannot read a change from Redis: %s", error)
            self.log.begin(epoch, number)


@asynccontextmanager
async def joined(url: str, table: str) -> AsyncIterator[RedisBroker]:
    """Yield a connected broker. The block also begins if Redis is unreachable.

    Raises BadOptionError as ``client_of`` does.
    """
    client = client_of(url)
    broker = RedisBroker(client, address=_address(url), table=table)
    running = asyncio.create_task(broker.run())
    try:
        await broker.tried.wait()
        yield broker
    finally:
        await broker.leave()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await client.aclose()


def client_of(url: str) -> Redis:
    """Return a client that has not connected yet; raise BadOptionError for an invalid option."""
    try:
        client = Redis.from_url(
            url,
            protocol=2,
            retry=Retry(NoBackoff(), 0),  # a retry could publish a change twice
            socket_timeout=RESPONSE_TIMEOUT,
            socket_connect_timeout=RESPONSE_TIMEOUT,
        )
        client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
    except (TypeError, ValueError) as error:
        raise BadOptionError(str(error)) from error
    return client


def _cancelled() -> bool:
    """Return whether this task was cancelled. redis-py may swallow the CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _address(url: str) -> str:
    """Return the address of Redis without its password."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"
