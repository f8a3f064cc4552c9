"""``marginalia stats`` in the maintenance mode stream."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb.table import Table
from dal.stores import Stores
from features.stream_counting.streams import stream_of
from server.errors import CommandError
from tests.engines import ROOT
from tests.features.stream_counting.conftest import transactional
from tests.putting import put_comments
from tests.server.cli.commands.test_stats import ROWS, beside, run
from tests.server.serving import MARGINALIA, called, environment

__all__ = ["beside"]


@pytest.fixture
async def table(table: Table) -> Table:
    return await transactional(table)


def test_a_stream_is_followed_until_a_signal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ("--data-dir", str(tmp_path))
    run("table", "create", *store)
    run("table", "describe", *store)
    assert "changes is off" in capsys.readouterr().out
    with pytest.raises(CommandError, match="`marginalia stats rebuild --mode stream`"):
        run("stats", "follow", *store)
    run("stats", "rebuild", "--mode", "stream", *store)
    run("table", "describe", *store)
    assert "changes is on" in capsys.readouterr().out
    command = [str(MARGINALIA), "stats", "follow", *store]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as following:
        assert following.stdout is not None
        assert following.stdout.readline().startswith("Counting ")
        following.send_signal(signal.SIGTERM)
        said, complained = following.communicate(timeout=60)
    assert (following.returncode, said, complained) == (0, "", "")


def test_a_follower_that_cannot_begin_prints_no_progress(tmp_path: Path) -> None:
    data_dir = tmp_path / "file"
    data_dir.touch()
    done = called("stats", "follow", "--data-dir", data_dir, "--metrics-port", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"marginalia: {data_dir} ")


def test_in_transactional_mode_no_follower_is_imported(
    tmp_path: Path,
) -> None:
    program = (
        "import sys\n"
        "from server.cli.main import build\n"
        "for command in (['table', 'create'], ['stats', 'rebuild'], ['stats', 'verify']):\n"
        "    arguments = [*command, '--data-dir', sys.argv[1]]\n"
        "    build(arguments)(arguments, standalone_mode=False)\n"
        "package = 'features.stream_counting.'\n"
        "found = sorted(name for name in sys.modules if name.startswith(package))\n"
        "print(*(name.removeprefix(package) for name in found))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        check=True,
        text=True,
        cwd=ROOT,
    )
    assert done.stdout.splitlines()[-1] == "commands kind streams"


async def test_the_mode_is_switched_to_stream_and_back(
    table: Table, beside: tuple[str, ...]
) -> None:
    await put_comments(Stores(table).comments, ROWS)
    counting = MaintenanceStore(table)
    for mode in (MaintenanceMode.STREAM, MaintenanceMode.TRANSACTIONAL):
        await asyncio.to_thread(run, "stats", "rebuild", "--mode", mode.value, *beside)
        assert (await counting.read()).mode is mode
        assert (await stream_of(table) is not None) == (mode is MaintenanceMode.STREAM)


async def test_verify_advises_to_wait_for_a_follower_that_is_behind(
    table: Table, beside: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dal.maintenance.verify.PAUSE_SECONDS", 0)
    counting = MaintenanceStore(table)
    await counting.announce(await counting.read(), mode=MaintenanceMode.STREAM)
    await put_comments(Stores(table).comments, ROWS)
    with pytest.raises(CommandError, match="verify again"):
        await asyncio.to_thread(run, "stats", "verify", *beside)
