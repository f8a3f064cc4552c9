"""Followers that are killed repeatedly at random moments, while other processes write."""

import asyncio
import multiprocessing
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import islice

import pytest

from dal.dynamodb.table import Table, TableAddress
from features.stream_counting.checkpoints import Checkpoints, label_of
from features.stream_counting.streams import Streams, stream_of
from tests.engines import SECOND_IN_SOAK
from tests.features.stream_counting.clients import connection_of
from tests.features.stream_counting.process import run
from tests.features.stream_counting.records import catch_up
from tests.histories import check_all, history, write_raw

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.features.stream_counting.process"])


SHARE = 100
"""The number of new writes for each follower. So no follower waits for records of a program that
has written everything."""


@SECOND_IN_SOAK
@pytest.mark.parametrize(
    "kills", [4, pytest.param(50, marks=pytest.mark.soak)], ids=["4-kills", "50-kills"]
)
async def test_killed_followers_count_once(streamed: Table, streams: Streams, kills: int) -> None:
    chance = random.Random(kills)
    shares = asyncio.Semaphore(0)
    sequence = await sequence_in(streamed, streams)
    reached = [await sequence()]
    async with asyncio.TaskGroup() as writing:
        writing.create_task(write_shares(shares, streamed, kills))
        for number in range(kills):
            async with living(connection_of(streamed)):
                shares.release()
                if number % 2:
                    async with asyncio.timeout(60):
                        while await sequence() == reached[-1]:  # noqa: ASYNC110 - polled
                            await asyncio.sleep(0.01)
                await asyncio.sleep(chance.uniform(0, 0.2))
            reached.append(await sequence())
    await catch_up(streamed, streams)
    assert reached == sorted(reached)
    await check_all(streamed)


async def write_shares(shares: asyncio.Semaphore, table: Table, count: int) -> None:
    """Write a share of a history whenever the test releases one, until all are written."""
    steps = history(count, count * SHARE)
    for _ in range(count):
        await shares.acquire()
        await write_raw(table, islice(steps, SHARE))


@asynccontextmanager
async def living(connection: TableAddress) -> AsyncIterator[None]:
    """Run a follower in another process until the block ends, then kill it."""
    here, there = PROCESSES.Pipe()
    process = PROCESSES.Process(target=run, args=(connection, there))
    process.start()
    try:
        await asyncio.to_thread(here.recv)
        yield
        assert process.is_alive()
    finally:
        process.kill()
        process.join()
        process.close()
        here.close()
        there.close()


async def sequence_in(table: Table, streams: Streams) -> Callable[[], Awaitable[int]]:
    """Return a function that reads the sequence number of the only shard's last counted record.

    The function does not list the shards, because ``Streams`` lists them twice a second at most.
    """
    arn = str(await stream_of(table))
    (shard,) = (await streams.describe(arn)).shards
    checkpoints = Checkpoints(table, label_of(arn))

    async def sequence() -> int:
        checkpoint = (await checkpoints.read([shard.shard_id]))[shard.shard_id]
        return int(checkpoint.sequence or "0")

    return sequence
