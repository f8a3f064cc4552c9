"""``marginalia stats`` on the command line."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dal.counts.counter_items import encode
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.stores import Stores
from server.cli.main import build
from server.errors import CommandError
from server.local_engine.storage import open_table
from server.settings import Settings
from tests import oracle
from tests.engines import ROOT
from tests.server.serving import MARGINALIA, environment

ROWS = [row._replace(language="en") for row in oracle.make_comments("42", 30, seed=1)]
WRONG = encode(StatisticsKey("gone", "en"), RatingCounts((0, 0, 7, 0, 0)))
EXACT = "equal a recount"


async def spoil(data_dir: Path) -> None:
    async with open_table(Settings(data_dir=data_dir), share=False) as table:
        await Stores(table).comments.put_many(ROWS)
        await table.put_many([WRONG, COMMENT.encode(ROWS[0]._replace(comment_id="uncounted"))])


def run(*arguments: str) -> None:
    """Run a command in this process."""
    build(list(arguments))(arguments, standalone_mode=False)


def test_wrong_counts_are_printed_and_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dal.maintenance.verify.PAUSE_SECONDS", 0)
    store = ("--data-dir", str(tmp_path))
    asyncio.run(spoil(tmp_path))
    with pytest.raises(CommandError) as refused:
        run("stats", "verify", *store)
    assert "`marginalia stats rebuild`" in str(refused.value)
    shown = capsys.readouterr().out
    lines = [[cell.strip() for cell in line.split("│")] for line in shown.splitlines()]
    assert ["", "gone", "en", "rating 3", "7", "0", ""] in lines
    assert "2 differences" in shown
    run("stats", "rebuild", *store)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "are exact" in printed.out
    run("stats", "verify", *store)
    assert EXACT in capsys.readouterr().out


def test_a_stream_is_followed_until_a_signal(tmp_path: Path) -> None:
    store = ("--data-dir", str(tmp_path))
    run("table", "create", *store)
    with pytest.raises(CommandError, match="`marginalia stats rebuild --mode stream`"):
        run("stats", "follow", *store)
    run("stats", "rebuild", "--mode", "stream", *store)
    command = [str(MARGINALIA), "stats", "follow", *store]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as following:
        assert following.stdout is not None
        assert following.stdout.readline().startswith("Counting ")
        following.send_signal(signal.SIGTERM)
        said, complained = following.communicate(timeout=60)
    assert (following.returncode, said, complained) == (0, "", "")


def test_in_transactional_mode_no_code_of_streams_is_imported(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from server.cli.main import build\n"
        "for command in (['table', 'create'], ['stats', 'rebuild'], ['stats', 'verify']):\n"
        "    arguments = [*command, '--data-dir', sys.argv[1]]\n"
        "    build(arguments)(arguments, standalone_mode=False)\n"
        "print([name for name in sys.modules if name.startswith('features.stream_counting')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        check=True,
        text=True,
        cwd=ROOT,
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def beside(table: Table, dynoxide_url: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The options of a table that servers may use too.

    A command waits only 0.2 seconds for them.
    """
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0.2)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "test")
    return "--endpoint-url", dynoxide_url, "--table", table.name


async def test_a_rebuild_waits_for_running_servers(
    table: Table, beside: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    await Stores(table).comments.put_many(ROWS)
    await table.put_many([WRONG])
    await asyncio.to_thread(run, "stats", "rebuild", *beside)
    printed = capsys.readouterr()
    assert "running servers" in printed.err
    assert "are exact" in printed.out
    await asyncio.to_thread(run, "stats", "verify", *beside)
    assert EXACT in capsys.readouterr().out


async def test_the_mode_is_switched_to_stream_and_back(
    table: Table, beside: tuple[str, ...]
) -> None:
    await Stores(table).comments.put_many(ROWS)
    counting = MaintenanceStore(table)
    for mode in (MaintenanceMode.STREAM, MaintenanceMode.TRANSACTIONAL):
        await asyncio.to_thread(run, "stats", "rebuild", "--mode", mode.value, *beside)
        assert (await counting.read()).mode is mode
        assert (await admin.stream(table) is not None) == (mode is MaintenanceMode.STREAM)


async def test_verify_advises_to_wait_for_a_follower_that_is_behind(
    table: Table, beside: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dal.maintenance.verify.PAUSE_SECONDS", 0)
    counting = MaintenanceStore(table)
    await counting.announce(await counting.read(), mode=MaintenanceMode.STREAM)
    await Stores(table).comments.put_many(ROWS)
    with pytest.raises(CommandError, match="verify again"):
        await asyncio.to_thread(run, "stats", "verify", *beside)
