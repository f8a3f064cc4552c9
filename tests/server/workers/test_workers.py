"""``serve --workers``: two processes that look like one from outside."""

import asyncio
import os
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from dal.stores import Stores
from server.engine.storage import open_table
from server.settings import Settings
from tests.server.engine.test_kill import COMMENTS, add_all, client_of, verify
from tests.server.serving import Served, add_comment, called, served
from tests.server.workers.processes import another, clients_of, complaints, workers_of

TWO = ("--workers", "2", "--rate-limit", "off")


def connections(worker: psutil.Process, server: Served) -> int:
    """Return how many clients a worker serves."""
    port = urlsplit(server.url).port
    return sum(one.laddr.port == port for one in worker.net_connections("tcp"))


async def test_clients_are_handed_round_and_what_one_writes_all_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server.py").write_text("raise SystemExit('not what is installed')")
    monkeypatch.chdir(tmp_path)
    with served(tmp_path / "data", *TWO) as server:
        async with clients_of(server, 6) as clients:
            assert [connections(one, server) for one in workers_of(server)] == [3, 3]
            for number, client in enumerate(clients):
                assert await add_comment(client, f"comment {number}")
            assert len({str(await _texts(client)) for client in clients}) == 1
            assert len(await _texts(clients[0])) == 6
        code, errors = server.end()
    assert (code, complaints(errors)) == (0, [])


async def _texts(client: httpx.AsyncClient) -> list[str]:
    query = '{ product(productId: "42") { comments { nodes { text } } } }'
    answer = (await client.post("/graphql", json={"query": query})).json()
    return [node["text"] for node in answer["data"]["product"]["comments"]["nodes"]]


async def test_a_killed_worker_costs_nothing_acknowledged_and_is_replaced(tmp_path: Path) -> None:
    with served(tmp_path, *TWO) as server:
        first, second = workers_of(server)
        async with client_of(server) as client:
            acknowledged = await add_all(client, list(range(COMMENTS)), {20: first.kill})
            # The other one served on.
            assert COMMENTS // 2 <= len(acknowledged) <= COMMENTS
        assert await another(server, first, 2) not in {first, second}
        assert second.is_running()
        await verify(server, acknowledged)
        async with clients_of(server, 4), asyncio.timeout(60):
            # Those who left may be served for a moment longer.
            while {connections(one, server) for one in workers_of(server)} != {2}:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        code, errors = server.end()
    assert code == 0
    assert complaints(errors) == ["A worker died (killed by SIGKILL): starting it again."]


async def test_workers_that_keep_dying_end_the_server_with_a_reason(tmp_path: Path) -> None:
    with served(tmp_path, *TWO) as server:
        engine = server.engine()
        victim = workers_of(server)[0]
        for _ in range(5):
            victim.kill()
            victim = await another(server, victim, 2)
        victim.kill()
        code, errors = server.ended()
        assert code == 2
        assert errors.splitlines()[-1].startswith(
            "marginalia: Workers died 6 times in a minute, last killed by SIGKILL:"
        )
        assert "Traceback" not in errors
        assert not engine.is_running()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_all_after_the_requests_in_flight(
    tmp_path: Path, number: signal.Signals
) -> None:
    """A terminal sends SIGINT to every process of the group."""
    with served(tmp_path, *TWO) as server:
        family = [server.engine(), *workers_of(server)]
        async with client_of(server) as client:
            adding = [asyncio.create_task(add_comment(client, f"{i}")) for i in range(20)]
            await asyncio.wait(adding, return_when=asyncio.FIRST_COMPLETED)
            if number == signal.SIGINT:
                os.killpg(server.process.pid, number)
            else:
                server.process.send_signal(number)
            answers = {answer for answer in await asyncio.gather(*adding) if answer}
        code, errors = server.ended()
        assert (code, complaints(errors)) == (0, [])
        assert not any(process.is_running() for process in family)
    async with open_table(Settings(data_dir=tmp_path), share=False) as table:
        kept = await Stores(table).comments.get_many(list(answers))
    assert kept.keys() == answers
    assert answers


async def test_a_killed_parent_takes_its_workers_along(tmp_path: Path) -> None:
    with served(tmp_path, *TWO) as server:
        family = [server.engine(), *workers_of(server)]
        port = str(urlsplit(server.url).port)
        server.kill()
        # The port is free at once, whatever the workers still do.
        with socket.create_server(("127.0.0.1", int(port))):
            gone, alive = psutil.wait_procs(family, timeout=60)
        assert not alive
        assert gone


def test_one_taken_port_is_told_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        refused = called("serve", "--port", port, "--data-dir", tmp_path, *TWO)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"marginalia: Port {port} on 127.0.0.1 is taken:")
