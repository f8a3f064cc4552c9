"""Changes of several processes by way of their parent: one order, one numbering."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

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

    brokers: list[LocalSocketBroker]
    joining: list[asyncio.Task[None]]
    lost: list[asyncio.Event]

    async def settled(self) -> None:
        """Wait until all have heard of everything."""
        await self.until(lambda: len({broker.log.last for broker in self.brokers}) == 1)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            await asyncio.sleep(0.005)
            while not holds():  # noqa: ASYNC110 - what is looked at has no events
                await asyncio.sleep(0.005)


@asynccontextmanager
async def machine(workers: int) -> AsyncIterator[Machine]:
    exchange, made = Exchange(), Machine([], [], [])
    async with AsyncExitStack() as stack:
        for _ in range(workers):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            made.joining.append(asyncio.create_task(exchange.connect(ours)))
            made.lost.append(asyncio.Event())
            made.brokers.append(await stack.enter_async_context(joined(theirs, made.lost[-1].set)))
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
        async with asyncio.timeout(30):
            kinds = [(await anext(listener)).kind for _ in range(3)]
        assert kinds[1:] == [CommentEventKind.ADDED, CommentEventKind.RELOAD]
        async with asyncio.timeout(30):
            await made.lost[1].wait()


async def test_who_takes_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_socket, "MAX_BACKLOG", 10_000)
    async with machine(1) as made:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            _, writer = await asyncio.open_unix_connection(sock=ours)
            deaf = LocalSocketBroker(writer)
            async with asyncio.timeout(30):
                while not writer.transport.is_closing():
                    deaf.changed(None, comment(1)._replace(text="x" * 9_000))
                    await asyncio.sleep(0)
        assert not made.lost[0].is_set()
