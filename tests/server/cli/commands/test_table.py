"""``marginalia table`` on the command line."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dal.dynamodb import admin
from dal.dynamodb.table import Table, TableAddress, connect
from dal.entities import INDEXES
from dal.repositories.comments import Selection
from dal.repositories.orders import OrderSelection
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from server.cli.main import build
from server.local_engine.engine import embedded_engine
from server.local_engine.storage import open_store
from server.settings import Settings
from tests import oracle
from tests.dal.maintenance import first_release
from tests.putting import put_comments, put_orders
from tests.strategies import order


def run(*arguments: str) -> None:
    """Run a command in this process."""
    build(list(arguments))(arguments, standalone_mode=False)


@pytest.fixture
async def settings(table: Table, dynoxide_url: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings for a table of the first release."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "test")
    older = Table(table.service, f"{table.name}-older")
    await first_release.create(older, oracle.make_comments("42", 30, seed=1))
    return Settings(endpoint_url=dynoxide_url, table=older.name)


def of(settings: Settings) -> tuple[str, ...]:
    return "--endpoint-url", str(settings.endpoint_url), "--table", settings.table


async def test_a_table_of_the_first_release_is_upgraded_and_served(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0)
    with pytest.raises(StoreRefusedError, match="`marginalia table upgrade`"):
        await asyncio.to_thread(run, "stats", "verify", *of(settings))
    await asyncio.to_thread(run, "table", "describe", *of(settings))
    said = capsys.readouterr().out
    assert (
        "The table lacks the indexes byLocale, byVerified, withPhotos, byHelpful, byAuthor, "
        "GSI1, openOrders: run" in said
    )
    options = ("--write-units", "500", *of(settings))
    await asyncio.to_thread(run, "table", "upgrade", *options)
    said = capsys.readouterr().out
    fits, uncounted = said.splitlines()
    assert re.match(f"Table {settings.table} fits .* 7 indexes .* 30 items", fits)
    assert "`marginalia stats rebuild`" in uncounted
    await asyncio.to_thread(run, "stats", "rebuild", *of(settings))
    await asyncio.to_thread(run, "stats", "verify", *of(settings))
    assert "equal a recount" in capsys.readouterr().out
    async with open_store(settings, share=False) as store:
        placed = order("1")
        await put_orders(store.table, [placed])
        page = await Stores(store.table).orders.page(
            OrderSelection(placed.username), oracle.next_cut(5, None, backward=False)
        )
        assert page.nodes == [placed]


async def test_an_older_table_of_the_embedded_engine_is_refused_at_the_first_start(
    tmp_path: Path,
) -> None:
    async with embedded_engine(tmp_path, share=False) as engine:
        address = TableAddress("marginalia", engine.endpoint_url, embedded=True)
        async with connect(address) as table:
            await first_release.create(table, oracle.make_comments("42", 3, seed=1))
    for _ in range(2):
        with pytest.raises(StoreRefusedError, match="`marginalia table upgrade`"):
            async with open_store(Settings(data_dir=tmp_path), share=False):
                pass
    await asyncio.to_thread(run, "table", "upgrade", "--data-dir", str(tmp_path))
    async with open_store(Settings(data_dir=tmp_path), share=False) as store:
        page = await Stores(store.table).comments.page(
            Selection("42"), oracle.next_cut(5, None, backward=False)
        )
    assert len(page.edges) == 3


async def test_the_documented_restore_of_a_backup_works(
    table: Table,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The copy has the items and some of the counters, no expiry, and another table id."""
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0)
    await put_comments(Stores(table).comments, oracle.make_comments("42", 30, seed=1))
    items = (await table.scan(0, 1, None)).items
    copy = Table(table.service, f"{table.name}-copy")
    await admin.create(copy, INDEXES)
    await copy.put_many([one for one in items if one["SK"]["S"] != "S#en"])
    line = of(replace(settings, table=copy.name))

    async def said(*command: str) -> str:
        await asyncio.to_thread(run, *command, *line)
        return capsys.readouterr().out

    described = await said("table", "describe")
    assert "Expiry is off" in described
    assert "`marginalia stats rebuild`" in described
    assert "Expiry is on" not in described
    await said("table", "create")
    await said("stats", "rebuild")
    assert "equal a recount" in await said("stats", "verify")
    described = await said("table", "describe")
    assert "Expiry is on" in described
    assert "`marginalia stats rebuild`" not in described
