"""The broker for several processes. It uses a stream in Redis, or in a compatible server.

The id of a stream entry is ``<epoch>-<number>``, which is also the position of its event. An entry
with the number 0 begins an epoch. A script in Redis assigns the numbers, so every process reads the
same events in the same order. A process removes entries from the stream after its own log has
dropped them. While Redis is unreachable, the broker keeps the process's new changes in memory.

The entries of a stream cannot be changed, so they contain no texts. A hash in Redis has the newest
text of each comment that has entries. The script removes a text when a change replaces it.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.exceptions import AuthenticationError, RedisError

from features.live.changes import UNREADABLE, Change, LogEntry, decode, encode, text_name
from features.live.write_rule import Broker

logger = logging.getLogger(__name__)

MAX_BACKLOG = 8_000_000
"""Maximum bytes of changes that wait for Redis. Beyond this limit, the broker drops all waiting
changes, and all listeners must reload."""

HEARTBEAT_INTERVAL = 4.0
"""Seconds between two heartbeats of a process that has no change to publish."""

DEAD_AFTER = 15.0
"""Seconds without a heartbeat after which the other processes regard a process as dead. They then
begin a new epoch, because the last changes of a dead process may be lost."""

RESPONSE_TIMEOUT = 5.0
"""Seconds after which a request to Redis fails. A read that waits for entries ends earlier: see
``_BLOCK``."""

LEAVE_TIMEOUT = 2.0
"""Maximum seconds in which a stopping process publishes its last changes."""

_BLOCK = 2_000
"""Milliseconds that a read waits for entries."""

_ENTRIES = 100
"""Maximum entries that one read returns. While the process delivers these entries to the listeners,
it serves no request. So a larger number would delay requests."""

_BACKOFF = ExponentialWithJitterBackoff(cap=5, base=0.1)

_EXCHANGE = Path(__file__).with_name("exchange.lua").read_text("utf-8")


class RedisBroker(Broker):
    """One process's connection to the stream. ``run`` connects, and connects again after errors.

    The broker calls ``show_up`` with True after it has connected, and with False after an error.
    Raises TypeError or ValueError in the same cases as ``client_of``.
    """

    def __init__(
        self, url: str, table: str, show_up: Callable[[bool], None] = lambda _: None
    ) -> None:
        super().__init__()
        self._show_up = show_up
        self._client = client_of(url)
        parts = urlsplit(url)
        # The address is logged, so it must not contain the user and the password.
        self._address = f"{parts.netloc.rpartition('@')[2]}{parts.path}"
        names = ("changes", "servers", "comments", "erased")
        self._keys = [f"marginalia:{{{table}}}:{name}" for name in names]
        self._stream, self._processes, self._comments, _ = self._keys
        self._exchange = self._client.register_script(_EXCHANGE)
        self._id = secrets.token_hex(8)
        self._redis_run = ""
        self._last_entry = b"0-0"
        """The id of the last entry in the log."""
        self._unpublished: deque[tuple[int, bytes, bytes]] = deque()
        """Changes that Redis has not confirmed, each with the epoch in which it was made and with
        its comment."""
        self._bytes = 0
        self._lossy = False
        """True if the stream may lack a change, so that the next request to Redis must begin a new
        epoch."""
        self._erasure = ""
        """The id of an erasure that Redis may not know yet."""
        self._wake = asyncio.Event()
        self._publishing = asyncio.Lock()
        self._left = False
        self._unreachable = False
        self._refused = False
        self._running: asyncio.Task[None] | None = None
        self.tried = asyncio.Event()
        """Set after the first attempt to connect. If the attempt succeeded, the log has all entries
        of the stream."""

    async def start(self) -> None:
        """Connect. If Redis is unreachable, return after the first attempt, and keep trying."""
        self._running = asyncio.create_task(self.run())
        await self.tried.wait()

    async def close(self) -> None:
        """Publish the last changes, and disconnect."""
        await self.leave()
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        await self._client.aclose()

    def publish(self, entry: LogEntry) -> None:
        """Queue an entry for Redis. The writer does not wait for Redis."""
        line, comment = encode(entry)
        self._unpublished.append((self.log.last.epoch, line, comment))
        self._bytes += len(line) + len(comment)
        self._bound()
        self._wake.set()

    def erased(self, erasure: str) -> None:
        """Begin a new epoch, which removes all texts from Redis, unless a process already has."""
        self.log.begin(*self.log.last)  # at once, because Redis may be unreachable
        self._erasure = erasure
        # Changes that wait for Redis may have texts of the erased user.
        self._lossy = self._lossy or bool(self._unpublished)
        self._unpublished.clear()
        self._bytes = 0
        self._wake.set()

    async def run(self) -> None:
        """Publish and read until cancelled. After an error, connect again."""
        failures = 0
        while not _cancelled():
            try:
                await self._join()
                failures = 0
                await self._publish_and_read()
            except Exception as error:  # noqa: BLE001 - after any error, connect again
                self._report(error)
            failures += 1
            await asyncio.sleep(_BACKOFF.compute(failures))

    async def leave(self) -> None:
        """Publish the queued changes, and remove this process from the list of running processes.

        If Redis cannot be reached, the other processes notice the missing heartbeat after
        DEAD_AFTER seconds.
        """
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
        self._unreachable = self._refused = False
        self._show_up(True)
        self.tried.set()

    def _report(self, error: Exception) -> None:
        if isinstance(error, AuthenticationError):
            # After a change of the password, Redis first closes the connection, which is logged as
            # unreachable. So log the refusal, too.
            if not self._refused:
                logger.warning(
                    "Redis at %s refuses the password (%s): set the new password in --redis-url, "
                    "then restart the server. Live comments wait.",
                    self._address,
                    error,
                )
            self._refused = True
        elif not self._unreachable:
            expected = isinstance(error, (RedisError, OSError))
            logger.warning(
                "Redis at %s is unreachable (%s): live comments wait until it is back.",
                self._address,
                error,
                exc_info=None if expected else error,
            )
        self._unreachable = True
        self._show_up(False)
        self.tried.set()

    async def _publish_and_read(self) -> None:
        # A TaskGroup does not work here: in Python 3.11, after one of its tasks fails, the current
        # task stays marked as cancelled, and ``run`` would end instead of connecting again.
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
        """Send the heartbeat and the queued changes to Redis, unless this process has left.

        Changes that Redis does not confirm are published again, in a new epoch.
        """
        async with self._publishing:
            if self._left:
                return
            sent, self._unpublished = self._unpublished, deque()
            self._bytes = 0
            lossy, self._lossy = self._lossy, False
            erasure, self._erasure = self._erasure, ""
            # Redis may remove the entries before ``floor``, which this process's log has dropped.
            floor, joined = self.log.floor, self._last_entry != b"0-0"
            try:
                await self._exchange(
                    keys=self._keys,
                    args=[
                        self._id,
                        self._redis_run,
                        int(lossy),
                        self._last_entry.partition(b"-")[0],
                        int(DEAD_AFTER * 1_000_000),
                        f"{floor.epoch}-{floor.number}" if joined else "0-0",
                        erasure,
                        *(part for change in sent for part in change),
                    ],
                )
            except BaseException:
                self._lossy |= lossy or bool(sent)
                self._erasure = self._erasure or erasure
                self._unpublished.extendleft(reversed(sent))
                self._bytes += sum(len(line) + len(comment) for _, line, comment in sent)
                self._bound()
                raise

    def _bound(self) -> None:
        if self._bytes > MAX_BACKLOG:
            self._unpublished.clear()
            self._bytes = 0
            self._lossy = True

    async def _read_all(self) -> None:
        while not _cancelled():
            await self._read(block=_BLOCK)

    async def _read(self, *, block: int | None) -> bool:
        """Append the next entries of the stream to the log. Return False if there were none."""
        after: dict[Any, Any] = {self._stream: self._last_entry}
        found: Any = await self._client.xread(after, count=_ENTRIES, block=block)
        for _, entries in found or ():
            comments = await self._newest_comments(entries)
            for (entry, fields), comment in zip(entries, comments, strict=True):
                self._last_entry = entry
                epoch, number = map(int, entry.split(b"-"))
                if number == 0:
                    self.log.begin(epoch, 0)
                else:
                    self._append(epoch, number, fields, comment)
        return bool(found)

    async def _newest_comments(
        self, entries: list[tuple[bytes, dict[bytes, bytes]]]
    ) -> list[bytes | None]:
        """Return the comment of each entry. None or empty if a later entry has replaced it."""
        names = [""] * len(entries)  # no comment has an empty name
        for place, (_, fields) in enumerate(entries):
            with suppress(*UNREADABLE):
                change = decode(fields[b"change"])
                names[place] = (isinstance(change, Change) and text_name(change)) or ""
        found: Any = await self._client.hmget(self._comments, names)
        return list(found)

    def _append(
        self, epoch: int, number: int, fields: dict[bytes, bytes], comment: bytes | None
    ) -> None:
        if (epoch, number - 1) != self.log.last:
            self.log.begin(epoch, number - 1)
        try:
            ((kind, line),) = fields.items()
            change = decode(line, comment)
            if kind == b"late" and isinstance(change, Change):
                change = replace(change, late=True)
            self.log.append(number, change)
        except UNREADABLE as error:
            logger.warning("Cannot read a change from Redis: %s", error)
            self.log.begin(epoch, number)


def client_of(url: str) -> Redis:
    """Return a Redis client, which connects at its first request.

    Raises TypeError or ValueError if redis-py rejects the URL or an option in its query string.
    """
    client = Redis.from_url(
        url,
        protocol=2,
        retry=Retry(NoBackoff(), 0),  # a retry could publish a change twice
        socket_timeout=RESPONSE_TIMEOUT,
        socket_connect_timeout=RESPONSE_TIMEOUT,
    )
    client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
    return client


def _cancelled() -> bool:
    """Return whether this task was cancelled.

    Every loop must call this function, because redis-py may catch the CancelledError that would
    otherwise end the loop.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
