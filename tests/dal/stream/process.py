"""A follower in a separate process, which ``tests.dal.stream.test_kills`` starts and kills."""

import asyncio
from multiprocessing.connection import Connection as Pipe

from dal.dynamodb.table import TableAddress, connect, connect_streams
from dal.stream import follower as following
from dal.stream.follower import follow, open_follower


def run(connection: TableAddress, ready: Pipe) -> None:
    # Without pauses between the rounds, nearly every kill interrupts a round.
    following.READ_EVERY = following.LONGEST_PAUSE = 0.0
    asyncio.run(_follow(connection, ready))


async def _follow(connection: TableAddress, ready: Pipe) -> None:
    async with connect(connection) as table, connect_streams(connection) as streams:
        follower = await open_follower(table, streams)
        # The first round takes longest, because it opens both clients' connections.
        await follower.round()
        ready.send(None)
        await follow(table, streams)
