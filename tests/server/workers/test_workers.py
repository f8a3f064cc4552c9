"""``serve --workers``: two processes that look like one from outside."""

import asyncio
import os
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from dal.stores import Stores
from server.engine.storage import open_table
from server.settings import Settings
from tests.engines import ROOT
from tests.server.engine.test_kill import COMMENTS, add_all, client_of, verify
from tests.server.serving import add_comment, marginalia, served
from tests.server.workers.processes import another, clients_of, complaints, logged, said, workers_of

TWO = ("--workers", "2", "--rate-limit", "off")


async def test_a_killed_worker_costs_nothing_acknowledged_and_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker imports what is installed, not what is in the current directory."""
    (tmp_path / "server.py").write_text("raise SystemExit('not what is installed')")
    monkeypatch.chdir(tmp_path)
    with served(tmp_path / "data", *TWO) as server:
        first, second = workers_of(server)
        async with client_of(server) as client:
            acknowledged = await add_all(client, list(range(COMMENTS)), {20: first.kill})
            # The other one served on.
            assert COMMENTS // 2 <= len(acknowledged) <= COMMENTS
        assert await another(server, first, 2) not in {first, second}
        assert second.is_running()
        await verify(server, acknowledged)
        async with clients_of(server, 4):
            pass  # each worker takes two of them
        code, errors = server.end()
    assert code == 0
    assert complaints(errors) == ["A worker died (killed by SIGKILL): starting it again."]
    assert errors.count("Live comments are off: several workers need --redis-url") == 1


async def test_a_worker_that_dies_at_its_start_is_tried_again_after_longer_and_longer(
    tmp_path: Path,
) -> None:
    """First its settings are broken, then a signal kills it; the other worker serves meanwhile."""
    nameless = 35
    manifest, kills = tmp_path / "manifest.json", tmp_path / "sitecustomize.py"
    manifest.write_text('{"one": "{ __typename }"}')
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    options = (*TWO, "--documents", str(manifest))
    with served(tmp_path / "data", *options, PYTHONPATH=path) as server:
        victim, other = workers_of(server)
        manifest.write_text('{"one": "{ noSuchField }"}')
        victim.send_signal(nameless)
        await logged(server, f"A worker died (killed by signal {nameless}): starting it again.")
        await logged(server, "A worker died (exit code 3): starting it again in 2 s.")
        manifest.write_text('{"one": "{ __typename }"}')
        kills.write_text("import os\nos.kill(os.getpid(), 9)\n")
        async with client_of(server) as client:
            assert (await client.get("/health/ready")).is_success
        await logged(server, "A worker died (killed by SIGKILL): starting it again in 4 s.")
        kills.unlink()
        await another(server, victim, 2)
        assert other.is_running()
        async with clients_of(server, 2):
            pass
        died = [line.startswith("A worker died") for line in complaints(said(server))]
        assert died.count(True) == 3

        # A killed parent takes its workers and its engine along.
        family = [server.engine(), *workers_of(server)]
        server.kill()
        _, alive = psutil.wait_procs(family, timeout=60)
        assert not alive
        with socket.create_server(("127.0.0.1", urlsplit(server.url).port or 0)):
            pass  # the port is free


def test_a_server_whose_workers_cannot_start_ends_with_a_sentence(tmp_path: Path) -> None:
    hook = tmp_path / "sitecustomize.py"
    hook.write_text("import sys\nif '--multiprocessing-fork' in sys.orig_argv: sys.exit(1)\n")
    options = ("--port", "0", "--data-dir", tmp_path / "data", *TWO)
    refused = marginalia("serve", *options, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == (
        "marginalia: No worker can be started: see the log above."
    )


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
