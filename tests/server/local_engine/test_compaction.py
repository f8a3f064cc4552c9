"""Deleted data leaves the data file, its log and backups."""

import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from server.errors import CommandError
from server.local_engine import compaction
from server.local_engine.backup import back_up
from server.local_engine.compaction import compact
from server.local_engine.data_directory import DataDirectory
from server.local_engine.storage import open_table
from server.settings import Settings
from tests.items import all_items

MARKER = secrets.token_hex(8)


def files_with_marker(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if MARKER.encode() in path.read_bytes()}


def named(number: int, text: str) -> dict[str, dict[str, str]]:
    return {"PK": {"S": f"ITEM#{number}"}, "SK": {"S": "ITEM"}, "text": {"S": text * 40}}


async def test_deleted_data_leaves_backups_at_once_and_the_file_when_it_is_rewritten(
    tmp_path: Path,
) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    async with open_table(Settings(data_dir=data), share=False) as table:
        marked = range(0, 400, 3)
        await table.put_many([named(number, MARKER) for number in marked])
        await table.put_many([named(number, "kept") for number in range(1, 400, 3)])
        for number in marked[::2]:
            await table.put_many([named(number, "edited")])
        for number in marked[1::2]:
            key = {name: named(number, "")[name] for name in ("PK", "SK")}
            await table.write([{"Delete": {"Key": key}}])
        kept = await all_items(table)
        assert files_with_marker(data) == {"marginalia.db", "marginalia.db-wal"}
        assert back_up(DataDirectory(data), backup, force=False) == len(kept)
        compact(data / "marginalia.db")
        assert files_with_marker(data) == set()
        await table.put_many([named(1, MARKER)])
        await table.put_many([named(1, "kept")])
        assert await all_items(table) == kept
        assert files_with_marker(data) == {"marginalia.db-wal"}
    assert files_with_marker(data) == set()
    assert MARKER.encode() not in backup.read_bytes()
    with closing(sqlite3.connect(data / "marginalia.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_a_file_that_has_not_changed_is_not_rewritten(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    async with open_table(settings, share=True, create=True) as table:
        await table.put_many([named(1, "kept")])
    before = (tmp_path / "marginalia.db").stat()
    async with open_table(settings, share=True) as table:
        assert len(await all_items(table)) > 0
    after = (tmp_path / "marginalia.db").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize("held", [True, False])
async def test_a_file_that_cannot_be_rewritten_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, held: bool
) -> None:
    monkeypatch.setattr(compaction, "_WAIT", 0.01)
    async with open_table(Settings(data_dir=tmp_path), share=False) as table:
        await table.put_many([named(1, MARKER)])
        with closing(sqlite3.connect(tmp_path / "marginalia.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE" if held else "BEGIN")
            other.execute("SELECT * FROM _tables").fetchall()
            with pytest.raises(CommandError, match="Deleted data"):
                compact(tmp_path / "marginalia.db")
