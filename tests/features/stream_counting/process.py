"""A follower in a separate process, which ``test_kills`` starts and kills."""

import asyncio
from multiprocessing.connection import Connection as Pipe

from dal.dynamodb.table import TableAddress, connect
from features.stream_counting import follower as following
from features.stream_counting.follower import follow, open_follower
from features.stream_counting.streams import connect_streams


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
