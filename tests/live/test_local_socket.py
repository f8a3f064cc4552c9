"""Changes of several processes by way of their parent: one order, one numbering."""

import asyncio
import logging
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from dal.repositories.comments import Selection
from live import local_socket
from live.events import CommentEventKind
from live.local_socket import Exchange, LocalSocketBroker, joined
from tests.live.listening import comment, waiting

ALL = Selection("42")


@dataclass
class Machine:
    """An exchange and its workers' brokers, all in this process."""

    exchange: Exchange
    stack: AsyncExitStack
    brokers: list[LocalSocketBroker] = field(default_factory=list)
    joining: list[asyncio.Task[None]] = field(default_factory=list)
    lost: list[asyncio.Event] = field(default_factory=list)

    async def join(self) -> LocalSocketBroker:
        """Have another worker take part."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.joining.append(asyncio.create_task(self.exchange.connect(ours)))
        lost = asyncio.Event()
        self.lost.append(lost)
        self.brokers.append(await self.stack.enter_async_context(joined(theirs, lost.set)))
        return self.brokers[-1]

    async def settled(self) -> None:
        """Wait until all have heard of everything."""
        await self.until(lambda: len({broker.log.last for broker in self.brokers}) == 1)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            await asyncio.sleep(0.005)
            while not holds():  # noqa: ASYNC110 - what is looked at has no events
                await asyncio.sleep(0.005)


@asynccontextmanager
async def machine(workers: int) -> AsyncIterator[Machine]:
    async with AsyncExitStack() as stack:
        made = Machine(Exchange(), stack)
        for _ in range(workers):
            await made.join()
        yield made
        for task in made.joining:
            task.cancel()
        await asyncio.gather(*made.joining, return_exceptions=True)


async def test_all_hear_the_same_in_one_order() -> None:
    dice = random.Random(2)
    async with machine(3) as made:
        await made.settled()
        for number in range(300):
            dice.choice(made.brokers).changed(None, comment(number))
            if dice.random() < 0.1:
                await asyncio.sleep(0)
        await made.until(lambda: all(broker.log.last.number == 300 for broker in made.brokers))
        first, second, third = ([*broker.log._changes] for broker in made.brokers)
        assert first == second == third
        assert [number for number, _ in first] == list(range(1, 301))
        # What one has told, any other resumes from.
        after = made.brokers[0].log.last._replace(number=290)
        assert len(await waiting(made.brokers[2].log.listen(ALL, after))) == 10


async def test_the_end_of_a_process_is_a_reload_for_the_others() -> None:
    async with machine(2) as made:
        await made.settled()
        left, gone = made.brokers
        listener = left.log.listen(ALL, None)
        gone.changed(None, comment(1))
        gone._writer.close()
        async with asyncio.timeout(60):
            kinds = [(await anext(listener)).kind for _ in range(3)]
        assert kinds[1:] == [CommentEventKind.ADDED, CommentEventKind.RELOAD]
        async with asyncio.timeout(60):
            await made.lost[1].wait()


async def test_who_takes_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_socket, "MAX_BACKLOG", 10_000)
    async with machine(1) as made:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            _, writer = await asyncio.open_unix_connection(sock=ours)
            deaf = LocalSocketBroker(writer)
            async with asyncio.timeout(60):
                while not writer.transport.is_closing():
                    deaf.changed(None, comment(1)._replace(text="x" * 9_000))
                    await asyncio.sleep(0)
        assert not made.lost[0].is_set()


@pytest.mark.parametrize(
    "said",
    [
        b'{"product": "42", "position": 7, "of": "another version"}',
        b'["another", "version"]',
        b"no JSON",
    ],
)
async def test_a_change_of_another_version_is_a_reload_and_one_line(
    said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Who was there hears on; who comes later, and who resumes from before it, does too."""
    with caplog.at_level(logging.WARNING):
        async with machine(2) as made:
            await made.settled()
            old, new = made.brokers
            before = old.log.last
            listener = old.log.listen(ALL, None)
            for _ in range(2):
                new._writer.write(said + b"\n")
            new.changed(None, comment(1))
            await made.until(lambda: old.log.last.number == before.number + 3)
            kinds = [event.kind for event in await waiting(listener)]
            assert kinds[-2:] == [CommentEventKind.RELOAD, CommentEventKind.ADDED]
            resumed = await waiting(old.log.listen(ALL, before))
            assert [event.kind for event in resumed] == [CommentEventKind.RELOAD]
            assert not made.lost[0].is_set()
            assert (await made.join()).log.last == old.log.last
    assert [record.message.partition(" (")[0] for record in caplog.records] == [
        "A change of another version cannot be read"
    ] * 3  # one for each worker


async def test_who_cannot_read_on_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is too long has no end to go on at: another worker is to follow."""
    monkeypatch.setattr(local_socket, "MAX_LINE", 1_000)
    async with machine(1) as made:
        writer = next(iter(made.exchange._workers))
        writer.write(b"x" * 5_000)
        async with asyncio.timeout(60):
            await made.lost[0].wait()
