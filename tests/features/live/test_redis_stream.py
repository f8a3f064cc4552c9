"""Several servers send changes through a real Redis: after any fault, all have the same events."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import orjson
import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NoConnectionError

from dal.model import Comment
from dal.repositories.comments import Selection
from features.live import redis_stream
from features.live.changes import (
    Change,
    CommentEventKind,
    EventPosition,
    LogEntry,
    UncertainWrite,
    change_of,
    encode,
    version,
)
from features.live.log import Listener
from features.live.redis_stream import RedisBroker
from tests.engines.redis import NEEDS_REDIS, RedisServer, redis_server
from tests.features.live.joining import joined
from tests.features.live.listening import comment, waiting

pytestmark = NEEDS_REDIS

ALL = Selection("42")
KIND = CommentEventKind


@pytest.fixture(scope="module")
def lasting() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
async def redis(lasting: RedisServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Redis]:
    """A client of an empty Redis. Servers send heartbeats at short intervals."""
    monkeypatch.setattr(redis_stream, "HEARTBEAT_INTERVAL", 0.1)
    async with Redis.from_url(lasting.url, protocol=2) as client:
        await client.flushall()
        yield client


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what is looked at has no events
            await asyncio.sleep(0.005)


@asynccontextmanager
async def brokers(server: RedisServer, count: int) -> AsyncIterator[list[RedisBroker]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(joined(server.url, "t")) for _ in range(count)]


async def kinds(listener: Listener, count: int) -> list[CommentEventKind]:
    async with asyncio.timeout(60):
        return [(await anext(listener)).kind for _ in range(count)]


async def test_all_processes_read_the_same_entries_in_one_order(
    redis: Redis, lasting: RedisServer
) -> None:
    dice = random.Random(3)
    async with brokers(lasting, 3) as made:
        start = made[0].log.last
        for number in range(500):
            dice.choice(made).publish(change_of(None, comment(number)))
            if dice.random() < 0.1:
                await asyncio.sleep(dice.random() / 500)
        await until(lambda: all(one.log.last.number == start.number + 500 for one in made))
        first, second, third = ([*one.log._entries] for one in made)
        assert first == second == third
        assert {one.log.last.epoch for one in made} == {start.epoch}
        # Every server can resume after an event that another server sent.
        after = start._replace(number=start.number + 490)
        assert len(await waiting(made[2].log.listen(ALL, after))) == 10


async def test_a_restarted_server_continues_the_epoch(redis: Redis, lasting: RedisServer) -> None:
    async with brokers(lasting, 1) as (stays,):
        listener = stays.log.listen(ALL, None)
        async with brokers(lasting, 1) as (ends,):
            ends.publish(change_of(None, comment(1)))
            assert await kinds(listener, 2) == [KIND.READY, KIND.ADDED]
        async with brokers(lasting, 1) as (starts,):
            assert starts.log.last.number == 1
            resumed = starts.log.listen(ALL, stays.log.last._replace(number=0))
            assert await kinds(resumed, 1) == [KIND.ADDED]
            starts.publish(change_of(comment(1), None))
            assert await kinds(resumed, 1) == [KIND.DELETED]
            whole = starts.log.listen(ALL, stays.log.last._replace(number=0))
            assert [event.kind for event in await waiting(whole)] == [KIND.DELETED]
        assert await kinds(listener, 1) == [KIND.DELETED]
        await asyncio.sleep(0.3)  # several heartbeats, so that a missing server would be noticed
        assert await waiting(listener) == []


async def test_a_dead_process_makes_listeners_reload(
    redis: Redis, lasting: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_stream, "DEAD_AFTER", 0.5)
    async with brokers(lasting, 2) as (stays, dies):
        listener = stays.log.listen(ALL, None)
        monkeypatch.setattr(dies, "_publish_unless_left", asyncio.Event().wait)
        dies.publish(change_of(None, comment(1)))
        assert await kinds(listener, 2) == [KIND.READY, KIND.RELOAD]
        monkeypatch.undo()


async def test_writes_do_not_wait_and_are_not_lost_while_redis_is_unreachable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with redis_server() as server, caplog.at_level(logging.WARNING):
        async with brokers(server, 2) as (one, other):
            before = one.log.last
            listener = other.log.listen(ALL, None)
            server.kill()
            await until(lambda: one._unreachable and other._unreachable)
            for number in range(5):
                one.publish(change_of(None, comment(number)))
            await asyncio.sleep(1)
            assert [event.kind for event in await waiting(listener)] == [KIND.READY]
            server.start()
            assert await kinds(listener, 1) == [KIND.RELOAD]
            await until(lambda: one.log.last == other.log.last)
            await until(lambda: not one._unreachable and not other._unreachable)
            assert one.log.last.epoch != before.epoch
            assert versions(other) == [version(comment(number)) for number in range(5)]
            lines = sorted(record.getMessage() for record in caplog.records)
            assert [
                line.partition(f" at 127.0.0.1:{server.port}/0 is ")[2][:4] for line in lines
            ] == ["back", "back", "unre", "unre"]


async def test_a_server_starts_without_redis(caplog: pytest.LogCaptureFixture) -> None:
    with redis_server() as server:
        server.kill()
        async with brokers(server, 1) as (broker,):
            assert "is unreachable" in caplog.text
            listener = broker.log.listen(ALL, None)
            broker.publish(change_of(None, comment(1)))
            server.start()
            await until(lambda: broker.log.last.number == 1)
            assert await kinds(listener, 1) == [KIND.RELOAD]
            assert await waiting(listener) == []
            broker.publish(change_of(None, comment(2)))
            assert await kinds(listener, 1) == [KIND.ADDED]


async def test_a_hanging_redis_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_stream, "RESPONSE_TIMEOUT", 0.5)
    monkeypatch.setattr(redis_stream, "_BLOCK", 100)
    with redis_server() as server:
        async with brokers(server, 1) as (broker,):
            listener = broker.log.listen(ALL, None)
            server.hang(hangs=True)
            broker.publish(change_of(None, comment(1)))
            await until(lambda: broker._unreachable)
            server.hang(hangs=False)
            await until(lambda: not broker._unreachable)
            assert await kinds(listener, 1) == [KIND.RELOAD]


async def test_listeners_reload_after_redis_lost_its_data(
    redis: Redis, lasting: RedisServer
) -> None:
    async with brokers(lasting, 2) as (one, other):
        listener = other.log.listen(ALL, None)
        one.publish(change_of(None, comment(1)))
        assert await kinds(listener, 2) == [KIND.READY, KIND.ADDED]
        await redis.flushall()
        assert await kinds(listener, 1) == [KIND.RELOAD]
        await until(lambda: one.log.last == other.log.last)


async def test_a_change_that_may_have_been_published_causes_a_reload(
    redis: Redis, lasting: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with brokers(lasting, 1) as (broker,):
        listener = broker.log.listen(ALL, None)
        before, exchange = broker.log.last, broker._exchange

        async def lost(**arguments: Any) -> None:
            monkeypatch.setattr(broker, "_exchange", exchange)
            await exchange(**arguments)
            raise NoConnectionError("the answer was lost")

        await until(lambda: not broker._publishing.locked())
        broker.publish(change_of(None, comment(1)))
        monkeypatch.setattr(broker, "_exchange", lost)
        await until(lambda: broker.log.last.epoch != before.epoch and broker.log.last.number == 1)
        assert await kinds(listener, 1) == [KIND.RELOAD]
        assert await waiting(listener) == []


async def test_changes_of_a_failed_request_to_redis_keep_their_order(
    redis: Redis, lasting: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with brokers(lasting, 2) as (one, other):
        exchange, empty = one._exchange, 7

        async def fails(*, args: list[Any], **arguments: Any) -> None:
            if len(args) > empty:
                monkeypatch.setattr(one, "_exchange", exchange)
                raise NoConnectionError("the request was lost")
            await exchange(args=args, **arguments)

        monkeypatch.setattr(one, "_exchange", fails)
        edits = [None, *(comment(1, edits=number) for number in range(3))]
        for old, new in pairwise(edits):
            one.publish(change_of(old, new))
        await until(lambda: other.log.last.number == 3)
        assert versions(other) == [version(comment(1, edits=number)) for number in range(3)]


def versions(broker: RedisBroker) -> list[str]:
    news = [one for _, one in broker.log._entries]
    return [one.became.version for one in news if isinstance(one, Change) and one.became]


async def test_redis_keeps_only_the_newest_text_of_each_comment(
    redis: Redis, lasting: RedisServer
) -> None:
    """After edits, deletions, late changes and writes with unknown outcomes."""
    states = [None, *(comment(1, edits=number) for number in range(4)), None]
    changes = [change_of(*pair) for pair in pairwise(states)]
    other = comment(2)._replace(product_id="43", text="other")

    async def texts() -> set[str]:
        kept: Any = await redis.hgetall(broker._comments)
        stream: Any = await redis.xrange(broker._stream)
        assert not any(b"edit " in line for _, fields in stream for line in fields.values())
        return {
            orjson.loads(orjson.loads(one)["data"]["S"])["text"] for one in kept.values() if one
        }

    async def publish(*entries: LogEntry) -> None:
        for entry in entries:
            broker.publish(entry)
        number = broker.log.last.number + len(broker._unpublished)
        await until(lambda: broker.log.last.number == number)

    async with brokers(lasting, 1) as (broker,):
        start = broker.log.last
        await publish(change_of(None, other), *changes[:3])
        assert await texts() == {"other", "edit 2"}
        later = [await anext(broker.log.listen(ALL, start))]
        async with brokers(lasting, 1) as (joins,):
            later.append(await anext(joins.log.listen(ALL, start)))
        assert [one.change and one.change.now for one in later] == [states[3]] * 2
        await publish(*changes[4:], changes[3])
        assert await texts() == {"other"}
        await publish(change_of(None, comment(3)), UncertainWrite("42"))
        assert await texts() == {"other"}
        await publish(change_of(None, comment(4)))
        assert await texts() == {"other", "edit 0"}
        # A server has deleted the comment, but did not know this epoch yet.
        broker._unpublished.append((start.epoch - 1, *encode(change_of(comment(4), None))))
        await publish(UncertainWrite("44"))
        assert await texts() == {"other"}
        broker.log._kept = 1
        await publish(UncertainWrite("44"), UncertainWrite("44"))
        await publish(UncertainWrite("44"))
        assert await texts() == set()


async def test_changes_that_wait_for_redis_have_a_maximum_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redis_stream, "MAX_BACKLOG", 10_000)
    with redis_server() as server:
        async with brokers(server, 1) as (broker,):
            listener = broker.log.listen(ALL, None)
            server.kill()
            await until(lambda: broker._unreachable)
            for number in range(1_000):
                broker.publish(change_of(None, comment(number)))
                waits = sum(len(line) + len(text) for _, line, text in broker._unpublished)
                assert waits == broker._bytes <= 10_000
            while not broker._unpublished:  # until the change that exceeds the limit of the backlog
                broker.publish(change_of(None, comment(1_000)))
            left = len(broker._unpublished)
            server.start()
            await until(lambda: broker.log.last.number == left)
            assert await kinds(listener, 1) == [KIND.RELOAD]


async def test_redis_keeps_the_entries_that_the_logs_keep(
    redis: Redis, lasting: RedisServer
) -> None:
    async with brokers(lasting, 1) as (broker,):
        broker.log._kept = 300
        for number in range(2_000):
            broker.publish(change_of(None, comment(number)))
            if not number % 50:
                await asyncio.sleep(0.002)
        last = EventPosition(broker.log.last.epoch, 2_000)
        await until(lambda: broker.log.last == last)
        broker.publish(change_of(None, comment(2_000)))
        await until(lambda: broker.log.last.number == 2_001)
        assert 300 <= await redis.xlen(broker._stream) < 500
        async with brokers(lasting, 1) as (later,):
            assert later.log.last == broker.log.last
            assert len(await waiting(later.log.listen(ALL, last))) == 1
            early = later.log.listen(ALL, last._replace(number=1_000))
            assert await kinds(early, 1) == [KIND.RELOAD]


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b"7",
        b'{"product": "42", "position": "earlier version", "was": null}',
        # The line of an earlier version, and the line of a version with other filters.
        b'{"product":"42","position":"p#1","was":null,"became":[5,"en","2024",false,false]}',
        b'{"product":"42","position":"p#1","was":null,"became":["2024",{"rating":"5"}]}',
    ],
)
async def test_an_unreadable_entry_causes_a_reload(
    line: bytes, redis: Redis, lasting: RedisServer
) -> None:
    async with brokers(lasting, 1) as (broker,):
        listener = broker.log.listen(ALL, None)
        assert await kinds(listener, 1) == [KIND.READY]
        epoch, number = broker.log.last
        for one in (number + 1, number + 2):
            await redis.xadd(broker._stream, {"change": line}, id=f"{epoch}-{one}")
        await until(lambda: broker.log.last.number == number + 2)
        broker.publish(change_of(None, comment(1)))
        await until(lambda: broker.log.last.number == number + 3)
        assert await kinds(listener, 2) == [KIND.RELOAD, KIND.ADDED]
        assert await redis.xlen(broker._stream) == 2, "the first entry is removed"


@dataclass
class Shopper:
    """A client that listens to one of the servers and applies events to its list.

    It reloads after RELOAD.
    """

    table: dict[int, Comment]
    listener: Listener
    at: EventPosition
    shown: dict[str, Comment] = field(default_factory=dict)

    async def catch_up(self) -> None:
        for event in await waiting(self.listener):
            self.at = event.position
            if event.kind is KIND.RELOAD:
                self.shown = {one.comment_id: one for one in self.table.values()}
            elif event.change is not None and event.kind is KIND.DELETED:
                self.shown.pop(event.change.comment_id, None)
            elif event.change is not None and event.change.now is not None:
                self.shown[event.change.comment_id] = event.change.now


@pytest.mark.parametrize("seed", range(4))
async def test_after_any_fault_lists_equal_the_table(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two servers write, clients change servers, and Redis is killed, emptied or disconnected."""
    monkeypatch.setattr(redis_stream, "HEARTBEAT_INTERVAL", 0.05)
    dice = random.Random(seed)
    table: dict[int, Comment] = {}
    with redis_server() as server:
        async with brokers(server, 2) as made:
            first = [one.log.listen(ALL, None) for one in made]
            shoppers = [Shopper(table, one, made[0].log.last) for one in first]
            for turn in range(400):
                write(dice.choice(made), table, turn, dice)
                if dice.random() < 0.2:
                    await asyncio.sleep(dice.random() / 50)
                if dice.random() < 0.1:
                    shopper = dice.choice(shoppers)
                    await shopper.catch_up()
                    shopper.listener.close()
                    shopper.listener = dice.choice(made).log.listen(ALL, shopper.at)
                if turn % 90 == 80:
                    await fail(server, dice)
            await settled(server, made)
            for shopper in shoppers:
                await shopper.catch_up()
                assert shopper.shown == {one.comment_id: one for one in table.values()}
            assert made[0].log.last == made[1].log.last


async def settled(server: RedisServer, made: list[RedisBroker]) -> None:
    """Wait until all servers have published and received all changes."""
    async with Redis.from_url(server.url, protocol=2) as client, asyncio.timeout(60):
        while True:
            newest: Any = await client.xrevrange(made[0]._stream, count=1)
            calm = not any(one._unreachable or one._unpublished or one._lossy for one in made)
            if calm and {one._last_entry for one in made} == {entry for entry, _ in newest}:
                await asyncio.sleep(4 * redis_stream.HEARTBEAT_INTERVAL)
                if await client.xrevrange(made[0]._stream, count=1) == newest:
                    return
            await asyncio.sleep(redis_stream.HEARTBEAT_INTERVAL)


def write(broker: RedisBroker, table: dict[int, Comment], number: int, dice: random.Random) -> None:
    """Publish that a comment was added, edited or deleted. New comments have new ids."""
    number = dice.choice([*table, number, number])
    old = table.pop(number, None)
    if old is None:
        table[number] = comment(number)
    elif dice.random() < 0.7:
        table[number] = comment(number, edits=int(old.text.split()[1]) + 1)
    broker.publish(change_of(old, table.get(number)))


async def fail(server: RedisServer, dice: random.Random) -> None:
    """Kill and restart Redis, or empty it, or cut all connections."""
    fault = dice.randrange(3)
    if fault == 0:
        server.kill()
        await asyncio.sleep(dice.random() / 5)
        server.start()
        return
    async with Redis.from_url(server.url) as client:
        if fault == 1:
            await client.flushall()
        else:
            await client.client_kill_filter(_type="normal", skipme=True)


async def test_an_erasure_removes_all_texts_from_redis_once(
    redis: Redis, lasting: RedisServer
) -> None:
    async with brokers(lasting, 2) as (one, other):
        listener = one.log.listen(ALL, None)
        other.publish(change_of(None, comment(1)))
        assert await kinds(listener, 2) == [KIND.READY, KIND.ADDED]
        before = one.log.last
        for broker in (one, other, one):
            broker.erased("first")
            await until(lambda: one.log.last == other.log.last != before)
        assert await kinds(listener, 1) == [KIND.RELOAD]
        assert await redis.exists(one._comments) == 0
        assert await redis.xlen(one._stream) == 1
        other.publish(change_of(None, comment(2)))
        assert await kinds(listener, 1) == [KIND.ADDED], "the epoch has not changed again"
        assert await redis.hlen(one._comments) == 1


async def test_an_erasure_reaches_the_log_while_redis_is_unreachable() -> None:
    with redis_server() as server:
        async with brokers(server, 1) as (broker,):
            listener = broker.log.listen(ALL, None)
            broker.publish(change_of(None, comment(1)))
            assert await kinds(listener, 2) == [KIND.READY, KIND.ADDED]
            server.kill()
            await until(lambda: broker._unreachable)
            broker.publish(change_of(None, comment(3)))
            broker.erased("first")
            assert not broker.log._entries
            assert not broker._unpublished
            assert await kinds(listener, 1) == [KIND.RELOAD]
            broker.publish(change_of(None, comment(2)))
            server.start()
            assert await kinds(listener, 1) == [KIND.RELOAD], "an epoch without the first texts"


async def test_a_changed_password_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Redis first closes the connection. The reason follows at the next attempt."""
    with redis_server() as server, caplog.at_level(logging.WARNING):
        async with brokers(server, 1), Redis.from_url(server.url, protocol=2) as operator:
            await operator.config_set("requirepass", "new")
            await operator.client_kill_filter(_type="normal", skipme=True)
            await until(lambda: "refuses the password" in caplog.text)
            await asyncio.sleep(0.2)
            assert caplog.text.count("refuses the password") == 1
            await operator.config_set("requirepass", "")
            await until(lambda: " is back" in caplog.text)
