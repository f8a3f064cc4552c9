"""``serve --workers``: to clients, two processes are one server."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from dal.stores import Stores
from server.local_engine.storage import open_table
from server.settings import Settings
from tests.engines import ROOT
from tests.server.local_engine.test_kill import COMMENTS, add_all, client_of, verify
from tests.server.serving import add_comment, marginalia, served
from tests.server.workers.processes import another, clients_of, complaints, workers_of

TWO = ("--workers", "2", "--rate-limit", "off")


async def test_a_killed_worker_is_replaced_and_no_acknowledged_write_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM ends the server after its running requests.

    A worker imports the installed package, not a module in the current directory.
    """
    (tmp_path / "server.py").write_text("raise SystemExit('not what is installed')")
    monkeypatch.chdir(tmp_path)
    with served(tmp_path / "data", *TWO) as server:
        first, second = workers_of(server)
        async with client_of(server) as client:
            acknowledged = await add_all(client, list(range(COMMENTS)), {20: first.kill})
            # The other worker continues to serve.
            assert COMMENTS // 2 <= len(acknowledged) <= COMMENTS
        assert await another(server, first, 2) not in {first, second}
        assert second.is_running()
        await verify(server, acknowledged)
        family = [server.engine(), *workers_of(server)]
        async with clients_of(server, 4) as clients:  # each of the two workers accepts two
            adding = [asyncio.create_task(add_comment(one, "in flight")) for one in clients]
            await asyncio.wait(adding, return_when=asyncio.FIRST_COMPLETED)
            server.process.send_signal(signal.SIGTERM)
            assert await asyncio.gather(*adding)
        code, errors = server.ended()
        assert not any(process.is_running() for process in family)
    assert code == 0
    assert complaints(errors) == ["A worker has ended (killed by SIGKILL): starting it again."]


def test_a_server_whose_workers_cannot_start_ends_with_a_sentence(tmp_path: Path) -> None:
    hook = tmp_path / "sitecustomize.py"
    hook.write_text("import sys\nif '--multiprocessing-fork' in sys.orig_argv: sys.exit(1)\n")
    options = ("--port", "0", "--data-dir", tmp_path / "data", *TWO)
    refused = marginalia("serve", *options, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("marginalia: A worker ")


async def test_ctrl_c_ends_all_processes_after_the_running_requests(tmp_path: Path) -> None:
    """A terminal sends SIGINT to every process of the group."""
    with served(tmp_path, *TWO) as server:
        family = [server.engine(), *workers_of(server)]
        async with client_of(server) as client:
            adding = [asyncio.create_task(add_comment(client, f"{i}")) for i in range(20)]
            await asyncio.wait(adding, return_when=asyncio.FIRST_COMPLETED)
            os.killpg(server.process.pid, signal.SIGINT)
            answers = {answer for answer in await asyncio.gather(*adding) if answer}
        code, errors = server.ended()
        assert (code, complaints(errors)) == (0, [])
        assert not any(process.is_running() for process in family)
    async with open_table(Settings(data_dir=tmp_path), share=False) as table:
        kept = await Stores(table).comments.get_many(list(answers))
    assert kept.keys() == answers
    assert answers
