"""A server with ``--demo``: what it prints, and signals while it loads the data."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import orjson

from tests.server.cli.commands.test_serve import client_of
from tests.server.serving import MARGINALIA, add_comment, all_comments, environment, served


async def test_the_demo_shows_how_to_read_and_to_write(tmp_path: Path, demo_data: Path) -> None:
    shutil.copytree(demo_data, tmp_path, dirs_exist_ok=True)
    with served(tmp_path, "--demo", MARGINALIA_JWT_SECRET="") as server:
        assert f"  Pages     {server.url}/ " in server.said
        assert f"  GraphiQL  {server.url}/graphql\n" in server.said
        assert f"  Data      {tmp_path}/marginalia.db, table marginalia" in server.said
        (header,) = [line for line in server.said.splitlines() if "Bearer" in line]
        async with client_of(server, orjson.loads(header)) as client:
            page = await client.get("/graphql", headers={"Accept": "text/html"})
            assert (page.status_code, "GraphiQL" in page.text) == (200, True)
            written = await add_comment(client, "from the demo")
            assert await all_comments(client) == [(written, "from the demo")]


def test_sighup_does_not_end_a_server_that_starts(tmp_path: Path) -> None:
    """SIGHUP arrives while the demo data is loading, before the workers start."""
    command = [str(MARGINALIA), "serve", "--port", "0", "--data-dir", str(tmp_path / "data")]
    log = tmp_path / "log"
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            [*command, "--demo", "--workers", "2"],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        ) as starting,
    ):
        try:
            logged(log, "Demo data: loading", starting)
            starting.send_signal(signal.SIGHUP)
            logged(log, "no worker serves", starting)
        finally:
            starting.terminate()
    assert starting.returncode == 0
    assert "Traceback" not in log.read_text()


def logged(log: Path, sentence: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has logged a sentence."""
    deadline = time.monotonic() + 120
    while sentence not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.01)
