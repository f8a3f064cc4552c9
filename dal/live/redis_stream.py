"""The broker of several servers: a stream of one Redis, or of another server of its protocol.

An entry's id is ``<epoch>-<number>``, which is where its event stands. Number 0 begins an epoch; a
script in Redis gives the numbers, so that every server reads the same events in the same order. The
stream keeps what the servers' logs keep. While Redis is away, changes wait here.
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

from dal.live.broker import PublishingBroker
from dal.live.changes import UNREADABLE, Change, News, decode, encode

logger = logging.getLogger(__name__)

MAX_BACKLOG = 8_000_000
"""Bytes that wait for Redis: of more than that, all listeners are told to reload instead."""

BEAT = 4.0
"""Seconds after which a server says that it lives, if it has nothing else to say."""

SILENCE = 15.0
"""Seconds without a word after which a server counts as gone, with what it had not told."""

ANSWER = 5.0
"""Seconds that Redis may take to answer; a read that waits for entries ends before."""

LAST_WORDS = 2.0
"""Seconds that a server which ends takes to tell what it has not told."""

_BLOCK = 2_000
"""Milliseconds that a read waits for entries."""

_ENTRIES = 100
"""Entries of a read: telling them all is one turn of the event loop."""

_BACKOFF = ExponentialWithJitterBackoff(cap=5, base=0.1)

_EXCHANGE = Path(__file__).with_name("exchange.lua").read_text("utf-8")


class BadOptionError(Exception):
    """A URL has an option, after its question mark, that the client library does not take."""


class RedisBroker(PublishingBroker):
    """One process's part in the stream of all; ``keep`` connects it, again and again."""

    def __init__(self, client: Redis, *, place: str, table: str) -> None:
        super().__init__()
        self._client = client
        self._place = place
        self._stream = f"marginalia:{{{table}}}:changes"
        self._servers = f"marginalia:{{{table}}}:servers"
        self._exchange = client.register_script(_EXCHANGE)
        self._me = secrets.token_hex(8)
        self._run = ""
        self._heard = b"0-0"
        """The id of the last entry in the log."""
        self._waiting: deque[tuple[int, bytes]] = deque()
        """Changes that Redis has not confirmed, and the epochs they were made in."""
        self._bytes = 0
        self._doubtful = False
        """Whether something that was to be published may be missing."""
        self._wake = asyncio.Event()
        self._telling = asyncio.Lock()
        self._left = False
        self._away = False
        self.tried = asyncio.Event()
        """Set once all that Redis holds is in the log, or Redis was found to be away."""

    def publish(self, news: News) -> None:
        """Have a change published; the writer waits for nothing."""
        line = encode(news)
        self._waiting.append((self.log.last.epoch, line))
        self._bytes += len(line)
        self._bound()
        self._wake.set()

    async def keep(self) -> None:
        """Publish and hear until cancelled."""
        failures = 0
        while not _cancelled():
            try:
                await self._join()
                failures = 0
                await self._publish_and_hear()
            except Exception as error:  # noqa: BLE001 - writes go on, whatever it is
                self._lost(error)
            failures += 1
            await asyncio.sleep(_BACKOFF.compute(failures))

    async def leave(self) -> None:
        """Tell what waits, and that nothing follows; where that fails, its silence tells it."""
        if self._away or not self._run:
            return
        with suppress(RedisError, OSError):
            async with asyncio.timeout(LAST_WORDS):
                await self._tell()
                async with self._telling:
                    self._left = True
                    await self._client.hdel(self._servers, self._me)

    async def _join(self) -> None:
        """Take part: say so, and hear all that the stream holds."""
        self._run = (await self._client.info("server"))["run_id"]
        await self._tell()
        while await self._hear(block=None):
            pass
        if _cancelled():
            raise asyncio.CancelledError
        if self._away:
            logger.warning("Redis at %s is back: live comments go on.", self._place)
        self._away = False
        self.tried.set()

    def _lost(self, error: Exception) -> None:
        if not self._away:
            expected = isinstance(error, (RedisError, OSError))
            logger.warning(
                "Redis at %s is away (%s): live comments wait until it is back.",
                self._place,
                error,
                exc_info=None if expected else error,
            )
        self._away = True
        self.tried.set()

    async def _publish_and_hear(self) -> None:
        tasks = [asyncio.create_task(self._publish_all()), asyncio.create_task(self._hear_all())]
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
            await self._tell()
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT):
                    await self._wake.wait()

    async def _tell(self) -> None:
        """Publish what waits. What Redis does not confirm is told again in a new epoch."""
        async with self._telling:
            if not self._left:
                await self._tell_waiting()

    async def _tell_waiting(self) -> None:
        told, self._waiting, self._bytes = self._waiting, deque[tuple[int, bytes]](), 0
        doubtful, self._doubtful = self._doubtful, False
        try:
            await self._exchange(
                keys=[self._stream, self._servers],
                args=[
                    self._me,
                    self._run,
                    int(doubtful),
                    self._heard.partition(b"-")[0],
                    int(SILENCE * 1_000_000),
                    self._floor(),
                    *(part for change in told for part in change),
                ],
            )
        except BaseException:
            self._doubtful |= doubtful or bool(told)
            self._waiting.extendleft(reversed(told))
            self._bytes += sum(len(line) for _, line in told)
            self._bound()
            raise

    def _bound(self) -> None:
        if self._bytes > MAX_BACKLOG:
            self._waiting.clear()
            self._bytes = 0
            self._doubtful = True

    def _floor(self) -> str:
        """Return the id of the last entry that the log has not; all before it may be dropped."""
        if self._heard == b"0-0":
            return "0-0"
        return f"{self.log.floor.epoch}-{self.log.floor.number}"

    async def _hear_all(self) -> None:
        while not _cancelled():
            await self._hear(block=_BLOCK)

    async def _hear(self, *, block: int | None) -> bool:
        """Put the next entries into the log; return whether there were any."""
        after: dict[Any, Any] = {self._stream: self._heard}
        found: Any = await self._client.xread(after, count=_ENTRIES, block=block)
        for _, entries in found or ():
            for entry, fields in entries:
                self._append(entry, fields)
        return bool(found)

    def _append(self, entry: bytes, fields: dict[bytes, bytes]) -> None:
        epoch, number = map(int, entry.split(b"-"))
        self._heard = entry
        if number == 0:
            self.log.begin(epoch, 0)
            return
        if (epoch, number - 1) != self.log.last:
            self.log.begin(epoch, number - 1)
        try:
            ((kind, line),) = fields.items()
            news = decode(line)
            if kind == b"late" and isinstance(news, Change):
                news = replace(news, late=True)
            self.log.append(number, news)
        except UNREADABLE as error:
            logger.warning("A change in Redis cannot be read: %s", error)
            self.log.begin(epoch, number)


@asynccontextmanager
async def joined(url: str, table: str) -> AsyncIterator[RedisBroker]:
    """Take part until the block ends, which begins also where Redis does not answer.

    BadOptionError as of ``client_of``.
    """
    client = client_of(url)
    broker = RedisBroker(client, place=_place(url), table=table)
    keeping = asyncio.create_task(broker.keep())
    try:
        await broker.tried.wait()
        yield broker
    finally:
        await broker.leave()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await client.aclose()


def client_of(url: str) -> Redis:
    """Return a client, which has not connected yet; BadOptionError for options that it refuses."""
    try:
        client = Redis.from_url(
            url,
            protocol=2,
            retry=Retry(NoBackoff(), 0),  # what was perhaps done must not be done again
            socket_timeout=ANSWER,
            socket_connect_timeout=ANSWER,
        )
        client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
    except (TypeError, ValueError) as error:
        raise BadOptionError(str(error)) from error
    return client


def _cancelled() -> bool:
    """Return whether this task was told to end. redis-py may swallow the error that says so."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _place(url: str) -> str:
    """Return where Redis is, without a password."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"
