"""SIGHUP replaces the workers one by one, while clients listen."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed, InvalidMessage

from tests.engines.redis import NEEDS_REDIS, redis_server
from tests.features.live.subscribing import by_socket, by_stream
from tests.server.serving import Served, served
from tests.server.workers.processes import complaints
from tests.server.workers.test_replacing import ALL, CLIENTS, TWO, Client, replaced


async def listen(server: Served, transport: Any, seen: list[str], ready: asyncio.Semaphore) -> None:
    """Receive events of added comments.

    After the end of a connection, continue at another worker.
    """
    after = None
    while True:
        try:
            async with transport(server.url, after=after) as events:
                async for event in events:
                    assert event["kind"] in {"READY", "ADDED"}
                    after = event["cursor"]
                    if event["kind"] == "READY":
                        ready.release()
                    else:
                        seen.append(event["commentEdge"]["node"]["text"])
        except (ConnectionClosed, ConnectionError, InvalidMessage, httpx.TransportError):
            pass
        except TypeError:  # an error without data, because the server stops
            assert after is not None


@NEEDS_REDIS
async def test_listeners_receive_every_event_while_all_workers_are_replaced(tmp_path: Path) -> None:
    """Only clients of subscriptions must connect again. They receive every event once."""
    with redis_server() as redis, served(tmp_path, *TWO, "--redis-url", redis.url) as server:
        heard: list[list[str]] = [[], [], [], []]
        ready = asyncio.Semaphore(0)
        transports = (by_socket, by_stream, by_socket, by_stream)
        listening = [
            asyncio.create_task(listen(server, transport, seen, ready))
            for transport, seen in zip(transports, heard, strict=True)
        ]
        for _ in listening:
            await ready.acquire()
        clients, ended = [Client(number) for number in range(CLIENTS)], asyncio.Event()
        adding = asyncio.gather(*(client.add_until(server, ended) for client in clients))
        await replaced(server)
        ended.set()
        await adding
        added = Counter(text for client in clients for text in client.added)
        async with asyncio.timeout(60):
            while any(len(seen) < added.total() for seen in heard):
                for task in listening:
                    assert not task.done(), task
                await asyncio.sleep(0.02)
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
        assert [Counter(seen) - added for seen in heard] == [Counter()] * 4
        assert [added - Counter(seen) for seen in heard] == [Counter()] * 4
        code, errors = server.end()
    assert code == 0
    assert complaints(errors) == [ALL]
