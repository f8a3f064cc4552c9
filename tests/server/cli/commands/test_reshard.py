"""``marginalia table create --shards`` and ``reshard``, as a person runs them."""

import asyncio
from pathlib import Path

import pytest

from dal.entities.shard_layout import ShardLayout
from dal.repositories.comments import CommentRepository, Selection
from dal.statistics.counter_shards import CounterShards
from dal.statistics.maintenance_mode import MaintenanceStore
from dal.table import gate, retries
from dal.table.pace import Pace
from server.cli.commands import reshard
from server.engine.storage import open_table
from server.errors import CommandError
from server.settings import Settings
from tests import oracle
from tests.server.cli.commands.test_stats import run

ROWS = oracle.make_comments("42", 12, seed=2)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine take its time: a command loads the SDK with its first scan."""
    monkeypatch.setattr(gate, "MAINTENANCE_SECONDS", 60.0)
    monkeypatch.setattr(retries, "DEADLINE", 120.0)


async def begin_move(settings: Settings) -> None:
    """Announce the first step from 1 to 4 shards."""
    async with open_table(settings, share=False) as table:
        maintenance = MaintenanceStore(table)
        await maintenance.announce(await maintenance.read(), layout=ShardLayout().next(4))


def test_a_move_that_was_interrupted_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(begin_move(Settings(data_dir=tmp_path)))
    run("table", "describe", "--data-dir", str(tmp_path))
    told = "Comments move from 1 to 4 shards, step 1 of 4: `marginalia table reshard --shards 4`"
    assert told in capsys.readouterr().out


async def fill(settings: Settings) -> ShardLayout:
    """Store the rows, and return how they are spread."""
    async with open_table(settings, share=False) as table:
        await CommentRepository(table).put_many(ROWS)
        return (await MaintenanceStore(table).read()).layout


async def walked(settings: Settings) -> None:
    async with open_table(settings, share=False) as table:
        rows = await oracle.walk(CommentRepository(table), Selection("42"), 5, backward=False)
        assert rows == oracle.newest_first(ROWS)


def test_a_table_is_made_with_shards_and_moved_to_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, store = Settings(data_dir=tmp_path), ("--data-dir", str(tmp_path))
    run("table", "create", "--shards", "4", *store)
    assert asyncio.run(fill(settings)) == ShardLayout(4)
    capsys.readouterr()
    run("table", "describe", *store)
    assert "Comments stand in 4 shards of each list." in capsys.readouterr().out
    for shards in ("16", "16", "1"):
        run("table", "reshard", "--shards", shards, "--write-units", "100000", *store)
        asyncio.run(walked(settings))
    run("table", "create", *store)
    with pytest.raises(CommandError, match="run `marginalia table reshard --shards 4`"):
        run("table", "create", "--shards", "4", *store)
    assert capsys.readouterr().out.splitlines() == [
        "Table marginalia: comments stand in 16 shards of each list.",
        "Table marginalia: comments stand in 16 shards of each list already; nothing was changed.",
        "Table marginalia: comments stand in 1 shard of each list.",
        "Table marginalia exists already; nothing was changed.",
    ]


async def test_beside_others_each_step_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reshard, "MOVE_SETTLE_SECONDS", 0.001)
    settings = Settings(data_dir=tmp_path)
    async with open_table(settings, share=False):
        await reshard._reshard(settings, 4, 16, Pace())
    assert capsys.readouterr().err.count("until running servers take part") == 8


async def announced(settings: Settings) -> CounterShards:
    """Store the rows, and return how their counters are spread."""
    async with open_table(settings, share=False) as table:
        await CommentRepository(table).put_many(ROWS)
        return (await MaintenanceStore(table).read()).counters


def test_counters_get_shards_with_the_table_or_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, settings = ("--data-dir", str(tmp_path)), Settings(data_dir=tmp_path)
    run("table", "create", "--counter-shards", "4", *store)
    assert asyncio.run(announced(settings)) == CounterShards(4)
    capsys.readouterr()
    run("table", "describe", *store)
    assert "Counters have 4 shards." in capsys.readouterr().out
    run("table", "reshard", "--counter-shards", "1", "--shards", "1", *store)
    with pytest.raises(CommandError, match="run `marginalia table reshard --counter-shards 16`"):
        run("table", "create", "--counter-shards", "16", *store)
    with pytest.raises(CommandError, match="Say how many: --shards of the lists"):
        run("table", "reshard", *store)
    run("stats", "verify", *store)
    assert capsys.readouterr().out.splitlines() == [
        "Table marginalia: comments stand in 1 shard of each list already; nothing was changed.",
        "Table marginalia: counters have 1 shard.",
        "Table marginalia: the statistics equal a recount.",
    ]
