"""The engine or the server is killed during writes."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest

from tests.server.embedded import successor
from tests.server.serving import Served, add_comment, all_comments, bearer, served

COMMENTS = 64
CLIENTS = 16

Acknowledged = dict[int, str]
"""The id of the comment that each acknowledged mutation added, by the mutation's number."""


def client_of(server: Served) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, headers=bearer("ana"), timeout=60)


async def add_all(
    client: httpx.AsyncClient, numbers: list[int], at: dict[int, Callable[[], object]]
) -> Acknowledged:
    """Add comments from several clients. Return those that the server acknowledged.

    ``at`` contains functions, each called after this number of acknowledgements.
    """
    waiting = iter(numbers)
    acknowledged: Acknowledged = {}

    async def work() -> None:
        for number in waiting:
            comment_id = await add_comment(client, f"comment {number}", f"key {number}")
            if comment_id is not None:
                acknowledged[number] = comment_id
                at.get(len(acknowledged), lambda: None)()

    await asyncio.gather(*(work() for _ in range(CLIENTS)))
    return acknowledged


async def verify(server: Served, acknowledged: Acknowledged) -> None:
    """Check that each acknowledged comment is stored once. Then retry all mutations.

    The retries must return the stored comments, and add only those that are missing.
    """
    async with client_of(server) as client:
        kept = await all_comments(client)
        assert {(comment, f"comment {n}") for n, comment in acknowledged.items()} <= set(kept)
        assert len({text for _, text in kept}) == len(kept)
        again = await add_all(client, list(range(COMMENTS)), {})
        # On a busy machine, some requests reach their deadline, so these are sent again.
        again |= await add_all(client, [n for n in range(COMMENTS) if n not in again], {})
        assert len(again) == COMMENTS
        assert acknowledged.items() <= again.items()
        assert {text: comment for comment, text in kept}.items() <= {
            f"comment {n}": comment for n, comment in again.items()
        }.items()
        final = await all_comments(client)
        assert sorted(final) == sorted((comment, f"comment {n}") for n, comment in again.items())


async def test_no_request_fails_when_the_engine_is_killed(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        first = server.engine()
        async with client_of(server) as client:
            numbers = list(range(COMMENTS))
            acknowledged = await add_all(client, numbers, {20: first.kill})
        assert await successor(tmp_path, first.pid) != first.pid
        assert len(acknowledged) == COMMENTS
        await verify(server, acknowledged)
        assert "The storage engine has ended (killed by SIGKILL)" in server.end()[1]


@pytest.mark.parametrize("engine_first", [True, pytest.param(False, marks=pytest.mark.soak)])
async def test_the_engine_of_a_killed_server_ends_and_no_acknowledged_write_is_lost(
    tmp_path: Path, engine_first: bool
) -> None:
    with served(tmp_path) as server:
        engine = server.engine()

        def kill() -> None:
            if engine_first:
                engine.kill()
            server.process.kill()

        async with client_of(server) as client:
            acknowledged = await add_all(client, list(range(COMMENTS)), {COMMENTS // 2: kill})
        assert server.process.wait(60) == -signal.SIGKILL
        psutil.wait_procs([engine], timeout=60)
        assert not engine.is_running()
    assert COMMENTS // 2 <= len(acknowledged) < COMMENTS
    with served(tmp_path) as server:
        await verify(server, acknowledged)
