"""Live comments of two workers: what one writes, listeners of both are told."""

import asyncio
import random
from pathlib import Path
from typing import Any

from tests.server.http.subscribing import Event, by_socket, by_stream
from tests.server.serving import Served, add_comment, served
from tests.server.workers.processes import another, clients_of, workers_of

WRITES = 60


async def listen(server: Served, transport: Any, seed: int, ready: asyncio.Semaphore) -> list[str]:
    """Return what a client that connects again and again, to either worker, has seen."""
    dice = random.Random(seed)
    seen: list[Event] = []
    after = None
    while len(seen) < WRITES:
        async with transport(server.url, after=after) as events:
            if after is None:
                after = (await anext(events))["cursor"]
                ready.release()
            for _ in range(min(dice.randrange(1, 20), WRITES - len(seen))):
                seen.append(await anext(events))
                after = seen[-1]["cursor"]
    return [one["commentEdge"]["node"]["text"] for one in seen]


async def test_listeners_of_both_workers_see_all_writes_in_one_order(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2", "--rate-limit", "off") as server:
        ready = asyncio.Semaphore(0)
        transports = [by_socket, by_stream, by_socket, by_stream]
        listening = [
            asyncio.create_task(listen(server, transport, seed, ready))
            for seed, transport in enumerate(transports)
        ]
        for _ in transports:
            await ready.acquire()
        async with clients_of(server, 2) as clients:
            for number in range(WRITES):
                assert await add_comment(clients[number % 2], f"{number}")
        seen = await asyncio.wait_for(asyncio.gather(*listening), 120)
    assert sorted(seen[0], key=int) == [str(number) for number in range(WRITES)]
    assert all(one == seen[0] for one in seen)


async def test_the_death_of_a_worker_and_a_restart_are_a_reload(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as server:
        async with by_socket(server.url) as one, by_stream(server.url) as other:
            streams = [one, other]
            after = (await anext(one))["cursor"]
            await anext(other)
            gone = workers_of(server)[0]
            gone.kill()
            told = await asyncio.gather(
                *(anext(stream) for stream in streams), return_exceptions=True
            )
            left = [event for event in told if isinstance(event, dict)]
            assert [event["kind"] for event in left] == ["RELOAD"]
            await another(server, gone, 2)
        server.end()
    with served(tmp_path) as server:
        async with by_stream(server.url, after=after) as events:
            assert (await anext(events))["kind"] == "RELOAD"
