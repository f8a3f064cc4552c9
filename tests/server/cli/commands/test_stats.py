"""``marginalia stats`` on the command line."""

import asyncio
from pathlib import Path

import pytest

from dal.counts.counter_items import encode
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.stores import Stores
from server.cli.main import build
from server.errors import CommandError
from server.local_engine.storage import open_table
from server.settings import Settings
from tests import oracle
from tests.putting import put_comments

ROWS = [row._replace(language="en") for row in oracle.make_comments("42", 30, seed=1)]
WRONG = encode(StatisticsKey("gone", "en"), RatingCounts((0, 0, 7, 0, 0)))
EXACT = "equal a recount"


async def spoil(data_dir: Path) -> None:
    async with open_table(Settings(data_dir=data_dir), share=False) as table:
        await put_comments(Stores(table).comments, ROWS)
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
    await put_comments(Stores(table).comments, ROWS)
    await table.put_many([WRONG])
    await asyncio.to_thread(run, "stats", "rebuild", *beside)
    printed = capsys.readouterr()
    assert "running servers" in printed.err
    assert "are exact" in printed.out
    await asyncio.to_thread(run, "stats", "verify", *beside)
    assert EXACT in capsys.readouterr().out
