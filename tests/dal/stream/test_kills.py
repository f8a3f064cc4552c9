"""Followers that are killed repeatedly at random moments, while other processes write."""

import asyncio
import multiprocessing
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dal.dynamodb import admin
from dal.dynamodb.streams import Streams
from dal.dynamodb.table import Table, TableAddress
from dal.stream.checkpoints import Checkpoints, label_of
from tests.dal.conftest import connection_of
from tests.dal.stream.histories import catch_up, check_all, history, write_raw
from tests.dal.stream.process import run
from tests.engines import SECOND_IN_SOAK

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.dal.stream.process"])


@SECOND_IN_SOAK
@pytest.mark.parametrize(
    "kills", [4, pytest.param(50, marks=pytest.mark.soak)], ids=["4-kills", "50-kills"]
)
async def test_killed_followers_count_once(streamed: Table, streams: Streams, kills: int) -> None:
    chance = random.Random(kills)
    stop = asyncio.Event()
    writing = asyncio.create_task(write_until(stop, streamed, seed=kills))
    reached = [await sequence(streamed, streams)]
    for number in range(kills):
        async with living(connection_of(streamed)):
            if number % 2:
                async with asyncio.timeout(60):
                    while await sequence(streamed, streams) == reached[-1]:  # noqa: ASYNC110 - polled
                        await asyncio.sleep(0.01)
            await asyncio.sleep(chance.uniform(0, 0.2))
        reached.append(await sequence(streamed, streams))
    stop.set()
    await writing
    await catch_up(streamed, streams)
    assert reached == sorted(reached)
    await check_all(streamed)


async def write_until(stop: asyncio.Event, table: Table, seed: int) -> None:
    for step in history(seed, 20_000):
        await write_raw(table, [step])
        if stop.is_set():
            return


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


async def sequence(table: Table, streams: Streams) -> int:
    """Return the sequence number of the last counted record of the only shard."""
    arn = str(await admin.stream(table))
    (shard,) = (await streams.describe(arn)).shards
    checkpoints = await Checkpoints(table, label_of(arn)).read([shard.shard_id])
    return int(checkpoints[shard.shard_id].sequence or "0")
